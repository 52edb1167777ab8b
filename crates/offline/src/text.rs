//! Text as it comes from outside, made safe to compare and to print.
//!
//! Nothing that leaves this file holds a control character other than a line break: no escape
//! sequence of a document can reach a terminal through an answer.

use std::iter::Peekable;
use std::str::Chars;

/// Most characters of one terminal escape sequence; what is longer is text again.
const MAX_ESCAPE: usize = 256;

/// The first `max_chars` characters of a text: Hangul composed, full-width forms as ASCII, escape
/// sequences and control characters left out, tabs as blanks.
pub(super) fn clean(text: &str, max_chars: usize) -> String {
    let mut out = Composer::default();
    let mut chars = text.chars().peekable();
    for _ in 0..max_chars {
        let Some(c) = chars.next() else { break };
        match c {
            '\n' => out.push('\n'),
            '\t' | '\u{a0}' | '\u{3000}' => out.push(' '),
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_sequence(&mut chars),
            // Full-width forms lie at a fixed distance from ASCII.
            '\u{ff01}'..='\u{ff5e}' => out.push(char::from_u32(c as u32 - 0xfee0).unwrap_or(c)),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out.text
}

/// Marks that change the order or the width of what is shown, and show nothing.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_sequence(chars);
        }
        // A title or link sequence ends with BEL or with ESC and a backslash.
        Some(']' | 'P' | '_' | '^') => {
            let mut ahead = chars.clone();
            for _ in 0..MAX_ESCAPE {
                match ahead.next() {
                    Some('\u{7}' | '\u{9c}') => {
                        *chars = ahead;
                        return;
                    }
                    Some('\u{1b}') => {
                        if ahead.peek() == Some(&'\\') {
                            ahead.next();
                        }
                        *chars = ahead;
                        return;
                    }
                    Some(_) => {}
                    None => return,
                }
            }
        }
        _ => {}
    }
}

/// Skips parameters up to the letter that ends the sequence.
fn skip_sequence(chars: &mut Peekable<Chars<'_>>) {
    for _ in 0..MAX_ESCAPE {
        match chars.peek() {
            Some(' '..='?') => {
                chars.next();
            }
            Some('@'..='~') => {
                chars.next();
                return;
            }
            _ => return,
        }
    }
}

const SYLLABLES: u32 = 0xac00;
const LEADS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
/// One before the first trailing consonant, so that 0 means none.
const TAILS: u32 = 0x11a7;

/// Joins conjoining jamo to syllables as they come, as canonical composition does.
#[derive(Default)]
struct Composer {
    text: String,
}

impl Composer {
    fn push(&mut self, c: char) {
        let joined = match c as u32 {
            // Only a vowel or a tail joins what stands before it.
            code @ (0x1161..=0x1175 | 0x11a8..=0x11c2) => {
                self.text.chars().next_back().and_then(|last| join(last as u32, code))
            }
            _ => None,
        };
        if joined.is_some() {
            self.text.pop();
        }
        self.text.push(joined.unwrap_or(c));
    }
}

fn join(last: u32, next: u32) -> Option<char> {
    let joined = match (last, next) {
        (0x1100..=0x1112, 0x1161..=0x1175) => SYLLABLES + ((last - LEADS) * 21 + (next - VOWELS)) * 28,
        (0xac00..=0xd7a3, 0x11a8..=0x11c2) if (last - SYLLABLES).is_multiple_of(28) => last + (next - TAILS),
        _ => return None,
    };
    char::from_u32(joined)
}

/// Whether a syllable ends in a consonant; `None` for what is no Hangul syllable. The consonant ㄹ
/// counts as one.
pub(super) fn ends_in_consonant(c: char) -> Option<bool> {
    let code = c as u32;
    (0xac00..=0xd7a3).contains(&code).then(|| !(code - SYLLABLES).is_multiple_of(28))
}

/// Whether a syllable ends in ㄹ.
pub(super) fn ends_in_rieul(c: char) -> bool {
    let code = c as u32;
    (0xac00..=0xd7a3).contains(&code) && (code - SYLLABLES) % 28 == 8
}

/// Whether a character is a Hangul syllable or letter.
pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}')
}

/// The first `max` characters, with an ellipsis where something was left off, all on one line.
pub(super) fn line(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let room = max.saturating_sub(count + usize::from(!out.is_empty()));
        if !out.is_empty() {
            out.push(' ');
            count += 1;
        }
        let len = word.chars().count();
        if len > room {
            out.extend(word.chars().take(room));
            return format!("{}…", out.trim_end());
        }
        out.push_str(word);
        count += len;
    }
    out
}
