//! Lines are broken between words, to the width of a terminal. Code and tables are left as they are.

use crate::text::width;

/// Breaks a text that comes in pieces.
pub struct Wrap {
    /// Columns of a line.
    most: usize,
    /// Columns that the line has so far.
    column: usize,
    /// What is held back: the blanks before a word, and the word as far as it came.
    blanks: String,
    word: String,
    /// Whether the next word is the first of its line.
    is_first: bool,
    /// Columns that a broken line is indented by.
    indent: usize,
    is_fenced: bool,
    /// Whether the line is left as it is.
    is_verbatim: bool,
}

impl Wrap {
    pub fn new(most: usize) -> Self {
        let (blanks, word) = Default::default();
        Wrap {
            most,
            column: 0,
            blanks,
            word,
            is_first: true,
            indent: 0,
            is_fenced: false,
            is_verbatim: false,
        }
    }

    /// Takes the next piece; gives what can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                '\n' => {
                    self.end_word(&mut out);
                    out.push('\n');
                    self.blanks.clear();
                    (self.column, self.indent, self.is_first) = (0, 0, true);
                }
                ' ' | '\t' => {
                    self.end_word(&mut out);
                    self.blanks.push(c);
                }
                // Chinese and Japanese have no blanks between words.
                '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' => {
                    self.end_word(&mut out);
                    self.word.push(c);
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// Gives what is held back.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        out
    }

    fn end_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let (blanks, word) = (std::mem::take(&mut self.blanks), std::mem::take(&mut self.word));
        let (before, own) = (width(&blanks), width(&word));
        if std::mem::take(&mut self.is_first) {
            let is_fence = word.starts_with("```") || word.starts_with("~~~");
            self.is_verbatim = is_fence || self.is_fenced || word.starts_with('|') || before >= 4;
            self.is_fenced ^= is_fence;
            let is_item = matches!(&*word, "-" | "*" | "•") || word.strip_suffix('.').is_some_and(is_number);
            self.indent = before + if is_item { own + 1 } else { 0 };
        } else if !self.is_verbatim && self.column + before + own > self.most && self.column > self.indent {
            *out += &format!("\n{}{word}", " ".repeat(self.indent));
            self.column = self.indent + own;
            return;
        }
        *out += &blanks;
        *out += &word;
        self.column += before + own;
        if self.column > self.most {
            // A word that is longer than a line is broken by the terminal.
            self.column %= self.most.max(1);
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text, broken between words.
pub fn wrap(text: &str, most: usize) -> String {
    let mut wrap = Wrap::new(most);
    wrap.push(text) + &wrap.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words_whatever_pieces_it_comes_in() {
        for (text, expected) in [
            ("one two three four\n\nfive", "one two\nthree four\n\nfive"),
            // Korean takes two columns a letter.
            ("환불은 삼십일 안에", "환불은\n삼십일\n안에"),
            ("漢字かな混じり文", "漢字かな混\nじり文"),
            ("- one two three\n12. a b c d e", "- one two\n  three\n12. a b c\n    d e"),
            ("```\nlet answer = 42;\n```\nlet answer = 42;", "```\nlet answer = 42;\n```\nlet answer\n= 42;"),
            ("| a | b | c | d |\n    let answer = 42;", "| a | b | c | d |\n    let answer = 42;"),
            ("http://localhost:8080 is it", "http://localhost:8080 is it"),
            ("ends with \n blanks  ", "ends with\n blanks"),
            ("", ""),
        ] {
            assert_eq!(wrap(text, 10), expected);
            let mut pieces = Wrap::new(10);
            let shown: String = text.chars().map(|c| pieces.push(&c.to_string())).collect();
            assert_eq!(shown + &pieces.finish(), expected);
        }
    }
}
