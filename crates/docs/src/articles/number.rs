//! Numbers of articles, and the characters around them.

use std::fmt;

/// The number of an article: 5, or 5 and 2 for «제5조의2» and "Article 5-2".
///
/// ```
/// use planwright_docs::articles::ArticleNumber;
///
/// assert_eq!(ArticleNumber { article: 5, branch: Some(2) }.to_string(), "5-2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArticleNumber {
    /// The number itself.
    pub article: u32,
    /// The number of an article that was put in later, behind it.
    pub branch: Option<u32>,
}

impl fmt::Display for ArticleNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.branch {
            Some(branch) => write!(f, "{}-{branch}", self.article),
            None => write!(f, "{}", self.article),
        }
    }
}

impl ArticleNumber {
    /// Whether this one follows that one without a gap.
    pub(super) fn follows(self, before: Option<ArticleNumber>) -> bool {
        let Some(before) = before else { return self.article == 1 && self.branch.is_none() };
        match self.branch {
            None => self.article == before.article + 1,
            Some(branch) => {
                self.article == before.article && branch == before.branch.map_or(2, |branch| branch + 1)
            }
        }
    }
}

/// One character as headings are compared: full-width forms become what people type. One character
/// gives one, so that places stay the same.
pub(super) fn folded(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

/// Reads a line from the left. Nothing is read beyond its end.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub chars: &'a [char],
    pub at: usize,
}

impl<'a> Scan<'a> {
    pub fn new(chars: &'a [char]) -> Self {
        Scan { chars, at: 0 }
    }

    pub fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub fn rest(&self) -> &'a [char] {
        self.chars.get(self.at..).unwrap_or_default()
    }

    /// Passes blanks; says whether there were any.
    pub fn blanks(&mut self) -> bool {
        let before = self.at;
        while self.peek() == Some(' ') {
            self.at += 1;
        }
        self.at > before
    }

    /// Passes one of these characters.
    pub fn eat(&mut self, any: &str) -> bool {
        let found = self.peek().is_some_and(|c| any.contains(c));
        self.at += usize::from(found);
        found
    }

    /// Passes a word, whatever its case.
    pub fn word(&mut self, word: &str) -> bool {
        let mut at = self.at;
        for c in word.chars() {
            if !self.chars.get(at).is_some_and(|found| found.eq_ignore_ascii_case(&c)) {
                return false;
            }
            at += 1;
        }
        self.at = at;
        true
    }

    /// Passes a number of one to four digits.
    pub fn number(&mut self) -> Option<u32> {
        let digits: String = self.rest().iter().take_while(|c| c.is_ascii_digit()).take(5).collect();
        let number = (digits.len() <= 4).then(|| digits.parse().ok()).flatten()?;
        self.at += digits.len();
        Some(number)
    }

    /// Passes a Roman number of capital letters that ends where it ends.
    pub fn roman(&mut self) -> Option<u32> {
        let letters: Vec<char> =
            self.rest().iter().copied().take_while(char::is_ascii_alphabetic).take(9).collect();
        let mut total: u32 = 0;
        let mut most = 0;
        for c in letters.iter().rev() {
            let value = match c {
                'I' => 1,
                'V' => 5,
                'X' => 10,
                'L' => 50,
                'C' => 100,
                _ => return None,
            };
            if value < most {
                total = total.checked_sub(value)?;
            } else {
                total += value;
                most = value;
            }
        }
        (total > 0 && letters.len() <= 8).then(|| {
            self.at += letters.len();
            total
        })
    }

    /// Passes a text in brackets of any kind, at most this long.
    pub fn bracketed(&mut self, most: usize) -> Option<String> {
        const PAIRS: [(char, char); 9] = [
            ('(', ')'),
            ('[', ']'),
            ('【', '】'),
            ('〔', '〕'),
            ('〈', '〉'),
            ('<', '>'),
            ('「', '」'),
            ('『', '』'),
            ('《', '》'),
        ];
        let opening = self.peek()?;
        let (_, closing) = *PAIRS.iter().find(|(one, _)| *one == opening)?;
        let mut depth = 0;
        for (at, c) in self.rest().iter().enumerate().take(most + 2) {
            depth += usize::from(*c == opening);
            if *c == closing {
                depth -= 1;
            }
            if depth == 0 {
                let inside: String = self.rest()[1..at].iter().collect();
                self.at += at + 1;
                return Some(inside.trim().to_owned()).filter(|inside| !inside.is_empty());
            }
        }
        None
    }
}
