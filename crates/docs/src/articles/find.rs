//! Finding parts of a contract by what a plan calls them: a number, a label, a title. An input may be «5»,
//! «제5조», «제5조의2», «부칙 제1조», "Article 5", "article V" or a line of the outline.

use std::sync::LazyLock;

use regex_lite::Regex;
use unicode_normalization::UnicodeNormalization;

use super::heading::ArticleNumber;
use super::line::{fold, regex};
use super::{Article, Articles};

const MAX_NUMBERS: usize = 8;
const MAX_TITLED: usize = 5;
const MAX_SIMILAR: usize = 5;
/// Longer inputs are not compared further.
const MAX_INPUT: usize = 400;

/// Numbers that say to be an article's: «제5조의2», «5조», "Article V", "art. 5".
static EXPLICIT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:[제第] *|\b)(\d+) *[조條](?: *의 *(\d+))?|\b(?i:article) +(\d+|[IVXLC]{1,8}\b)(?:-(\d+))?|\b(?i:articles |art[. ]) *(\d+)(?: *의 *(\d+)|-(\d+))?",
    )
});
/// «5», «5의2», "5-2".
static BARE: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d+)(?: *의 *(\d+)|-(\d+))?"));

/// What an input names.
#[derive(Debug, Default)]
pub(super) struct Reference {
    pub numbers: Vec<ArticleNumber>,
    /// What stands before the first number: «부칙», «별지 1».
    pub before: String,
    /// What stands beside the numbers.
    pub words: String,
}

/// Reads the numbers in an input. Those that say to be an article's go before bare ones; numbers of
/// paragraphs («제2항») are none.
pub(super) fn parse_reference(input: &str) -> Reference {
    let input: String = input.chars().take(MAX_INPUT).map(fold).collect();
    let explicit = find_numbers(&input, &EXPLICIT, 5);
    if explicit.numbers.is_empty() { find_numbers(&input, &BARE, 1) } else { explicit }
}

/// The numbers that a pattern finds. The first group of a match that took part is the number, the next one its
/// branch. From the group `bare` on, a number may count something else.
fn find_numbers(input: &str, pattern: &Regex, bare: usize) -> Reference {
    let mut reference = Reference::default();
    let mut kept = 0;
    for found in pattern.captures_iter(input) {
        let Some(all) = found.get(0) else { continue };
        let counts = found.get(bare).is_some() && counts_something(&input[all.end()..]);
        let mut groups = found.iter().skip(1).flatten().map(|group| group.as_str());
        let number = groups.next().and_then(|number| ArticleNumber::parse(number, groups.next()));
        let Some(number) = number.filter(|_| !counts && reference.numbers.len() < MAX_NUMBERS) else {
            continue;
        };
        reference.words.push_str(&input[kept..all.start()]);
        if reference.numbers.is_empty() {
            reference.before = reference.words.clone();
        }
        if !reference.numbers.contains(&number) {
            reference.numbers.push(number);
        }
        reference.words.push(' ');
        kept = all.end();
    }
    reference.words.push_str(&input[kept..]);
    reference
}

/// Whether a number before this text counts something that is no article.
fn counts_something(behind: &str) -> bool {
    let behind = behind.trim_start_matches(' ');
    let counts = |c: char| c.is_ascii_alphanumeric() || "항호목장절관편년월일개회원%.".contains(c);
    behind.starts_with(counts) && behind != "."
}

/// A text as titles are compared: letters and digits alone, in one case.
fn comparable(text: &str) -> String {
    let text = text.nfkc().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
    text.take(MAX_INPUT).collect()
}

impl Articles {
    /// The articles of a number: those of an annex named before it, else the contract's own, else any.
    pub(super) fn find_by_number(&self, number: ArticleNumber, before: &str) -> Vec<usize> {
        let before = comparable(before);
        let numbered = |part: &Article| part.number == Some(number);
        let is_named = |part: &Article| {
            let annex = part.annex.as_deref();
            numbered(part) && annex.is_some_and(|annex| before.contains(&comparable(annex)))
        };
        let is_own = |part: &Article| numbered(part) && part.annex.is_none();
        self.first_places(&[&is_named, &is_own, &numbered])
    }

    /// The part that an input names in full: as the outline does, or by its label if it has no number.
    pub(super) fn find_by_name(&self, input: &str) -> Option<usize> {
        let (input, wanted) = (input.trim(), comparable(input));
        let is_outlined = |part: &Article| part.part() == input || part.label == input;
        let is_same = |part: &Article| {
            part.number.is_none() && [&part.part(), &part.label].iter().any(|name| comparable(name) == wanted)
        };
        self.first_places(&[&is_outlined, &is_same]).first().copied()
    }

    /// The places of the parts of a title: of that very title, else of those that hold it or that it holds.
    pub(super) fn find_by_title(&self, input: &str) -> Vec<usize> {
        let wanted = comparable(input);
        let is_that = |part: &Article| comparable(title(part)) == wanted;
        let holds = |part: &Article| comparable(title(part)).contains(&wanted);
        let is_held = |part: &Article| {
            let title = comparable(title(part));
            title.chars().nth(1).is_some() && wanted.contains(&title)
        };
        let tries: &[&dyn Fn(&Article) -> bool] = &[&is_that, &holds, &is_held];
        let mut places = self.first_places(if wanted.is_empty() { &[] } else { tries });
        places.truncate(MAX_TITLED);
        places
    }

    /// The places of the parts that fit the first of the tries that any part fits.
    fn first_places(&self, tries: &[&dyn Fn(&Article) -> bool]) -> Vec<usize> {
        let places = |fits: &&dyn Fn(&Article) -> bool| -> Vec<usize> {
            (0..self.parts.len()).filter(|&at| fits(&self.parts[at])).collect()
        };
        tries.iter().map(places).find(|places| !places.is_empty()).unwrap_or_default()
    }

    /// The parts whose titles look most like this one, as the outline names them.
    pub(super) fn similar_titles(&self, input: &str) -> Vec<String> {
        let pairs = |text: &str| -> Vec<(char, char)> {
            let text = comparable(text);
            text.chars().zip(text.chars().skip(1)).collect()
        };
        let wanted = pairs(input);
        let likeness = |part: &Article| {
            let own = pairs(title(part));
            let shared = own.iter().filter(|pair| wanted.contains(pair)).count();
            2_000 * shared / (own.len() + wanted.len()).max(1)
        };
        let parts = self.parts.iter().map(|part| (likeness(part), part));
        let mut similar: Vec<(usize, &Article)> = parts.filter(|(likeness, _)| *likeness > 0).collect();
        similar.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
        similar.iter().take(MAX_SIMILAR).map(|(_, part)| part.part()).collect()
    }
}

/// The title, or what a part without one is called. An article without a title has none.
fn title(part: &Article) -> &str {
    match (&part.title, part.number) {
        (Some(title), _) => title,
        (None, None) => &part.label,
        (None, Some(_)) => "",
    }
}
