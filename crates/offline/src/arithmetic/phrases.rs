//! Calculations as they are spoken: conversions, roots, powers, percentages and the like, in
//! English and Korean. Each rule is one shape of tokens.

use super::lex::{Kind, Token};
use super::units::{self, Quantity, Unit};

/// An expression, and how many tokens it takes.
pub(super) type Spoken = Option<(String, usize)>;

/// Most tokens that say nothing between the halves of a phrase.
const MAX_FILLERS: usize = 6;

/// The phrase that begins at the first of these tokens.
pub(super) fn read(tokens: &[Token<'_>]) -> Spoken {
    [convert, asked_first, possessive, combined, result_of, share].iter().find_map(|rule| rule(tokens))
}

fn kind(tokens: &[Token<'_>], at: usize) -> Option<Kind> {
    tokens.get(at).map(|token| token.kind)
}

fn number(tokens: &[Token<'_>], at: usize) -> Option<String> {
    (kind(tokens, at)? == Kind::Number).then(|| tokens[at].text.replace(',', ""))
}

/// Skips tokens that `skip` takes, from `at`.
fn past(tokens: &[Token<'_>], at: usize, skip: impl Fn(Kind) -> bool) -> usize {
    let fillers = tokens[at.min(tokens.len())..].iter().take(MAX_FILLERS);
    at + fillers.take_while(|token| skip(token.kind)).count()
}

fn is_filler(kind: Kind) -> bool {
    matches!(kind, Kind::Filler | Kind::Particle | Kind::Equals | Kind::Cue)
}

/// A value with its unit: `5 km`, `1/2 cup`, `30 degrees celsius`, 섭씨 30도.
fn quantity(tokens: &[Token<'_>]) -> Option<(String, &'static Unit, usize)> {
    if let (Some(Kind::Unit(scale)), Some(value)) = (kind(tokens, 0), number(tokens, 1))
        && scale.quantity == Quantity::Temperature
    {
        let len = past(tokens, 2, |kind| kind == Kind::Degree);
        return Some((value, scale, len));
    }
    let mut value = match kind(tokens, 0)? {
        Kind::Sign('-') if !tokens.get(1)?.spaced => format!("-{}", number(tokens, 1)?),
        _ => number(tokens, 0)?,
    };
    let mut at = if value.starts_with('-') { 2 } else { 1 };
    if let (Some(Kind::Sign('/')), Some(below)) = (kind(tokens, at), number(tokens, at + 1)) {
        value = format!("{value}/{below}");
        at += 2;
    }
    let at = past(tokens, at, |kind| kind == Kind::Degree);
    match kind(tokens, at)? {
        Kind::Unit(unit) => Some((value, unit, at + 1)),
        // `5 in to cm`
        Kind::Into if tokens[at].text == "in" && kind(tokens, at + 1) == Some(Kind::Into) => {
            Some((value, units::named("inches")?, at + 1))
        }
        _ => None,
    }
}

fn conversion(value: &str, from: &Unit, to: &Unit) -> Option<String> {
    let fits = from.quantity == to.quantity && from != to;
    fits.then(|| format!("{value} {} in {}", from.name, to.name))
}

/// `5 km in miles`, 5킬로미터는 몇 마일, 5km를 마일로.
fn convert(tokens: &[Token<'_>]) -> Spoken {
    let (value, from, at) = quantity(tokens)?;
    let at = past(tokens, at, is_filler);
    let asks = |kind| matches!(kind, Kind::Into | Kind::HowMany | Kind::Degree) || is_filler(kind);
    let target = past(tokens, at, asks);
    let Some(Kind::Unit(to)) = kind(tokens, target) else { return None };
    // Between the two there must be a word that asks: `3 hours 20 minutes` has none.
    let asked = tokens[at..target].iter().any(|token| matches!(token.kind, Kind::Into | Kind::HowMany));
    let into = kind(tokens, target + 1) == Some(Kind::Into);
    let end = past(tokens, target + 1, |kind| {
        into && matches!(kind, Kind::Into | Kind::HowMany | Kind::Degree)
            || to.quantity == Quantity::Temperature && matches!(kind, Kind::HowMany | Kind::Degree)
    });
    let asked = asked || into || end > target + 1;
    if !asked {
        return None;
    }
    Some((conversion(&value, from, to)?, end))
}

/// `how many miles is 5 km`, `how many feet are in a mile`.
fn asked_first(tokens: &[Token<'_>]) -> Spoken {
    if kind(tokens, 0)? != Kind::HowMany {
        return None;
    }
    let Some(Kind::Unit(to)) = kind(tokens, 1) else { return None };
    let at = past(tokens, 2, |kind| is_filler(kind) || kind == Kind::Into);
    let (value, from, len) = match (kind(tokens, at), kind(tokens, at + 1)) {
        (Some(Kind::One), Some(Kind::Unit(from))) => ("1".to_owned(), from, 2),
        _ => quantity(&tokens[at.min(tokens.len())..])?,
    };
    Some((conversion(&value, from, to)?, at + len))
}

/// 2의 10제곱, 9의 제곱근, 80의 15%, 20은 80의 몇 퍼센트.
fn possessive(tokens: &[Token<'_>]) -> Spoken {
    let first = number(tokens, 0)?;
    let whole = match kind(tokens, 1)? {
        Kind::Possessive => 2,
        Kind::Raised(exponent) => return Some((format!("{first}^{exponent}"), 2)),
        Kind::Filler | Kind::Particle => {
            let whole = number(tokens, 2)?;
            let asks = [kind(tokens, 3)?, kind(tokens, 4)?, kind(tokens, 5)?];
            let fits = asks == [Kind::Possessive, Kind::HowMany, Kind::Percent];
            return fits.then(|| (format!("{first}/{whole} in %"), 6));
        }
        _ => return None,
    };
    match (kind(tokens, whole)?, kind(tokens, whole + 1)) {
        (Kind::Raised(exponent), _) => Some((format!("{first}^{exponent}"), 3)),
        (Kind::RootOf, _) => Some((format!("sqrt({first})"), 3)),
        (Kind::Number, Some(Kind::Raised(2))) => Some((format!("{first}^{}", number(tokens, 2)?), 4)),
        (Kind::Number, Some(Kind::Percent)) => Some((format!("{}% of {first}", number(tokens, 2)?), 4)),
        _ => None,
    }
}

/// 3에 4를 더하면, 3과 4의 합.
fn combined(tokens: &[Token<'_>]) -> Spoken {
    let first = number(tokens, 0)?;
    if kind(tokens, 1)? != Kind::Particle {
        return None;
    }
    let second = number(tokens, 2)?;
    let at = past(tokens, 3, |kind| matches!(kind, Kind::Particle | Kind::Possessive | Kind::Into));
    match kind(tokens, at)? {
        Kind::Combine(sign) | Kind::Result(sign) => Some((format!("{first} {sign} {second}"), at + 1)),
        _ => None,
    }
}

/// `the sum of 3 and 4`, `the difference between 10 and 3`.
fn result_of(tokens: &[Token<'_>]) -> Spoken {
    let Kind::Result(sign) = kind(tokens, 0)? else { return None };
    if !matches!(kind(tokens, 1)?, Kind::Of | Kind::Filler) || kind(tokens, 3)? != Kind::And {
        return None;
    }
    Some((format!("{} {sign} {}", number(tokens, 2)?, number(tokens, 4)?), 5))
}

/// `percent of 80 is 20`, `20 is what percent of 80`.
fn share(tokens: &[Token<'_>]) -> Spoken {
    if kind(tokens, 0)? == Kind::Percent && kind(tokens, 1)? == Kind::Of {
        let whole = number(tokens, 2)?;
        let at = past(tokens, 3, is_filler);
        return Some((format!("{}/{whole} in %", number(tokens, at)?), at + 1));
    }
    let part = number(tokens, 0)?;
    let at = past(tokens, 1, is_filler);
    let fits = at > 1 && kind(tokens, at)? == Kind::Percent && kind(tokens, at + 1)? == Kind::Of;
    let whole = number(tokens, at + 2)?;
    fits.then(|| (format!("{part}/{whole} in %"), at + 3))
}
