//! Finding parts of a contract by what a plan calls them: a number, a label, a title. An input may be «5»,
//! «제5조», «제5조의2», «부칙 제1조», "Article 5", "article V" or a line of the outline.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use unicode_normalization::UnicodeNormalization;

use super::article::ArticleNumber;
use super::line::{fold, regex};
use super::{Article, Articles};

/// Most numbers that are read from one input.
const MAX_NUMBERS: usize = 8;
/// Most parts that one title finds.
const MAX_TITLED: usize = 5;
/// Most titles that are proposed if none was found.
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

/// The numbers that a pattern finds. From the group `bare` on, a number may count something else.
fn find_numbers(input: &str, pattern: &Regex, bare: usize) -> Reference {
    let mut reference = Reference::default();
    let mut kept = 0;
    for found in pattern.captures_iter(input) {
        let Some(all) = found.get(0) else { continue };
        let counts = found.get(bare).is_some() && counts_something(&input[all.end()..]);
        let number = number_of(&found).filter(|_| !counts && reference.numbers.len() < MAX_NUMBERS);
        let Some(number) = number else { continue };
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

/// The first group of a match that took part is the number, the next one its branch.
fn number_of(found: &Captures<'_>) -> Option<ArticleNumber> {
    let mut groups = found.iter().skip(1).flatten().map(|group| group.as_str());
    ArticleNumber::parse(groups.next()?, groups.next())
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
    /// The places of the articles of a number. If the words before the number name an annex, its articles
    /// are meant; else those of the contract itself before those of its annexes.
    pub(super) fn find_by_number(&self, number: ArticleNumber, before: &str) -> Vec<usize> {
        let before = comparable(before);
        let numbered = self.places(|part| part.number == Some(number));
        let those = |fits: &dyn Fn(Option<&str>) -> bool| -> Vec<usize> {
            numbered.iter().copied().filter(|&at| fits(self.parts[at].annex.as_deref())).collect()
        };
        let named = those(&|annex| annex.is_some_and(|annex| before.contains(&comparable(annex))));
        if !named.is_empty() {
            return named;
        }
        let own = those(&|annex| annex.is_none());
        if own.is_empty() { numbered } else { own }
    }

    /// The part that an input names in full: as the outline does, or by its label if it has no number.
    pub(super) fn find_by_name(&self, input: &str) -> Option<usize> {
        let (input, wanted) = (input.trim(), comparable(input));
        let names = |part: &Article| [part.part(), part.label.clone()];
        let same = |part: &Article| names(part).iter().any(|name| comparable(name) == wanted);
        let outlined = self.parts.iter().position(|part| names(part).iter().any(|name| name == input));
        outlined.or_else(|| self.parts.iter().position(|part| part.number.is_none() && same(part)))
    }

    /// The places of the parts of a title: of that very title, else of those that hold it or that it holds.
    pub(super) fn find_by_title(&self, input: &str) -> Vec<usize> {
        let wanted = comparable(input);
        if wanted.is_empty() {
            return Vec::new();
        }
        let titles: Vec<String> = self.parts.iter().map(|part| comparable(title(part))).collect();
        let is_that = |title: &str| title == wanted;
        let holds = |title: &str| title.contains(&wanted);
        let is_held = |title: &str| title.chars().nth(1).is_some() && wanted.contains(title);
        let tries: [&dyn Fn(&str) -> bool; 3] = [&is_that, &holds, &is_held];
        let of = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..titles.len()).filter(|&at| fits(&titles[at])).take(MAX_TITLED).collect()
        };
        tries.into_iter().map(of).find(|places| !places.is_empty()).unwrap_or_default()
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
        let mut similar: Vec<(usize, &Article)> =
            self.parts.iter().map(|part| (likeness(part), part)).collect();
        similar.retain(|(likeness, _)| *likeness > 0);
        similar.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
        similar.iter().take(MAX_SIMILAR).map(|(_, part)| part.part()).collect()
    }

    fn places(&self, fits: impl Fn(&Article) -> bool) -> Vec<usize> {
        self.parts.iter().enumerate().filter(|(_, part)| fits(part)).map(|(at, _)| at).collect()
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
