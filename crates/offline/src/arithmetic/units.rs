//! Units of measure: how people name them and how `calc` does.

/// What a unit measures. Only units of the same quantity convert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Length,
    Area,
    Mass,
    Volume,
    Time,
    Speed,
    Data,
    Temperature,
}

/// One unit.
#[derive(Debug, PartialEq)]
pub(super) struct Unit {
    /// The name that `calc` reads.
    pub name: &'static str,
    pub quantity: Quantity,
    /// The names in a question.
    spoken: &'static [&'static str],
}

const fn unit(name: &'static str, quantity: Quantity, spoken: &'static [&'static str]) -> Unit {
    Unit { name, quantity, spoken }
}

use Quantity::{Area, Data, Length, Mass, Speed, Temperature, Time, Volume};

static UNITS: &[Unit] = &[
    unit("km", Length, &["km", "kms", "kilometer", "kilometers", "kilometre", "kilometres", "킬로미터"]),
    unit("m", Length, &["m", "meter", "meters", "metre", "metres", "미터"]),
    unit("cm", Length, &["cm", "centimeter", "centimeters", "centimetre", "centimetres", "센티미터", "센티"]),
    unit("mm", Length, &["mm", "millimeter", "millimeters", "millimetre", "millimetres", "밀리미터"]),
    unit("miles", Length, &["mile", "miles", "마일"]),
    unit("yards", Length, &["yd", "yard", "yards", "야드"]),
    unit("feet", Length, &["ft", "foot", "feet", "피트"]),
    unit("inches", Length, &["inch", "inches", "인치"]),
    unit("hectares", Area, &["ha", "hectare", "hectares", "헥타르"]),
    unit("acres", Area, &["acre", "acres", "에이커"]),
    unit("m^2", Area, &["제곱미터", "평방미터", "m²"]),
    unit("km^2", Area, &["제곱킬로미터", "km²"]),
    unit("kg", Mass, &["kg", "kgs", "kilo", "kilos", "kilogram", "kilograms", "킬로그램", "킬로"]),
    unit("g", Mass, &["g", "gram", "grams", "그램"]),
    unit("mg", Mass, &["mg", "milligram", "milligrams", "밀리그램"]),
    unit("pounds", Mass, &["lb", "lbs", "pound", "pounds", "파운드"]),
    unit("ounces", Mass, &["oz", "ounce", "ounces", "온스"]),
    unit("tonnes", Mass, &["tonne", "tonnes", "톤"]),
    unit("liters", Volume, &["l", "L", "liter", "liters", "litre", "litres", "리터"]),
    unit("ml", Volume, &["ml", "mL", "milliliter", "milliliters", "millilitre", "millilitres", "밀리리터"]),
    unit("gallons", Volume, &["gal", "gallon", "gallons", "갤런"]),
    unit("cups", Volume, &["cup", "cups"]),
    unit("pints", Volume, &["pint", "pints"]),
    unit("ms", Time, &["ms", "millisecond", "milliseconds", "밀리초"]),
    unit("seconds", Time, &["s", "sec", "secs", "second", "seconds", "초"]),
    unit("minutes", Time, &["min", "mins", "minute", "minutes", "분"]),
    unit("hours", Time, &["h", "hr", "hrs", "hour", "hours", "시간"]),
    unit("days", Time, &["day", "days", "일"]),
    unit("weeks", Time, &["week", "weeks", "주"]),
    unit("years", Time, &["year", "years", "년"]),
    unit("km/h", Speed, &["km/h", "kmh", "kph"]),
    unit("mph", Speed, &["mph", "miles/hour"]),
    unit("m/s", Speed, &["m/s"]),
    unit("bits", Data, &["bit", "bits", "비트"]),
    unit("bytes", Data, &["B", "byte", "bytes", "바이트"]),
    unit("KB", Data, &["kB", "KB", "kilobyte", "kilobytes", "킬로바이트"]),
    unit("MB", Data, &["MB", "megabyte", "megabytes", "메가바이트"]),
    unit("GB", Data, &["GB", "gigabyte", "gigabytes", "기가바이트"]),
    unit("TB", Data, &["TB", "terabyte", "terabytes", "테라바이트"]),
    unit("celsius", Temperature, &["celsius", "centigrade", "°C", "섭씨"]),
    unit("fahrenheit", Temperature, &["fahrenheit", "°F", "화씨"]),
    unit("kelvin", Temperature, &["kelvin", "켈빈"]),
];

/// The unit of this name. Short names are told apart by case (`MB`), long ones are not.
pub(super) fn named(word: &str) -> Option<&'static Unit> {
    let find = |name: &str| UNITS.iter().find(|unit| unit.spoken.contains(&name));
    find(word).or_else(|| if word.len() > 2 { find(&word.to_lowercase()) } else { None })
}

/// The unit whose name begins a Hangul word, and what follows the name. The longest name wins.
pub(super) fn leading(word: &str) -> Option<(&'static Unit, &str)> {
    let names = UNITS.iter().flat_map(|unit| unit.spoken.iter().map(move |name| (unit, *name)));
    let fits = names.filter(|(_, name)| !name.is_ascii());
    let fits = fits.filter_map(|(unit, name)| Some((name.len(), unit, word.strip_prefix(name)?)));
    fits.max_by_key(|(len, ..)| *len).map(|(_, unit, rest)| (unit, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calc_reads_every_unit_and_converts_within_a_quantity() {
        for from in UNITS {
            for to in UNITS.iter().filter(|to| to.quantity == from.quantity) {
                let expression = format!("2 {} in {}", from.name, to.name);
                let result = fend_core::evaluate(&expression, &mut fend_core::Context::new());
                assert!(result.is_ok(), "{expression}: {result:?}");
            }
        }
    }

    #[test]
    fn no_name_means_two_units() {
        let mut names: Vec<&str> = UNITS.iter().flat_map(|unit| unit.spoken).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
