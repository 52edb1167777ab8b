//! The tokens of a question, seen as arithmetic.
//!
//! What looks like a number and is none (a version, a date, a phone number, a name such as `GPT-4`)
//! becomes [`Kind::Other`] here, so that no rule after this can take it for one.

use super::units::{self, Unit};
use super::vocabulary;

/// Most tokens of a question.
const MAX_TOKENS: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Number,
    Pi,
    /// `+ - * / ^` as a sign.
    Sign(char),
    /// The same in words.
    Operator(char),
    Percent,
    /// `5!`
    Bang,
    Open,
    Close,
    /// `sqrt`, `square root of`, …
    Function(&'static str),
    /// `squared`, `cubed`.
    Power(u8),
    /// 제곱 and 세제곱, which follow their number or its exponent.
    Raised(u8),
    /// 제곱근, which follows its number.
    RootOf,
    Unit(&'static Unit),
    /// `degrees`, 도, `°`.
    Degree,
    /// `in`, `to`, 로.
    Into,
    HowMany,
    Of,
    And,
    /// 더하면, 뺀, …: two numbers stand before it.
    Combine(char),
    /// `sum`, 합, …: two numbers stand behind or before it.
    Result(char),
    /// 의
    Possessive,
    /// Other particles.
    Particle,
    /// `a`, `an`, `one`.
    One,
    /// A word that only asks for a value.
    Filler,
    /// A word that asks for a calculation.
    Cue,
    Equals,
    /// The end of a clause.
    Break,
    Other,
}

/// A token, with its place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub start: usize,
    /// Whether there is a blank before it.
    pub spaced: bool,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new() };
    while lexer.at < text.len() && lexer.tokens.len() < MAX_TOKENS {
        lexer.step();
    }
    vocabulary::join_phrases(text, lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let start = self.at;
        let spaced = self.text[..start].ends_with(char::is_whitespace);
        self.tokens.push(Token { kind, text: &self.text[start..start + len], start, spaced });
        self.at = start + len;
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return };
        match c {
            c if c.is_whitespace() && c != '\n' => self.at += c.len_utf8(),
            // Currency signs do not change a value.
            '$' | '€' | '£' | '₩' => self.at += c.len_utf8(),
            '0'..='9' => self.number(),
            c if c.is_ascii_alphabetic() || c == '_' => self.word(),
            c if super::super::text::is_hangul(c) => self.hangul(),
            c if c.is_alphanumeric() => {
                let len = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                self.push(Kind::Other, len);
            }
            c => self.sign(c),
        }
    }

    fn sign(&mut self, c: char) {
        let rest = self.rest();
        let after_value = matches!(self.tokens.last(), Some(last)
            if last.end() == self.at && matches!(last.kind, Kind::Number | Kind::Close));
        let ends = |len: usize| rest[len..].chars().next().is_none_or(char::is_whitespace);
        let kind = match c {
            '*' if rest.starts_with("**") => return self.push(Kind::Sign('^'), 2),
            '+' | '*' | '/' | '^' => Kind::Sign(c),
            '-' | '−' | '–' => Kind::Sign('-'),
            '×' | '✕' | '⋅' => Kind::Sign('*'),
            '÷' => Kind::Sign('/'),
            '√' => Kind::Function("sqrt"),
            'π' => Kind::Pi,
            '%' => Kind::Percent,
            '°' => Kind::Degree,
            '²' => Kind::Power(2),
            '³' => Kind::Power(3),
            '(' => Kind::Open,
            ')' => Kind::Close,
            '=' => Kind::Equals,
            '&' => Kind::And,
            '!' if after_value => Kind::Bang,
            '?' | '!' | ';' | ',' | '\n' => Kind::Break,
            '.' if ends(1) => Kind::Break,
            ':' if ends(1) => Kind::Filler,
            '"' | '\'' | '`' | '“' | '”' | '‘' | '’' => Kind::Filler,
            _ => Kind::Other,
        };
        self.push(kind, c.len_utf8());
    }

    fn number(&mut self) {
        let rest = self.rest();
        let before = self.text[..self.at].chars().next_back();
        let (value, whole) = (value_len(rest), look_alike_len(rest));
        let named = matches!(before, Some('#' | '§' | '@' | '№' | '_' | '~' | '.' | ':'));
        let padded = rest.starts_with('0') && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if let Some(len) = whole.or((named || padded).then(|| run_len(rest))) {
            return self.push(Kind::Other, len);
        }
        let letters = letters_len(&rest[value..]);
        let behind = &rest[value..value + letters];
        let times = (behind == "x" || behind == "X")
            && rest[value + letters..].starts_with(|c: char| c.is_ascii_digit());
        if letters > 0 && !times && units::named(unit_word(&rest[value..])).is_none() {
            // `3D`, `2nd`, `8th`.
            return self.push(Kind::Other, value + run_len(&rest[value..]));
        }
        self.push(Kind::Number, value);
        if times {
            self.push(Kind::Sign('x'), 1);
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let after_degree = matches!(self.tokens.last(), Some(last)
            if last.kind == Kind::Degree && (last.text == "°" || last.spaced));
        let unit = unit_word(rest);
        let letters = letters_len(rest);
        let glued_to_more = rest[unit.len()..].starts_with(|c: char| c.is_ascii_digit() || c == '_');
        if after_degree
            && letters == 1
            && let Some(scale) = scale(&rest[..1])
        {
            return self.push(Kind::Unit(scale), 1);
        }
        if !glued_to_more
            && unit.len() > letters
            && let Some(unit) = units::named(unit)
        {
            return self.push(Kind::Unit(unit), unit_word(rest).len());
        }
        let len = run_len(rest);
        let kind = if len > letters { Kind::Other } else { vocabulary::english(&rest[..len]) };
        self.push(kind, len.max(1));
    }

    fn hangul(&mut self) {
        let rest = self.rest();
        let len = rest.find(|c| !super::super::text::is_hangul(c)).unwrap_or(rest.len());
        let word = &rest[..len];
        let after_number = matches!(self.tokens.last(), Some(last) if last.kind == Kind::Number);
        match vocabulary::korean(word, after_number) {
            Some(kinds) => kinds.into_iter().for_each(|(kind, len)| self.push(kind, len)),
            None => self.push(Kind::Other, len),
        }
    }
}

fn scale(letter: &str) -> Option<&'static Unit> {
    match letter {
        "c" | "C" => units::named("celsius"),
        "f" | "F" => units::named("fahrenheit"),
        _ => None,
    }
}

fn digits_len(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn letters_len(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != '\'').unwrap_or(text.len());
    text[..end].trim_end_matches('\'').len()
}

/// Letters, with one `/` and more letters behind (`km/h`), or a `²`.
fn unit_word(text: &str) -> &str {
    let first = letters_len(text);
    let behind = &text[first..];
    let len = match behind.strip_prefix('/') {
        Some(more) if letters_len(more) > 0 => 1 + letters_len(more),
        _ if behind.starts_with('²') => '²'.len_utf8(),
        _ => 0,
    };
    &text[..first + len]
}

/// How far something that is one word goes: letters and digits, joined by `-`, `_`, `.`, `:`, `/`.
fn run_len(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let continues = chars.peek().is_some_and(|(_, next)| next.is_ascii_alphanumeric());
        let joined = matches!(c, '-' | '_' | '.' | ':' | '/' | '\'') && continues;
        if !c.is_ascii_alphanumeric() && c != '_' && !joined {
            return at;
        }
    }
    text.len()
}

/// The length of a decimal number: `12`, `1,234,567`, `2.5`, `1e9`.
fn value_len(text: &str) -> usize {
    let mut len = digits_len(text);
    while text[len..].starts_with(',') && digits_len(&text[len + 1..]) == 3 {
        len += 4;
    }
    if text[len..].starts_with('.') && digits_len(&text[len + 1..]) > 0 {
        len += 1 + digits_len(&text[len + 1..]);
    }
    if text[len..].starts_with(['e', 'E']) {
        let exponent = text[len + 1..].trim_start_matches(['+', '-']);
        let sign = text.len() - len - 1 - exponent.len();
        if sign <= 1 && digits_len(exponent) > 0 {
            len += 1 + sign + digits_len(exponent);
        }
    }
    len
}

/// The length of what looks like a number and is none: a version, a date, a time, a phone number,
/// an address.
fn look_alike_len(text: &str) -> Option<usize> {
    let value = value_len(text);
    let next = text[value..].chars().next();
    let goes_on = |sign| next == Some(sign) && digits_len(&text[value + 1..]) > 0;
    if goes_on('.') || goes_on(':') || goes_on(',') {
        return Some(run_len(text));
    }
    for sign in ['-', '/', '.'] {
        let groups: Vec<usize> = groups(text, sign);
        let date = matches!(groups[..], [4, 1 | 2, 1 | 2] | [1 | 2, 1 | 2, 4]);
        let phone = sign == '-' && matches!(groups[..], [1..=4, 3 | 4, 4] | [1..=3, 2 | 3, 3 | 4, 4]);
        if date || phone {
            return Some(groups.iter().sum::<usize>() + groups.len() - 1);
        }
    }
    None
}

/// The lengths of groups of digits that one sign joins without blanks; at most five.
fn groups(text: &str, sign: char) -> Vec<usize> {
    let mut groups = vec![digits_len(text)];
    let mut rest = &text[groups[0]..];
    while let Some(more) = rest.strip_prefix(sign) {
        let len = digits_len(more);
        if len == 0 || groups.len() == 5 {
            break;
        }
        groups.push(len);
        rest = &more[len..];
    }
    groups
}
