//! Expressions as they are written: `12/4 + 9`, `sqrt(2) * 3`, `15% of 80`, `3 plus 4`.

use super::lex::{Kind, Token};

/// An expression that begins at some token.
pub(super) struct Infix {
    pub text: String,
    /// The number of tokens it takes.
    pub len: usize,
    /// Whether it can only be arithmetic. `10-3` and `24/7` may be something else.
    pub certain: bool,
}

/// The longest expression that begins at the token `at`.
pub(super) fn read(tokens: &[Token<'_>], at: usize) -> Option<Infix> {
    // The right half of something that was not read as a whole (`x + 5 * 3`) is no expression.
    if at > 0 && matches!(tokens[at - 1].kind, Kind::Sign(_) | Kind::Operator(_) | Kind::Percent) {
        return None;
    }
    let mut reader = Reader { tokens, start: at, at, ..Reader::default() };
    while reader.at < tokens.len() && reader.step() {
        reader.at += 1;
        if !reader.wants_operand && reader.depth == 0 && reader.operators > 0 {
            reader.best = Some((reader.text.len(), reader.at, reader.is_certain()));
        }
    }
    let (len, end, certain) = reader.best?;
    if is_cut(tokens, end) {
        return None;
    }
    reader.text.truncate(len);
    Some(Infix { text: reader.text, len: end - at, certain })
}

/// Whether the expression goes on with something that is no number (`3*4+x`).
fn is_cut(tokens: &[Token<'_>], end: usize) -> bool {
    let [next, behind, ..] = &tokens[end..] else { return false };
    matches!(next.kind, Kind::Sign(_)) && behind.kind == Kind::Other && !behind.spaced
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    start: usize,
    at: usize,
    text: String,
    depth: usize,
    wants_operand: bool,
    operators: usize,
    /// An operator that is nothing else (`*`, `^`, words, functions).
    unmistakable: bool,
    /// The sign of the first operator, and whether another followed.
    first_sign: Option<char>,
    mixed: bool,
    best: Option<(usize, usize, bool)>,
}

impl Default for Reader<'_> {
    fn default() -> Self {
        Reader {
            tokens: &[],
            start: 0,
            at: 0,
            text: String::new(),
            depth: 0,
            wants_operand: true,
            operators: 0,
            unmistakable: false,
            first_sign: None,
            mixed: false,
            best: None,
        }
    }
}

impl Reader<'_> {
    fn is_certain(&self) -> bool {
        self.unmistakable || self.mixed
    }

    fn before(&self) -> Option<Kind> {
        (self.at > self.start).then(|| self.tokens[self.at - 1].kind)
    }

    fn next(&self) -> Option<&Token<'_>> {
        self.tokens.get(self.at + 1)
    }

    fn put(&mut self, text: &str, blank: bool) {
        if blank && !self.text.is_empty() && !self.text.ends_with(['(', ' ']) {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// Takes the token, or says that the expression ends before it.
    fn step(&mut self) -> bool {
        if self.wants_operand { self.operand() } else { self.operator() }
    }

    fn operand(&mut self) -> bool {
        let token = self.tokens[self.at];
        match token.kind {
            Kind::Number => {
                self.put(&token.text.replace(',', ""), token.spaced);
                self.wants_operand = false;
            }
            Kind::Pi => {
                self.put("pi", token.spaced);
                self.wants_operand = false;
            }
            Kind::Open => {
                self.put("(", token.spaced);
                self.depth += 1;
            }
            Kind::Function(name) => return self.function(name, token.spaced),
            Kind::Sign('-') => {
                let negates = !matches!(self.before(), Some(Kind::Sign('-')));
                let value = self.next().is_some_and(|next| next.kind == Kind::Number && !next.spaced);
                if !negates || !value {
                    return false;
                }
                self.put("-", token.spaced);
            }
            _ => return false,
        }
        true
    }

    /// `sqrt(2)` and `square root of 2`.
    fn function(&mut self, name: &str, spaced: bool) -> bool {
        match self.next().map(|next| (next.kind, next.text)) {
            Some((Kind::Open, _)) => self.put(name, spaced),
            Some((Kind::Number, number)) => {
                self.put(&format!("{name}({})", number.replace(',', "")), spaced);
                self.at += 1;
                self.wants_operand = false;
            }
            _ => return false,
        }
        self.operators += 1;
        self.unmistakable = true;
        true
    }

    fn operator(&mut self) -> bool {
        let token = self.tokens[self.at];
        match token.kind {
            Kind::Sign(sign) => self.sign(sign, token.spaced),
            Kind::Operator(sign) => {
                self.put(&format!("{sign} "), true);
                self.binary(sign, true);
            }
            Kind::Percent => {
                self.put("%", false);
                if self.next().is_some_and(|next| next.kind == Kind::Of) {
                    self.at += 1;
                    self.put("of ", true);
                    self.binary('*', true);
                }
            }
            Kind::Bang => {
                self.put("!", false);
                self.operators += 1;
            }
            Kind::Power(exponent) => {
                self.put(&format!("^{exponent}"), false);
                self.operators += 1;
                self.unmistakable = true;
            }
            Kind::Unit(unit) if self.before() == Some(Kind::Number) => self.put(unit.name, true),
            Kind::Close if self.depth > 0 => {
                self.put(")", token.spaced);
                self.depth -= 1;
            }
            _ => return false,
        }
        true
    }

    fn sign(&mut self, sign: char, spaced: bool) {
        let blank_behind = self.next().is_some_and(|next| next.spaced);
        // `18+ 20` is no sum, `2x4` may be a size.
        let unmistakable = matches!(sign, '+' | '*' | '^') && spaced == blank_behind;
        let shown = if sign == 'x' { '*' } else { sign };
        self.put(&shown.to_string(), spaced);
        self.binary(shown, unmistakable);
    }

    fn binary(&mut self, sign: char, unmistakable: bool) {
        self.mixed |= self.first_sign.is_some_and(|first| first != sign);
        self.first_sign = self.first_sign.or(Some(sign));
        self.operators += 1;
        self.unmistakable |= unmistakable;
        self.wants_operand = true;
    }
}
