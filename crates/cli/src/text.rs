//! Text for terminals: measured in columns, cut between characters, with nothing in it that a terminal acts on.
//! Text of a model, a tool or a file goes through [`clean`] or [`line`] before it is shown.

use unicode_width::UnicodeWidthStr;

use planwright::contract::sanitize;

/// How many columns a text takes. Korean, Chinese and Japanese characters take two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text as it can be read; line ends and tabs are kept.
pub fn clean(text: &str) -> String {
    sanitize(text).into_owned()
}

/// The text on one line: runs of blanks and line ends become one blank.
pub fn line(text: &str) -> String {
    text.split_whitespace().map(sanitize).collect::<Vec<_>>().join(" ")
}

/// The text in at most `most` columns, with `…` where it is cut off.
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    // A sequence (an emoji with a modifier) may be wider or narrower than its characters.
    let mut out: String = text.chars().take(most.saturating_mul(8)).collect();
    while width(&out) + 1 > most && out.pop().is_some() {}
    if most > 0 { out + "…" } else { out }
}

pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Rows under a head as lines with aligned columns; see [`align`].
pub fn table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    most: Option<usize>,
) -> Vec<String> {
    align(std::iter::once(head.map(str::to_owned)).chain(rows).collect(), most)
}

/// Rows as lines with aligned columns, two blanks apart. Each line takes at most `most` columns, at the cost of the
/// last cell.
pub fn align<const N: usize>(rows: Vec<[String; N]>, most: Option<usize>) -> Vec<String> {
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(widest).collect();
    let render = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| pad(cell, *width)).collect();
        let line = cells.join("  ").trim_end().to_owned();
        most.map_or(line.clone(), |most| cut(&line, most))
    };
    rows.iter().map(render).collect()
}

/// So many of a thing: `1 call`, `2 calls`.
pub fn count(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// How long ago, or how long, in the largest unit that fits: `3d`, `2h`, `5m`, `40s`.
pub fn span(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

pub fn time(milliseconds: u64) -> String {
    let timestamp = || jiff::Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok();
    let local = timestamp().map(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    local.map_or_else(String::new, |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}
