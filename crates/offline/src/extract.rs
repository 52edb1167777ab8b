//! Extracts: an answer of this model, read back as passages with the sources they were taken from.
//!
//! One agent's answer is another's material. Read back so, a sentence keeps its source however many
//! hands it goes through.

/// Headings of the list of sources.
const HEADINGS: [&str; 2] = ["Sources:", "출처:"];

/// The passages of an answer that ends in a list of sources: source and text. `None` for any other
/// text.
pub(super) fn read(output: &str) -> Option<Vec<(String, String)>> {
    let lines: Vec<&str> = output.lines().collect();
    let heading = lines.iter().rposition(|line| HEADINGS.contains(&line.trim()))?;
    let listed = lines[heading + 1..].iter().map_while(|line| numbered(line));
    let sources: Vec<(usize, &str)> = listed.collect();
    if sources.is_empty() {
        return None;
    }
    let mut passages = Vec::new();
    let mut block = String::new();
    for line in &lines[..heading] {
        let line = line.trim_end();
        match marked(line) {
            Some((text, number)) => {
                block.push_str(text);
                let source = sources.iter().find(|(known, _)| *known == number);
                let text = std::mem::take(&mut block);
                passages.extend(source.map(|(_, source)| ((*source).to_owned(), unmarked(&text))));
            }
            // What no number stands behind is the answer's own words.
            None if line.is_empty() && !is_code(&block) => block.clear(),
            None => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    (!passages.is_empty()).then_some(passages)
}

/// Whether the last line of a block is code, whose blocks may hold empty lines.
fn is_code(block: &str) -> bool {
    block.lines().next_back().is_some_and(|line| line.starts_with("    "))
}

/// `[1] source`
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, source) = line.trim().strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, source.trim())).filter(|(_, source)| !source.is_empty())
}

/// `text [1]`
fn marked(line: &str) -> Option<(&str, usize)> {
    let (text, number) = line.strip_suffix(']')?.rsplit_once('[')?;
    Some((text.trim_end(), number.parse().ok()?))
}

/// The gaps between sentences of one source are paragraphs again.
fn unmarked(text: &str) -> String {
    text.trim().replace(" … ", "\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_back_with_its_sources() {
        let answer = "One thing. … Another. [1]\n\n- an entry\n- more [2]\n\nNothing was found about \"x\".\n\nSources:\n[1] a.md#B\n[2] b.md";
        let expected = [("a.md#B", "One thing.\n\nAnother."), ("b.md", "- an entry\n- more")];
        let found = read(answer).unwrap_or_default();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(source, text)| (source.as_str(), text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn any_other_text_is_no_extract() {
        for text in ["", "Rain in Seoul.", "Sources:\nnone", "출처:\n[1] a.md", "text [1]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
