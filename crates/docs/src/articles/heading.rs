//! Which lines are headings: of articles, of annexes and supplementary provisions, of chapters.
//!
//! A reference may stand at the start of a line, too («제5조에 따라», "Article 5 shall apply"). What stands behind
//! the number tells them apart: nothing, or a title, makes a heading; a particle or a word that goes on («제5조의»,
//! "Article 5 and") makes a reference. If that leaves a doubt, the lines around it decide: [`Sure`].

use std::fmt;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::line::{Line, bracketed, regex};

/// Longest title in brackets or in English.
const MAX_TITLE: usize = 100;
/// Longest Korean title without brackets, and one of a line that Markdown marks.
const MAX_PLAIN: usize = 30;
const MAX_MARKED: usize = 120;
/// Longest English title with a sentence behind it on its line.
const MAX_RUN_IN: usize = 60;
/// Words that go on from a reference to an article.
const GOES_ON: &str = "및 또는 내지 부터 까지 과 와 에 의 에서 중 각 각호 소정의 단서 본문 전단 후단 등";
const ENGLISH_CHAPTERS: &str = "Chapter Part Title";
const ENGLISH_ANNEXES: &str = "Annex Appendix Schedule Exhibit Attachment Addendum";

/// «제5조», «제 5 조의 2», "Article 5-2", "ARTICLE V".
static ARTICLE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:[제第] *(\d{1,4}) *[조條](?: *의 *(\d{1,4})\b)?|A(?i:rticle) +(\d{1,4}\b|[IVXLC]{1,8}\b)(?:-(\d{1,4})\b)?)",
    )
});
/// «제2장», «제 2 절».
static CHAPTER: LazyLock<Regex> = LazyLock::new(|| regex(r"^[제第] *(\d{1,4}) *([장절편관])"));
/// «부칙», «[부 칙]».
static SUPPLEMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:부 *칙|[\[【<〈(]부 *칙[\]】>〉)]) *"));
/// «별지 1», «[별지 제1호 서식]», «별첨».
static ANNEX: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^([\[【<〈(])?(별지|별표|별첨|붙임|첨부|부록|부속서|부속합의서|부속)(?: *제? *(\d{1,4}|[A-Z])(?:호(?: +(?:서식)?)?)?)?",
    )
});
/// "Chapter 1", "PART IV", "Annex A", "Schedule".
static ENGLISH_SECTION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([A-Z][A-Za-z]*)(?: +(\d{1,4}\b|[A-Z]\b|[IVXLC]{1,8}\b))?"));

/// The number of an article: 5, or 5 and 2 for «제5조의2» and "Article 5-2".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArticleNumber {
    pub article: u32,
    /// The number of an article that was inserted behind it later.
    pub branch: Option<u32>,
}

impl fmt::Display for ArticleNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = self.branch.map(|branch| format!("-{branch}")).unwrap_or_default();
        write!(f, "{}{branch}", self.article)
    }
}

impl ArticleNumber {
    /// Reads digits, at most four, or a Roman number of capital letters.
    pub fn parse(article: &str, branch: Option<&str>) -> Option<Self> {
        let digits = |text: &str| if text.len() <= 4 { text.parse().ok() } else { None };
        let article = digits(article).or_else(|| parse_roman(article))?;
        Some(ArticleNumber { article, branch: branch.and_then(digits) })
    }

    /// Whether this one follows that one without a gap.
    pub fn follows(self, before: Option<ArticleNumber>) -> bool {
        let before = before.unwrap_or(ArticleNumber { article: 0, branch: None });
        match self.branch {
            None => self.article == before.article + 1,
            Some(branch) => self.article == before.article && branch == before.branch.unwrap_or(1) + 1,
        }
    }
}

fn parse_roman(letters: &str) -> Option<u32> {
    let (mut total, mut most) = (0_u32, 0);
    for letter in letters.bytes().rev() {
        let known = [(b'I', 1), (b'V', 5), (b'X', 10), (b'L', 50), (b'C', 100)];
        let (_, value) = known.into_iter().find(|(known, _)| *known == letter)?;
        total = if value < most { total.checked_sub(value)? } else { total + value };
        most = most.max(value);
    }
    (total > 0).then_some(total)
}

/// What a heading opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Article,
    /// Something with articles of its own: supplementary provisions, an annex.
    Annex,
    /// A chapter or a part: the articles in it are numbered on.
    Chapter,
    /// Any other heading that Markdown marks. It has a title and no label.
    Other,
}

/// How far the line alone shows that it is a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    /// By itself.
    Yes,
    /// If the line before has ended something.
    AfterEnd,
    /// If, besides, its number follows the last one.
    InOrder,
}

/// A line that may be a heading.
#[derive(Debug)]
pub(super) struct Heading {
    pub kind: Kind,
    /// «제5조», "Annex A".
    pub label: String,
    pub number: Option<ArticleNumber>,
    pub title: Option<String>,
    /// What of an article's text stands on the same line.
    pub body: String,
    pub sure: Sure,
    /// The level of a heading that Markdown marks.
    pub level: Option<usize>,
    /// Whether a page number follows: an entry of a table of contents.
    pub listed: bool,
}

impl Heading {
    fn of(line: &Line, kind: Kind, label: String, title: String) -> Self {
        let sure = if line.marked { Sure::Yes } else { Sure::AfterEnd };
        let title = Some(title).filter(|title| !title.is_empty());
        let Line { level, listed, .. } = *line;
        Heading { kind, label, number: None, title, body: String::new(), sure, level, listed }
    }
}

/// The line as a heading, if it may be one.
pub(super) fn recognize_heading(line: &str) -> Option<Heading> {
    let line = &Line::of(line)?;
    let korean = || chapter(line).or_else(|| supplement(line)).or_else(|| annex(line));
    article(line).or_else(korean).or_else(|| english_section(line)).or_else(|| {
        line.level?;
        let title = line.text.chars().take(MAX_MARKED).collect();
        Some(Heading { sure: Sure::Yes, ..Heading::of(line, Kind::Other, String::new(), title) })
    })
}

/// A title behind its number, without separators around it.
fn title_of(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || ".:-–—·".contains(c)).to_owned()
}

fn is_alphanumeric(c: Option<char>) -> bool {
    // ①, ⑴, ㉠ and their like count paragraphs.
    let circled =
        |c| matches!(c, '\u{2460}'..='\u{24ff}' | '\u{2776}'..='\u{2793}' | '\u{3200}'..='\u{32ff}');
    c.is_some_and(|c| c.is_alphanumeric() && !circled(c))
}

fn article(line: &Line) -> Option<Heading> {
    let found = ARTICLE.captures(&line.folded)?;
    let english = found.get(3).is_some();
    let mut groups = found.iter().skip(1).flatten().map(|group| group.as_str());
    let number = ArticleNumber::parse(groups.next()?, groups.next())?;
    let (title, body, sure) = split_title(line, &line.folded[found[0].len()..], english)?;
    let label = match (english, number.branch) {
        (true, _) => format!("Article {number}"),
        (false, None) => format!("제{}조", number.article),
        (false, Some(branch)) => format!("제{}조의{branch}", number.article),
    };
    let heading = Heading::of(line, Kind::Article, label, title);
    Some(Heading { number: Some(number), body: line.unfolded(body), sure, ..heading })
}

/// The title behind a number, the text behind the title, and how sure that is.
type Titled<'a> = Option<(String, &'a str, Sure)>;

fn split_title<'a>(line: &Line, behind: &'a str, english: bool) -> Titled<'a> {
    let rest = behind.trim_start_matches(' ');
    if rest.is_empty() {
        return Some((String::new(), "", Sure::Yes));
    }
    if let Some((title, behind)) = bracketed(rest, MAX_TITLE).filter(|(title, _)| !title.is_empty()) {
        let bare = |text: &'a str| text.strip_prefix(['.', ':']).unwrap_or(text);
        let body = if english { bare(behind) } else { behind }.trim_start_matches(' ');
        let glued = !english && body.len() == behind.len() && is_alphanumeric(body.chars().next());
        let refers = match english {
            true => body.starts_with(|c: char| c.is_lowercase() || ",;)".contains(c)),
            false => goes_on(body),
        };
        let body = if english { body } else { bare(body) };
        return (!glued && (line.marked || !refers)).then_some((title, body, Sure::Yes));
    }
    let first = rest.split(' ').next().unwrap_or_default();
    let separated = matches!(first, "." | ":" | "-" | "–" | "—") || english && first == ")";
    let titled = if separated { rest[first.len()..].trim_start_matches(' ') } else { rest };
    match separated || rest.len() < behind.len() {
        true if english => english_title(line, titled, separated),
        true => korean_title(line, titled),
        false => None,
    }
}

/// Whether a Korean text that follows a number and a blank goes on from it.
fn goes_on(rest: &str) -> bool {
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).take(8).collect();
    let number = rest.strip_prefix(['제', '第']).map(|rest| rest.trim_start_matches(' '));
    number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || GOES_ON.split(' ').any(|known| known == word)
        || rest.starts_with([',', '~', '∼', '·', '/'])
}

/// Whether a Korean text is a sentence rather than a title.
fn is_sentence(text: &str) -> bool {
    text.ends_with("다") || text.ends_with(['.', ',', ';', '?', '!', '。']) || text.contains(". ")
}

fn is_short(line: &Line, text: &str) -> bool {
    text.chars().count() <= if line.marked { MAX_MARKED } else { MAX_PLAIN }
}

fn korean_title<'a>(line: &Line, rest: &'a str) -> Titled<'a> {
    if goes_on(rest) {
        return None;
    }
    let title = title_of(rest);
    let plain = is_alphanumeric(rest.chars().next()) && !title.is_empty() && !rest.ends_with('.');
    if plain && is_short(line, rest) && (line.marked || !is_sentence(&title)) {
        return Some((title, "", if line.marked { Sure::Yes } else { Sure::AfterEnd }));
    }
    Some((String::new(), rest, Sure::InOrder))
}

/// Whether every word of some length begins with a capital letter.
fn is_title(text: &str) -> bool {
    let mut words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).peekable();
    let capital = |word: &str| !word.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_lowercase);
    words.peek().is_some_and(|first| capital(first))
        && words.all(|word| word.chars().count() < 4 || capital(word))
}

/// A title, a title and a sentence, or a sentence.
fn english_title<'a>(line: &Line, rest: &'a str, separated: bool) -> Titled<'a> {
    let title = title_of(rest);
    let sure = if separated || line.marked { Sure::Yes } else { Sure::AfterEnd };
    if title.is_empty() {
        return separated.then_some((title, "", Sure::Yes));
    }
    let is_short = |text: &str, most| text.chars().count() <= most;
    if is_short(rest, MAX_TITLE) && (line.marked || is_title(&title) && !title.contains(". ")) {
        return Some((title, "", sure));
    }
    let run_in = rest.split_once(". ").map(|(run_in, body)| (title_of(run_in), body));
    if let Some((title, body)) = run_in.filter(|(title, _)| is_short(title, MAX_RUN_IN) && is_title(title)) {
        return Some((title, body, sure));
    }
    let sentence = rest.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || "(\"“".contains(c));
    (separated && sentence).then_some((String::new(), rest, Sure::InOrder))
}

/// The title of a Korean chapter or annex, if this may be one.
fn section_title(line: &Line, rest: &str) -> Option<String> {
    let (title, rest) = bracketed(rest, MAX_TITLE).unwrap_or((String::new(), rest));
    if !title.is_empty() {
        return Some(title);
    }
    let title = title_of(rest);
    let refers = title.ends_with("참조") || title.ends_with("참고") || goes_on(rest);
    (is_short(line, rest) && (line.marked || !is_sentence(&title) && !refers)).then_some(title)
}

fn chapter(line: &Line) -> Option<Heading> {
    let found = CHAPTER.captures(&line.folded)?;
    let behind = &line.folded[found[0].len()..];
    if behind.starts_with(char::is_alphanumeric) {
        return None;
    }
    let label = format!("제{}{}", found[1].parse::<u32>().ok()?, &found[2]);
    let title = section_title(line, behind.trim_start_matches(' '))?;
    Some(Heading::of(line, Kind::Chapter, label, title))
}

/// «부칙», spaced or not, with a date or nothing behind it.
fn supplement(line: &Line) -> Option<Heading> {
    let rest = &line.folded[SUPPLEMENT.find(&line.folded)?.end()..];
    let (title, rest) = bracketed(rest, MAX_TITLE).unwrap_or((String::new(), rest));
    rest.trim().is_empty().then(|| Heading::of(line, Kind::Annex, "부칙".to_owned(), title))
}

fn annex(line: &Line) -> Option<Heading> {
    let found = ANNEX.captures(&line.folded)?;
    let (opening, id) = (found.get(1).is_some(), found.get(3).map(|id| id.as_str()));
    let mut behind = &line.folded[found[0].len()..];
    if opening {
        behind = behind.trim_start_matches(' ').strip_prefix([']', '】', '>', '〉', ')'])?;
    }
    let rest = behind.trim_start_matches(' ');
    // «별지에 따라», «첨부파일»: another word, or a reference.
    let glued = rest.len() == behind.len() && (opening || !found[0].ends_with(' '));
    // A word alone says little: «첨부 서류 목록» is as likely an item as an annex.
    let vague = id.is_none() && !opening && !line.marked;
    if rest.starts_with(char::is_alphanumeric) && (glued || vague) {
        return None;
    }
    // «별지 제01호» and «별지 1» are one annex.
    let id = id.map(|id| id.parse::<u32>().map_or_else(|_| id.to_owned(), |number| number.to_string()));
    let label = id.map_or_else(|| found[2].to_owned(), |id| format!("{} {id}", &found[2]));
    Some(Heading::of(line, Kind::Annex, label, section_title(line, rest)?))
}

fn english_section(line: &Line) -> Option<Heading> {
    let found = ENGLISH_SECTION.captures(&line.folded)?;
    let is_word = |(word, _): &(&str, Kind)| word.eq_ignore_ascii_case(&found[1]);
    let chapters = ENGLISH_CHAPTERS.split(' ').map(|word| (word, Kind::Chapter));
    let annexes = ENGLISH_ANNEXES.split(' ').map(|word| (word, Kind::Annex));
    let (word, kind) = chapters.chain(annexes).find(is_word)?;
    let rest = &line.folded[found[0].len()..];
    let marks = [' ', '.', ':', '-', '–', '—', ')'];
    let title = title_of(rest.trim_matches(marks)).trim_matches(['(', ')']).to_owned();
    let (separated, short) =
        (rest.starts_with(marks) || rest.starts_with('('), rest.chars().count() <= MAX_TITLE);
    // "Schedule" alone, or "Schedule of fees", is a heading only if Markdown says so.
    let label = match found.get(2) {
        Some(id) if rest.is_empty() || separated => format!("{word} {}", id.as_str()),
        None if rest.is_empty() && line.marked => word.to_owned(),
        _ => return None,
    };
    let fits = short && (line.marked || title.is_empty() || is_title(&title));
    fits.then(|| Heading::of(line, kind, label, title))
}
