//! Headings of Korean contracts: «제5조 (비밀유지)», «제5조의2【정의】», «부칙», «별지 1», «제2장 총칙».
//!
//! Behind «제N조» a heading has one of: nothing; a title in brackets, and then the end of the line, a
//! mark of separation or a blank; a blank or a separator and a short title; a blank and a sentence, where
//! the number follows the last one. A letter directly behind it («제5조에 따라», «제5조(정의)의») or a word
//! that goes on («제5조 및», «제5조 제1항») makes it a reference.

use super::heading::{Line, Opens, Sure, title_of};
use super::number::{ArticleNumber, Scan};

/// Longest title in brackets.
const MAX_BRACKETED: usize = 80;
/// Longest title without brackets, unless Markdown marks the line.
const MAX_PLAIN: usize = 30;
const MAX_MARKED: usize = 120;

/// Words that go on from a reference.
const GOES_ON: [&str; 19] = [
    "및",
    "또는",
    "내지",
    "부터",
    "까지",
    "과",
    "와",
    "에",
    "의",
    "에서",
    "중",
    "각",
    "각호",
    "소정의",
    "단서",
    "본문",
    "전단",
    "후단",
    "등",
];

/// `제N조` and what belongs to the number, wherever a scan stands.
pub(super) fn number(scan: &mut Scan<'_>) -> Option<ArticleNumber> {
    let start = *scan;
    let read = |scan: &mut Scan<'_>| {
        if !scan.eat("제第") {
            return None;
        }
        scan.blanks();
        let article = scan.number()?;
        scan.blanks();
        scan.eat("조條").then_some(())?;
        Some(ArticleNumber { article, branch: branch(scan) })
    };
    let number = read(scan);
    if number.is_none() {
        *scan = start;
    }
    number
}

/// `의2`, else nothing is passed.
pub(super) fn branch(scan: &mut Scan<'_>) -> Option<u32> {
    let mut ahead = *scan;
    ahead.blanks();
    if !ahead.eat("의") {
        return None;
    }
    ahead.blanks();
    let branch = ahead.number()?;
    *scan = ahead;
    Some(branch)
}

/// Whether a text that follows a number and a blank goes on from it.
fn goes_on(rest: &[char]) -> bool {
    let word: String = rest.iter().take_while(|c| c.is_alphanumeric()).take(8).collect();
    let mut scan = Scan::new(rest);
    let another = scan.eat("제第") && {
        scan.blanks();
        scan.number().is_some()
    };
    another
        || GOES_ON.contains(&word.as_str())
        || matches!(rest.first(), Some(',' | '~' | '∼' | '～' | '·' | '/'))
}

/// Whether a text is a sentence rather than a title.
fn is_sentence(text: &str) -> bool {
    let text = text.trim();
    text.ends_with("다") || text.ends_with(['.', ',', ';', '?', '!', '。']) || text.contains(". ")
}

pub(super) fn article(line: &Line) -> Option<(Opens, Option<String>, Sure)> {
    let mut scan = line.scan();
    let number = number(&mut scan)?;
    let opens = |body| Opens::Article { number, english: false, body };
    let end = line.text.len();
    let spaced = scan.blanks();
    let rest = scan.rest();
    if rest.is_empty() {
        return Some((opens(end), None, Sure::Yes));
    }
    let mut ahead = scan;
    if let Some(title) = ahead.bracketed(MAX_BRACKETED) {
        let spaced = ahead.blanks();
        let glued = !spaced && ahead.peek().is_some_and(|c| c.is_alphanumeric() && !is_circled(c));
        if glued || goes_on(ahead.rest()) && !line.marked {
            return None;
        }
        ahead.eat(".:");
        return Some((opens(ahead.at), Some(title), Sure::Yes));
    }
    let separated = matches!(rest[0], '.' | ':' | '-' | '–' | '—') && rest.get(1).is_none_or(|c| *c == ' ');
    if !spaced && !separated {
        return None;
    }
    if separated {
        scan.at += 1;
        scan.blanks();
    }
    let rest = scan.rest();
    if goes_on(rest) {
        return None;
    }
    let title = title_of(rest);
    let most = if line.marked { MAX_MARKED } else { MAX_PLAIN };
    let begins = rest.first().is_some_and(|c| c.is_alphanumeric() && !is_circled(*c));
    if begins
        && rest.len() <= most
        && !title.is_empty()
        && (line.marked || !is_sentence(&title))
        && !rest.ends_with(&['.'])
    {
        let sure = if line.marked { Sure::Yes } else { Sure::AfterEnd };
        return Some((opens(end), Some(title), sure));
    }
    Some((opens(scan.at), None, Sure::InOrder))
}

/// ①, ⑴, ㉠ and their like count paragraphs.
fn is_circled(c: char) -> bool {
    matches!(c, '\u{2460}'..='\u{24ff}' | '\u{2776}'..='\u{2793}' | '\u{3200}'..='\u{32ff}')
}

const ANNEXES: [&str; 9] = ["별지", "별표", "별첨", "붙임", "첨부", "부록", "부속서", "부속합의서", "부속"];

pub(super) fn section(line: &Line) -> Option<(Opens, Option<String>, Sure)> {
    let sure = if line.marked { Sure::Yes } else { Sure::AfterEnd };
    chapter(line)
        .or_else(|| supplement(line))
        .or_else(|| annex(line))
        .map(|(opens, title)| (opens, Some(title).filter(|title| !title.is_empty()), sure))
}

/// What may be the title of a chapter or an annex.
fn short_title(rest: &[char], marked: bool) -> Option<String> {
    let title = title_of(rest);
    let most = if marked { MAX_MARKED } else { MAX_PLAIN };
    let refers = title.ends_with("참조") || title.ends_with("참고") || goes_on(rest);
    (rest.len() <= most && (marked || !is_sentence(&title) && !refers)).then_some(title)
}

fn chapter(line: &Line) -> Option<(Opens, String)> {
    let mut scan = line.scan();
    scan.eat("제第").then_some(())?;
    scan.blanks();
    let number = scan.number()?;
    scan.blanks();
    let unit = scan.peek().filter(|c| "장절편관".contains(*c))?;
    scan.at += 1;
    let spaced = scan.blanks();
    if !spaced && scan.peek().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let title = scan.bracketed(MAX_BRACKETED).map_or_else(|| short_title(scan.rest(), line.marked), Some)?;
    Some((Opens::Chapter { label: format!("제{number}{unit}") }, title))
}

/// «부칙», spaced or not, with a date or nothing behind it.
fn supplement(line: &Line) -> Option<(Opens, String)> {
    let mut scan = line.scan();
    let opening = scan.eat("[【<〈(");
    scan.eat("부").then_some(())?;
    scan.blanks();
    scan.eat("칙").then_some(())?;
    if opening {
        scan.eat("]】>〉)").then_some(())?;
    }
    scan.blanks();
    let title = scan.bracketed(MAX_BRACKETED).unwrap_or_default();
    scan.blanks();
    (scan.rest().is_empty()).then(|| (Opens::Annex { label: "부칙".to_owned() }, title))
}

fn annex(line: &Line) -> Option<(Opens, String)> {
    let mut scan = line.scan();
    let opening = scan.eat("[【<〈(");
    let word = ANNEXES.into_iter().find(|word| scan.word(word))?;
    scan.blanks();
    let mut ahead = scan;
    ahead.eat("제");
    ahead.blanks();
    let id = ahead.number().map(|number| number.to_string()).or_else(|| {
        let letter = ahead.peek().filter(char::is_ascii_uppercase)?;
        ahead.at += 1;
        Some(letter.to_string())
    });
    let mut label = word.to_owned();
    if let Some(id) = &id {
        scan = ahead;
        let _ = scan.eat("호") && scan.blanks() && scan.word("서식");
        label.push_str(&format!(" {id}"));
    }
    if opening {
        scan.blanks();
        scan.eat("]】>〉)").then_some(())?;
    }
    // «별지에 따라», «첨부파일»: another word, or a reference.
    let spaced = scan.chars.get(scan.at.wrapping_sub(1)) == Some(&' ') || scan.blanks();
    if !spaced && scan.peek().is_some_and(char::is_alphanumeric) {
        return None;
    }
    // A word alone says little: «첨부 서류 목록» is as likely an item as an annex.
    if id.is_none()
        && !opening
        && !line.marked
        && !scan.rest().is_empty()
        && scan.peek().is_some_and(char::is_alphanumeric)
    {
        return None;
    }
    let title = scan.bracketed(MAX_BRACKETED).map_or_else(|| short_title(scan.rest(), line.marked), Some)?;
    Some((Opens::Annex { label }, title))
}
