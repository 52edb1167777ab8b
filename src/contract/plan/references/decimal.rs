//! Decimal numbers and exact arithmetic over them. A result is exact, or there is none: nothing is rounded.

use serde_json::{Number, Value};

use crate::contract::excerpt;

/// Most decimal places: what is finer is an error.
const MAX_SCALE: u32 = 30;
/// Most brackets and signs inside one another.
const MAX_NESTING: u32 = 32;

/// A whole number of parts of ten, `digits / 10^scale`. Its form is unique: `scale` is as small as it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    scale: u32,
}

/// Why a calculation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The formula is none.
    Formula(String),
    /// These values have no exact result.
    Values(&'static str),
}

const OVERFLOW: Wrong = Wrong::Values("expected a result of at most 38 digits, found a larger one");

impl Decimal {
    pub const ONE: Decimal = Decimal { digits: 1, scale: 0 };

    fn new(mut digits: i128, mut scale: u32) -> Self {
        while scale > 0 && digits % 10 == 0 {
            (digits, scale) = (digits / 10, scale - 1);
        }
        Decimal { digits, scale }
    }

    /// Parses `-12.50` or `1e-7`.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, exponent) = match text.split_once(['e', 'E']) {
            Some((body, exponent)) => (body, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = body.split_once('.').unwrap_or((body, "0"));
        let (negative, whole) = match whole.strip_prefix('-') {
            Some(whole) => (true, whole),
            None => (false, whole),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) {
            return None;
        }
        let part = part.trim_end_matches('0');
        let number: i128 = format!("{whole}{part}").parse().ok()?;
        let scale = i32::try_from(part.len()).ok()?.checked_sub(exponent)?;
        let sign = if negative { -number } else { number };
        match u32::try_from(scale) {
            Ok(scale) if scale <= MAX_SCALE => Some(Decimal::new(sign, scale)),
            Ok(_) => None,
            Err(_) => Some(Decimal::new(sign.checked_mul(power(scale.unsigned_abs())?)?, 0)),
        }
    }

    /// The number that a value is: a number, or a text that is nothing but one.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) if number.is_i64() => {
                Some(Decimal { digits: number.as_i64()?.into(), scale: 0 })
            }
            Value::Number(number) => Decimal::parse(&number.to_string()),
            Value::String(text) => Decimal::parse(text.trim()),
            _ => None,
        }
    }

    /// The number as JSON, if that holds it exactly.
    pub fn to_value(self) -> Option<Value> {
        if self.scale == 0
            && let Ok(whole) = i64::try_from(self.digits)
        {
            return Some(whole.into());
        }
        let near = Number::from_f64(self.to_string().parse().ok()?)?;
        (Decimal::parse(&near.to_string()) == Some(self)).then_some(Value::Number(near))
    }

    /// Both with as many decimal places.
    fn align(self, other: Self) -> Option<(i128, i128, u32)> {
        let scale = self.scale.max(other.scale);
        let raised = |one: Self| match scale - one.scale {
            0 => Some(one.digits),
            missing => one.digits.checked_mul(power(missing)?),
        };
        Some((raised(self)?, raised(other)?, scale))
    }

    pub fn is_larger(self, other: Self) -> Option<bool> {
        self.align(other).map(|(own, other, _)| own > other)
    }

    fn add(self, other: Self) -> Option<Self> {
        let (own, other, scale) = self.align(other)?;
        Some(Decimal::new(own.checked_add(other)?, scale))
    }

    fn negate(self) -> Option<Self> {
        Some(Decimal { digits: self.digits.checked_neg()?, ..self })
    }

    fn multiply(self, other: Self) -> Option<Self> {
        let product = Decimal::new(self.digits.checked_mul(other.digits)?, self.scale + other.scale);
        (product.scale <= MAX_SCALE).then_some(product)
    }

    fn divide(self, by: Self) -> Result<Self, Wrong> {
        let (own, by, _) = self.align(by).ok_or(OVERFLOW)?;
        if by == 0 {
            return Err(Wrong::Values("expected a divisor, found 0"));
        }
        // A fraction ends within as many places as its divisor has factors of ten, or never.
        for scale in 0..=MAX_SCALE {
            let raised = power(scale).and_then(|power| own.checked_mul(power));
            match raised {
                Some(raised) if raised.checked_rem(by).ok_or(OVERFLOW)? == 0 => {
                    return Ok(Decimal::new(raised / by, scale));
                }
                Some(_) => {}
                None => break,
            }
        }
        Err(Wrong::Values("expected a division that comes out even, found one that does not"))
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (digits, scale) = (self.digits.unsigned_abs().to_string(), self.scale as usize);
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, part) = digits.split_at(digits.len() - scale);
        let (sign, point) = (if self.digits < 0 { "-" } else { "" }, if scale > 0 { "." } else { "" });
        write!(f, "{sign}{whole}{point}{part}")
    }
}

fn power(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

/// Calculates `{1} * 1.1 + {2}` over values.
pub(super) fn calculate(formula: &str, values: &[Decimal]) -> Result<Decimal, Wrong> {
    let mut rest = Formula { rest: formula.trim_start(), values, depth: 0 };
    let result = rest.sum();
    match (rest.rest, result) {
        ("", result) => result,
        (_, Err(Wrong::Formula(problem))) => Err(Wrong::Formula(problem)),
        // A formula is read to its end before its values are blamed.
        (found, _) => Err(rest.wrong("+, -, *, / or the end", found)),
    }
}

/// What of a formula is still to be read.
struct Formula<'a> {
    rest: &'a str,
    values: &'a [Decimal],
    depth: u32,
}

impl Formula<'_> {
    fn wrong(&self, expected: &str, found: &str) -> Wrong {
        Wrong::Formula(format!("expected {expected}, found {:?}", excerpt(found, 20)))
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.rest.strip_prefix(sign);
        self.rest = found.map_or(self.rest, str::trim_start);
        found.is_some()
    }

    fn sum(&mut self) -> Result<Decimal, Wrong> {
        let mut total = self.product();
        loop {
            let minus = match (self.take('+'), self.rest) {
                (true, _) => false,
                (false, rest) if rest.starts_with('-') => self.take('-'),
                _ => return total,
            };
            let next = self.product();
            total = join(total, next, |total, next| {
                let next = if minus { next.negate() } else { Some(next) };
                next.and_then(|next| total.add(next)).ok_or(OVERFLOW)
            });
        }
    }

    fn product(&mut self) -> Result<Decimal, Wrong> {
        let mut total = self.factor();
        loop {
            let divides = match (self.take('*'), self.rest) {
                (true, _) => false,
                (false, rest) if rest.starts_with('/') => self.take('/'),
                _ => return total,
            };
            let next = self.factor();
            total = join(total, next, |total, next| match divides {
                true => total.divide(next),
                false => total.multiply(next).ok_or(OVERFLOW),
            });
        }
    }

    fn factor(&mut self) -> Result<Decimal, Wrong> {
        if self.take('-') {
            return self.nested(|inner| inner.factor()?.negate().ok_or(OVERFLOW));
        }
        if self.take('(') {
            let inner = self.nested(Formula::sum);
            return if self.take(')') { inner } else { Err(self.wrong("a closing bracket", self.rest)) };
        }
        if self.take('{') {
            let end = self.rest.find('}').ok_or_else(|| self.wrong("a place such as {1}", self.rest))?;
            let place = self.rest[..end].trim().parse::<usize>().ok().and_then(|place| place.checked_sub(1));
            let value = place.and_then(|place| self.values.get(place)).copied();
            let found = value.ok_or_else(|| self.wrong("the number of a value", &self.rest[..end]));
            self.rest = self.rest[end + 1..].trim_start();
            return found;
        }
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let number = Decimal::parse(&self.rest[..end]);
        let number =
            number.ok_or_else(|| self.wrong("a number, a place such as {1} or a bracket", self.rest));
        self.rest = self.rest[end..].trim_start();
        number
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Wrong::Formula(format!(
                "expected at most {MAX_NESTING} brackets inside one another"
            )));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }
}

/// Joins two results: what is wrong with the formula goes before what is wrong with its values.
fn join(
    left: Result<Decimal, Wrong>,
    right: Result<Decimal, Wrong>,
    with: impl FnOnce(Decimal, Decimal) -> Result<Decimal, Wrong>,
) -> Result<Decimal, Wrong> {
    match (left, right) {
        (Ok(left), Ok(right)) => with(left, right),
        (Err(Wrong::Formula(problem)), _) | (_, Err(Wrong::Formula(problem))) => Err(Wrong::Formula(problem)),
        (Err(wrong), _) | (_, Err(wrong)) => Err(wrong),
    }
}
