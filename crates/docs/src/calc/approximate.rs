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
    let expression = expression.replace("**", "^");
    let mut parser = Parser { rest: expression.trim() };
    let value = parser.parse_sum()?;
    parser.rest.is_empty().then(|| show(value))?
}

/// A number and how far from the truth it may be.
#[derive(Clone, Copy)]
struct Approximate {
    value: f64,
    error: f64,
}

/// A value with an error, and that of its own rounding.
fn round(value: f64, error: f64) -> Approximate {
    Approximate { value, error: error + value.abs() * 2.0 * f64::EPSILON }
}

impl Approximate {
    fn plus(self, other: Self) -> Self {
        round(self.value + other.value, self.error + other.error)
    }

    fn times(self, other: Self) -> Self {
        let error =
            self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        round(self.value * other.value, error)
    }

    fn inverse(self) -> Self {
        let least = self.value.abs() - self.error;
        let error = if least > 0.0 { self.error / (least * self.value.abs()) } else { f64::INFINITY };
        round(1.0 / self.value, error)
    }

    fn minus(self) -> Self {
        Approximate { value: -self.value, error: self.error }
    }

    fn power(self, exponent: Self) -> Option<Self> {
        let value = self.value.powf(exponent.value);
        let base = exponent.value.abs() * self.error / (self.value - self.error);
        let error = value.abs() * (base + self.value.ln().abs() * exponent.error) * 2.0;
        (self.value > self.error).then(|| round(value, error))
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    /// Takes one of these signs off the rest.
    fn take(&mut self, signs: &str) -> Option<char> {
        let sign = self.rest.chars().next().filter(|sign| signs.contains(*sign))?;
        self.rest = self.rest[1..].trim_start();
        Some(sign)
    }

    fn parse_sum(&mut self) -> Option<Approximate> {
        let mut sum = self.parse_product()?;
        while let Some(sign) = self.take("+-") {
            let next = self.parse_product()?;
            sum = sum.plus(if sign == '-' { next.minus() } else { next });
        }
        Some(sum)
    }

    fn parse_product(&mut self) -> Option<Approximate> {
        let mut product = self.parse_power()?;
        while let Some(sign) = self.take("*/") {
            let next = self.parse_power()?;
            product = product.times(if sign == '/' { next.inverse() } else { next });
        }
        Some(product)
    }

    fn parse_power(&mut self) -> Option<Approximate> {
        if self.take("-").is_some() {
            return Some(self.parse_power()?.minus());
        }
        let base = self.parse_atom()?;
        if self.take("^").is_some() { base.power(self.parse_power()?) } else { Some(base) }
    }

    fn parse_atom(&mut self) -> Option<Approximate> {
        if self.take("(").is_some() {
            let inner = self.parse_sum()?;
            return self.take(")").map(|_| inner);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let number = round(self.rest[..end].parse().ok()?, 0.0);
        self.rest = self.rest[end..].trim_start();
        // A percent sign before a number could be a remainder.
        if self.take("%").is_some() {
            let follows = self.rest.starts_with(|c: char| c.is_alphanumeric() || c == '(');
            return (!follows).then(|| number.times(round(0.01, 0.0)));
        }
        Some(number)
    }
}

fn show(Approximate { value, error }: Approximate) -> Option<String> {
    if !value.is_finite() || !error.is_finite() || error >= value.abs() {
        return None;
    }
    // Digits that the error leaves alone, one less for the rounding of the last.
    let sure = ((value.abs() / error).log10().floor() as i32 - 1).min(MOST_DIGITS);
    if sure < FEWEST_DIGITS {
        return None;
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-6..sure).contains(&magnitude) {
        return Some(format!("approx. {value:.*e}", (sure - 1) as usize));
    }
    let text = format!("{value:.*}", (sure - 1 - magnitude).max(0) as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    Some(format!("approx. {text}"))
}
