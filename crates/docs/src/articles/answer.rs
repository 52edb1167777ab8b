//! What the tools answer: a JSON object that says whose contract it is from, with the parts that were
//! found. It fits the call's output; long texts are cut alike, and the note says which.

use serde::Serialize;

use super::Article;
use super::shelf::{Shelf, Whose};
use planwright::contract::Source;
use planwright::ports::ToolOutput;

/// An answer as it is written, its fields in this order.
#[derive(Serialize)]
struct Written<'a> {
    contract: &'static str,
    document: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    articles: Vec<WrittenPart<'a>>,
}

#[derive(Serialize)]
struct WrittenPart<'a> {
    part: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    chapter: Option<&'a str>,
    text: &'a str,
}

/// What a text costs in JSON besides its quotation marks.
fn cost(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

/// The most of one text for which all texts together, each cut to it, take no more than the room.
fn level(costs: &[usize], room: usize) -> usize {
    let mut costs = costs.to_vec();
    costs.sort_unstable();
    let mut left = room;
    for (at, cost) in costs.iter().enumerate() {
        let share = left / (costs.len() - at);
        if *cost > share {
            return share;
        }
        left -= cost;
    }
    usize::MAX
}

/// The beginning of a text that costs no more than this.
fn beginning(text: &str, most: usize) -> &str {
    let mut spent = 0;
    for (at, c) in text.char_indices() {
        spent += cost(c);
        if spent > most {
            return &text[..at];
        }
    }
    text
}

/// The answer that holds these parts of a contract, with its sources.
///
/// A source of the standard contract has no `part`: parts are what has been read of the run's outline,
/// and that is the user's contract's.
pub(super) fn answer(shelf: &Shelf, found: &[usize], notes: Vec<String>, most_bytes: usize) -> ToolOutput {
    let mut parts: Vec<&Article> = found.iter().filter_map(|at| shelf.articles.parts().get(*at)).collect();
    let written = |parts: &[&Article], most: usize, notes: &[String]| {
        let articles = parts.iter().map(|part| WrittenPart {
            part: part.part(),
            chapter: part.chapter(),
            text: beginning(part.text(), most),
        });
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let (contract, document) = (shelf.whose.named(), shelf.articles.name());
        serde_json::to_string(&Written { contract, document, note, articles: articles.collect() })
            .expect("records of texts are JSON")
    };
    let mut text = written(&parts, usize::MAX, &notes);
    while text.len() > most_bytes && !parts.is_empty() {
        // Without a text, and with the longest note there may be.
        let all: Vec<String> = parts.iter().map(|part| part.part()).collect();
        let left_out = found.len() - parts.len();
        let frame = written(&parts, 0, &with_cuts(&notes, &all, left_out)).len();
        if frame > most_bytes / 2 && parts.len() > 1 {
            parts.pop();
            continue;
        }
        let costs: Vec<usize> = parts.iter().map(|part| part.text().chars().map(cost).sum()).collect();
        let level = level(&costs, most_bytes.saturating_sub(frame));
        let cut: Vec<String> = parts
            .iter()
            .zip(&costs)
            .filter(|(_, cost)| **cost > level)
            .map(|(part, _)| part.part())
            .collect();
        text = written(&parts, level, &with_cuts(&notes, &cut, left_out));
        break;
    }
    let sources = parts.iter().map(|part| Source {
        title: part.part(),
        document: Some(shelf.articles.name().to_owned()),
        part: (shelf.whose == Whose::User).then(|| part.part()),
        url: None,
    });
    ToolOutput::from_sources(text, sources.collect())
}

/// The notes and what was cut or left out for want of room.
fn with_cuts(notes: &[String], cut: &[String], left_out: usize) -> Vec<String> {
    let mut notes = notes.to_vec();
    if !cut.is_empty() {
        notes.push(format!("cut, only the beginning is shown: {}", cut.join(", ")));
    }
    if left_out > 0 {
        notes.push(format!("left out for want of room: {left_out} more"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_alike_and_short_ones_stay_whole() {
        assert_eq!(level(&[10, 500, 700], 210), 100);
        assert_eq!(level(&[10, 20], 30), usize::MAX);
        assert_eq!(level(&[10, 20], 0), 0);
        assert_eq!(level(&[], 0), usize::MAX);
    }

    #[test]
    fn a_text_costs_what_json_makes_of_it() {
        for text in ["plain", "한글 \"인용\" \\", "a\nb\tc\r\u{1}\u{7f}\u{8}\u{c}"] {
            let cost: usize = text.chars().map(cost).sum();
            assert_eq!(cost + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
        assert_eq!(beginning("가나\n다", 8), "가나\n");
        assert_eq!(beginning("가나", 5), "가");
    }
}
