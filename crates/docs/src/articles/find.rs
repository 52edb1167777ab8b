//! Finding parts of a contract by what a plan calls them: a number, a label, a title. Whoever asks may
//! write «5», «제5조», «제5조의2», «부칙 제1조», "Article 5", "article V" or a line of the outline.

use unicode_normalization::UnicodeNormalization;

use super::number::{ArticleNumber, Scan, folded};
use super::{Article, Articles, english, korean};

/// Most numbers that are read from one input.
const MAX_NUMBERS: usize = 8;
/// Most parts that one title finds.
const MAX_TITLED: usize = 5;
/// Most titles that are proposed where none was found.
const MAX_NEAR: usize = 5;
/// Longer inputs are not compared further.
const MAX_INPUT_CHARS: usize = 400;

/// What an input names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    pub numbers: Vec<ArticleNumber>,
    /// What stands before the first number: «부칙», «별지 1».
    pub before: String,
    /// What stands beside the numbers.
    pub words: String,
}

/// Reads the numbers in an input. Those that say to be an article's («제5조», «5조», "Article 5") go before
/// bare ones; numbers of paragraphs («제2항») are none.
pub(super) fn parse_reference(input: &str) -> Reference {
    let chars: Vec<char> = input.chars().take(MAX_INPUT_CHARS).map(folded).collect();
    let explicit = find_numbers(&chars, |scan| {
        korean::number(scan).or_else(|| counted(scan)).or_else(|| in_english(scan))
    });
    if explicit.numbers.is_empty() { find_numbers(&chars, bare) } else { explicit }
}

fn find_numbers(chars: &[char], number: impl Fn(&mut Scan<'_>) -> Option<ArticleNumber>) -> Reference {
    let mut reference = Reference::default();
    let mut scan = Scan::new(chars);
    let mut begins = true;
    while let Some(c) = scan.peek() {
        if begins
            && reference.numbers.len() < MAX_NUMBERS
            && let Some(number) = number(&mut scan)
        {
            if reference.numbers.is_empty() {
                reference.before = reference.words.clone();
            }
            if !reference.numbers.contains(&number) {
                reference.numbers.push(number);
            }
            reference.words.push(' ');
            continue;
        }
        reference.words.push(c);
        scan.at += 1;
        // A number begins where no other and no Latin word goes on.
        begins = !c.is_ascii_alphanumeric();
    }
    reference
}

/// «5조», «5조의2».
fn counted(scan: &mut Scan<'_>) -> Option<ArticleNumber> {
    let mut ahead = *scan;
    let article = ahead.number()?;
    ahead.blanks();
    ahead.eat("조條").then_some(())?;
    let branch = korean::branch(&mut ahead);
    *scan = ahead;
    Some(ArticleNumber { article, branch })
}

/// "Article 5", "art. 5", "articles V".
fn in_english(scan: &mut Scan<'_>) -> Option<ArticleNumber> {
    if let Some(number) = english::number(scan) {
        return Some(number);
    }
    let mut ahead = *scan;
    let word = ahead.word("articles ") || ahead.word("art.") || ahead.word("art ");
    word.then_some(())?;
    ahead.blanks();
    let number = bare(&mut ahead)?;
    *scan = ahead;
    Some(number)
}

/// «5», «5의2», «5-2», unless it counts something else.
fn bare(scan: &mut Scan<'_>) -> Option<ArticleNumber> {
    let mut ahead = *scan;
    let article = ahead.number()?;
    let branch = korean::branch(&mut ahead).or_else(|| {
        let mut further = ahead;
        let number = if further.eat("-") { further.number() } else { None };
        if number.is_some() {
            ahead = further;
        }
        number
    });
    let mut behind = ahead;
    behind.blanks();
    if behind.peek().is_some_and(|c| c.is_ascii_alphanumeric() || "항호목장절관편년월일개회원%.".contains(c))
        && !(behind.peek() == Some('.') && behind.rest().len() == 1)
    {
        return None;
    }
    *scan = ahead;
    Some(ArticleNumber { article, branch })
}

/// A text as titles are compared: letters and digits alone, in one case.
fn comparable(text: &str) -> String {
    let text = text.nfkc().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
    text.take(MAX_INPUT_CHARS).collect()
}

impl Articles {
    /// The places of the articles of a number. Where the words before the number name an annex, its
    /// articles are meant; else those of the contract itself before those of its annexes.
    pub(super) fn numbered(&self, number: ArticleNumber, before: &str) -> Vec<usize> {
        let before = comparable(before);
        let all: Vec<usize> = self.places(|part| part.number == Some(number));
        let of_annex = |at: &usize| {
            let annex = self.parts[*at].annex.as_deref().map(comparable);
            annex.is_some_and(|annex| before.contains(&annex))
        };
        let of_itself = |at: &usize| self.parts[*at].annex.is_none();
        let meant: Vec<usize> = all.iter().copied().filter(of_annex).collect();
        let own: Vec<usize> = all.iter().copied().filter(of_itself).collect();
        [meant, own, all].into_iter().find(|places| !places.is_empty()).unwrap_or_default()
    }

    /// The part that an input names in full: by its label where it has no number, or as the outline does.
    pub(super) fn called(&self, input: &str) -> Option<usize> {
        let input = input.trim();
        let outlined = self.parts.iter().position(|part| part.part() == input || part.label == input);
        let wanted = comparable(input);
        outlined.or_else(|| {
            let unnumbered = |part: &Article| part.number.is_none();
            let same = |part: &Article| {
                [part.part(), part.label.clone()].iter().any(|own| comparable(own) == wanted)
            };
            self.parts.iter().position(|part| unnumbered(part) && same(part))
        })
    }

    /// The places of the parts of a title: of that very title, else of those that hold it or that it
    /// holds.
    pub(super) fn titled(&self, input: &str) -> Vec<usize> {
        let wanted = comparable(input);
        if wanted.is_empty() {
            return Vec::new();
        }
        let titles: Vec<String> = self.parts.iter().map(|part| comparable(title(part))).collect();
        let places = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
            titles
                .iter()
                .enumerate()
                .filter(|(_, title)| fits(title))
                .map(|(at, _)| at)
                .take(MAX_TITLED)
                .collect()
        };
        let exact = places(&|title| title == wanted);
        if !exact.is_empty() {
            return exact;
        }
        let containing = places(&|title| title.contains(&wanted));
        if !containing.is_empty() {
            return containing;
        }
        places(&|title| title.chars().nth(1).is_some() && wanted.contains(title))
    }

    /// The parts whose titles look most like this one, as the outline names them.
    pub(super) fn near(&self, input: &str) -> Vec<String> {
        let wanted = pairs(&comparable(input));
        let mut near: Vec<(usize, usize)> = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let own = pairs(&comparable(title(part)));
            let shared = own.iter().filter(|pair| wanted.contains(pair)).count();
            let all = own.len() + wanted.len();
            if shared > 0 && all > 0 {
                near.push((2_000 * shared / all, at));
            }
        }
        near.sort_by_key(|(likeness, at)| (std::cmp::Reverse(*likeness), *at));
        near.iter().take(MAX_NEAR).map(|(_, at)| self.parts[*at].part()).collect()
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

fn pairs(text: &str) -> Vec<(char, char)> {
    text.chars().zip(text.chars().skip(1)).collect()
}
