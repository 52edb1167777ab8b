//! Plain arithmetic on floating-point numbers, for what is too large to do exactly.
//!
//! `(1+1/1000)^1000` is an everyday number whose exact form fills a page. Here each value carries a
//! bound of its error, and no digit is shown that the bound does not vouch for.

const MOST_DIGITS: i32 = 12;
/// With fewer sure digits there is no answer.
const FEWEST_DIGITS: i32 = 4;

/// The value as `approx. 2.716923932`; nothing if that is more than plain arithmetic, or a guess.
pub(super) fn approximate(expression: &str) -> Option<String> {
    let expression = expression.replace("**", "^");
    let mut rest = expression.trim();
    let value = parse_operations(&mut rest, &["+-", "*/"])?;
    rest.is_empty().then(|| show(value))?
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
    fn apply(self, sign: char, Approximate { value: other, error: its }: Self) -> Option<Self> {
        let Approximate { value, error } = self;
        Some(match sign {
            '+' => round(value + other, error + its),
            '-' => round(value - other, error + its),
            '*' => round(value * other, value.abs() * its + other.abs() * error + error * its),
            '/' => {
                let least = other.abs() - its;
                let its = if least > 0.0 { its / (least * other.abs()) } else { f64::INFINITY };
                self.apply('*', round(1.0 / other, its))?
            }
            // A power.
            _ if value > error => {
                let relative = other.abs() * error / (value - error) + value.ln().abs() * its;
                round(value.powf(other), value.powf(other).abs() * relative * 2.0)
            }
            _ => return None,
        })
    }
}

/// Takes one of these signs off the rest.
fn take_sign(rest: &mut &str, signs: &str) -> Option<char> {
    let sign = rest.chars().next().filter(|sign| signs.contains(*sign))?;
    *rest = rest[1..].trim_start();
    Some(sign)
}

/// Parses operations that are done from left to right, the loosest signs first.
fn parse_operations(rest: &mut &str, signs: &[&str]) -> Option<Approximate> {
    let Some((loosest, tighter)) = signs.split_first() else { return parse_power(rest) };
    let mut value = parse_operations(rest, tighter)?;
    while let Some(sign) = take_sign(rest, loosest) {
        value = value.apply(sign, parse_operations(rest, tighter)?)?;
    }
    Some(value)
}

fn parse_power(rest: &mut &str) -> Option<Approximate> {
    if take_sign(rest, "-").is_some() {
        let Approximate { value, error } = parse_power(rest)?;
        return Some(Approximate { value: -value, error });
    }
    let base = parse_atom(rest)?;
    take_sign(rest, "^").map_or(Some(base), |sign| base.apply(sign, parse_power(rest)?))
}

fn parse_atom(rest: &mut &str) -> Option<Approximate> {
    if take_sign(rest, "(").is_some() {
        let inner = parse_operations(rest, &["+-", "*/"])?;
        return take_sign(rest, ")").map(|_| inner);
    }
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let number = round(rest[..end].parse().ok()?, 0.0);
    *rest = rest[end..].trim_start();
    // A percent sign before a number could be a remainder.
    let percent = take_sign(rest, "%").map(|_| rest.starts_with(|c: char| c.is_alphanumeric() || c == '('));
    percent.map_or(Some(number), |follows| number.apply('*', round(0.01, 0.0)).filter(|_| !follows))
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
