//! Headings of English contracts: "Article 5", "ARTICLE V. Confidentiality", "Article 5 — Term", "Annex A".
//!
//! Behind the number a heading has one of: nothing; a title in brackets; a separator or a blank and a
//! title whose words begin with capital letters; where the number follows the last one, a separator and a
//! sentence. A word in small letters ("Article 5 shall", "Article 5 and") makes it a reference.

use super::heading::{Line, Opens, Sure, title_of};
use super::number::{ArticleNumber, Scan};

/// Longest title.
const MAX_TITLE: usize = 100;
/// A title that stands before a sentence on the same line is shorter.
const MAX_RUN_IN: usize = 60;

/// `Article N` and what belongs to the number, wherever a scan stands.
pub(super) fn number(scan: &mut Scan<'_>) -> Option<ArticleNumber> {
    let start = *scan;
    let read = |scan: &mut Scan<'_>| {
        scan.word("article").then_some(())?;
        scan.blanks().then_some(())?;
        let article = scan.number().or_else(|| scan.roman())?;
        let mut ahead = *scan;
        let branch = if ahead.eat("-") { ahead.number() } else { None };
        if branch.is_some() {
            *scan = ahead;
        }
        Some(ArticleNumber { article, branch })
    };
    let number = read(scan);
    if number.is_none() {
        *scan = start;
    }
    number
}

/// Whether every word of some length begins with a capital letter.
fn is_title(text: &str) -> bool {
    let mut words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).peekable();
    let capital = |word: &str| !word.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_lowercase);
    words.peek().is_some_and(|first| capital(first))
        && words.all(|word| word.chars().count() < 4 || capital(word))
}

pub(super) fn article(line: &Line) -> Option<(Opens, Option<String>, Sure)> {
    let mut scan = line.scan();
    // In the text, it is "Article" or "ARTICLE"; a small letter is a reference.
    scan.peek().filter(char::is_ascii_uppercase)?;
    let number = number(&mut scan)?;
    let end = line.text.len();
    let opens = |body| Opens::Article { number, english: true, body };
    let spaced = scan.blanks();
    if scan.rest().is_empty() {
        return Some((opens(end), None, Sure::Yes));
    }
    let mut ahead = scan;
    if let Some(title) = ahead.bracketed(MAX_TITLE) {
        ahead.eat(".:");
        ahead.blanks();
        let refers = ahead.peek().is_some_and(|c| c.is_lowercase() || ",;)".contains(c));
        return (!refers || line.marked).then(|| (opens(ahead.at), Some(title), Sure::Yes));
    }
    let separator = scan.peek().is_some_and(|c| ".:-–—)".contains(c));
    let separated = separator && scan.chars.get(scan.at + 1).is_none_or(|c| *c == ' ');
    if !spaced && !separated {
        return None;
    }
    if separated {
        scan.at += 1;
        scan.blanks();
    }
    titled(line, scan, separated).map(|(body, title, sure)| (opens(body), title, sure))
}

/// What stands behind the number: a title, a title and a sentence, or a sentence.
fn titled(line: &Line, scan: Scan<'_>, separated: bool) -> Option<(usize, Option<String>, Sure)> {
    let end = line.text.len();
    let rest: String = scan.rest().iter().collect();
    let title = title_of(scan.rest());
    let sure = if separated || line.marked { Sure::Yes } else { Sure::AfterEnd };
    if title.is_empty() {
        return separated.then_some((end, None, Sure::Yes));
    }
    let short = scan.rest().len() <= MAX_TITLE;
    if short && (line.marked || is_title(&title) && !title.contains(". ")) {
        return Some((end, Some(title), sure));
    }
    let first = scan.rest().windows(2).position(|pair| pair[0] == '.' && pair[1] == ' ');
    if let Some(at) = first.filter(|at| *at <= MAX_RUN_IN) {
        let title = title_of(&scan.rest()[..at]);
        if is_title(&title) {
            return Some((scan.at + at + 1, Some(title), sure));
        }
    }
    let sentence = rest.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || "(\"“".contains(c));
    (separated && sentence).then_some((scan.at, None, Sure::InOrder))
}

const CHAPTERS: [&str; 3] = ["Chapter", "Part", "Title"];
const ANNEXES: [&str; 6] = ["Annex", "Appendix", "Schedule", "Exhibit", "Attachment", "Addendum"];

pub(super) fn section(line: &Line) -> Option<(Opens, Option<String>, Sure)> {
    let mut scan = line.scan();
    scan.peek().filter(char::is_ascii_uppercase)?;
    let word = CHAPTERS.into_iter().chain(ANNEXES).find(|word| scan.word(word))?;
    let bare = scan.rest().is_empty();
    let id = if scan.blanks() { id(&mut scan) } else { None };
    // "Schedule" alone, or "Schedule of fees", is a heading only where Markdown says so.
    if id.is_none() && !(bare && line.marked) {
        return None;
    }
    let spaced = scan.blanks();
    let separated = scan.eat(".:-–—)") || spaced;
    if !separated && scan.peek().is_some_and(|c| c != '(') {
        return None;
    }
    let title = title_of(scan.rest()).trim_matches(['(', ')']).to_owned();
    let fits = line.marked || title.is_empty() || is_title(&title);
    if !fits || scan.rest().len() > MAX_TITLE {
        return None;
    }
    let label = id.map_or_else(|| word.to_owned(), |id| format!("{word} {id}"));
    let opens = if CHAPTERS.contains(&word) { Opens::Chapter { label } } else { Opens::Annex { label } };
    let sure = if line.marked { Sure::Yes } else { Sure::AfterEnd };
    Some((opens, Some(title).filter(|title| !title.is_empty()), sure))
}

/// `1`, `IV` or `A`, as written.
fn id(scan: &mut Scan<'_>) -> Option<String> {
    let start = scan.at;
    let single = |c: Option<&char>| c.is_some_and(char::is_ascii_uppercase);
    let letter =
        single(scan.chars.get(start)) && !scan.chars.get(start + 1).is_some_and(|c| c.is_alphanumeric());
    if letter {
        scan.at += 1;
    } else if scan.number().is_none() {
        scan.roman()?;
    }
    Some(scan.chars[start..scan.at].iter().collect())
}
