//! What the tools answer: a JSON object that says whose contract it is from, with the parts that were
//! found. It fits the call's output; long texts are cut alike, and the note says which.

use serde::Serialize;

use super::Article;
use super::shelf::{Shelf, Whose};
use planwright::contract::Source;
use planwright::ports::{ToolOutput, first_chars};

/// An answer as models read it, its fields in this order.
#[derive(Serialize)]
struct Answer<'a> {
    contract: &'static str,
    document: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    articles: Vec<Record<'a>>,
}

#[derive(Serialize)]
struct Record<'a> {
    part: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    chapter: Option<&'a str>,
    text: &'a str,
}

/// The answer that holds these parts of a contract, with its sources.
///
/// A source of the standard contract has no `part`: parts are what has been read of the run's outline,
/// and that is the user's contract's.
pub(super) fn answer(shelf: &Shelf, found: &[usize], notes: &[String], most_bytes: usize) -> ToolOutput {
    let mut parts: Vec<&Article> = found.iter().filter_map(|at| shelf.articles.parts().get(*at)).collect();
    let render = |parts: &[&Article], most_chars: usize| {
        let texts: Vec<&str> = parts.iter().map(|part| first_chars(part.text(), most_chars)).collect();
        let shorter = parts.iter().zip(&texts).filter(|(part, text)| text.len() < part.text().len());
        let cut: Vec<String> = shorter.map(|(part, _)| part.part()).collect();
        let notes = with_cuts(notes, &cut, found.len() - parts.len());
        let articles = parts.iter().zip(texts);
        let articles = articles
            .map(|(part, text)| Record { part: part.part(), chapter: part.chapter(), text })
            .collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let (contract, document) = (shelf.whose.as_str(), shelf.articles.name());
        serde_json::to_string(&Answer { contract, document, note, articles })
            .expect("records of texts are JSON")
    };
    let mut text = render(&parts, usize::MAX);
    // Half of the room is for texts.
    while text.len() > most_bytes && parts.len() > 1 && render(&parts, 0).len() > most_bytes / 2 {
        parts.pop();
        text = render(&parts, usize::MAX);
    }
    if text.len() > most_bytes {
        // The longest beginnings that fit: a character is a byte or more.
        let (mut fits, mut exceeds) = (0, most_bytes);
        while fits + 1 < exceeds {
            let middle = fits.midpoint(exceeds);
            match render(&parts, middle).len() <= most_bytes {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        text = render(&parts, fits);
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
