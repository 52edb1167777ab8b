//! Plain arithmetic on floating-point numbers, for what is too large to do exactly.
//!
//! `(1+1/1000)^1000` is an everyday number whose exact form fills a page. Here each value carries a
//! bound of its error, and no digit is shown that the bound does not vouch for.

/// Most digits that are shown.
const MOST_DIGITS: i32 = 12;
/// With fewer sure digits there is no answer.
const FEWEST_DIGITS: i32 = 4;

/// The value of numbers, `+ - * / ^ %` and brackets as `approx. 2.716923932`; nothing where the
/// expression holds anything else, the value is too large, or its digits would be guesses.
pub(super) fn approximate(expression: &str) -> Option<String> {
    let mut reader = Reader { rest: expression.trim() };
    let value = reader.sum()?;
    reader.rest.is_empty().then(|| show(value))?
}

/// A number and how far from the truth it may be.
#[derive(Clone, Copy)]
struct Approximate {
    value: f64,
    error: f64,
}

impl Approximate {
    fn rounded(value: f64, error: f64) -> Self {
        Approximate { value, error: error + value.abs() * 2.0 * f64::EPSILON }
    }

    fn plus(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.error + other.error)
    }

    fn times(self, other: Self) -> Self {
        let error =
            self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        Self::rounded(self.value * other.value, error)
    }

    fn inverse(self) -> Self {
        let least = self.value.abs() - self.error;
        let error = if least > 0.0 { self.error / (least * self.value.abs()) } else { f64::INFINITY };
        Self::rounded(1.0 / self.value, error)
    }

    fn minus(self) -> Self {
        Approximate { value: -self.value, error: self.error }
    }

    fn power(self, exponent: Self) -> Option<Self> {
        if self.value <= self.error {
            return None;
        }
        let value = self.value.powf(exponent.value);
        let base = exponent.value.abs() * self.error / (self.value - self.error);
        Some(Self::rounded(value, value.abs() * (base + self.value.ln().abs() * exponent.error) * 2.0))
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn sum(&mut self) -> Option<Approximate> {
        let mut sum = self.product()?;
        loop {
            if self.takes("+") {
                sum = sum.plus(self.product()?);
            } else if self.takes("-") {
                sum = sum.plus(self.product()?.minus());
            } else {
                return Some(sum);
            }
        }
    }

    fn product(&mut self) -> Option<Approximate> {
        let mut product = self.signed()?;
        loop {
            if self.rest.starts_with("**") {
                return None;
            } else if self.takes("*") {
                product = product.times(self.signed()?);
            } else if self.takes("/") {
                product = product.times(self.signed()?.inverse());
            } else {
                return Some(product);
            }
        }
    }

    fn signed(&mut self) -> Option<Approximate> {
        if self.takes("-") {
            return Some(self.signed()?.minus());
        }
        let base = self.atom()?;
        if self.takes("^") || self.takes("**") {
            return base.power(self.signed()?);
        }
        Some(base)
    }

    fn atom(&mut self) -> Option<Approximate> {
        if self.takes("(") {
            let inner = self.sum()?;
            return self.takes(")").then_some(inner);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let value: f64 = self.rest[..end].parse().ok()?;
        self.rest = self.rest[end..].trim_start();
        let number = Approximate::rounded(value, 0.0);
        // A percent sign before a number could be a remainder.
        if self.takes("%") {
            let follows = self.rest.starts_with(|c: char| c.is_alphanumeric() || c == '(');
            return (!follows).then(|| number.times(Approximate::rounded(0.01, 0.0)));
        }
        Some(number)
    }
}

fn show(Approximate { value, error }: Approximate) -> Option<String> {
    if !value.is_finite() || !error.is_finite() || value == 0.0 {
        return None;
    }
    // Digits that the error leaves alone, one less for the rounding of the last.
    let sure = ((value.abs() / error).log10().floor() as i32 - 1).min(MOST_DIGITS);
    if sure < FEWEST_DIGITS {
        return None;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let text = if (-6..sure).contains(&magnitude) {
        let text = format!("{value:.*}", (sure - 1 - magnitude).max(0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.*e}", (sure - 1) as usize)
    };
    Some(format!("approx. {text}"))
}
