//! What tools share: reading their input, keeping their output within bounds.

/// The contract that is shipped for a tool of this folder.
pub fn shipped(name: &str) -> crate::contract::ToolContract {
    crate::agents::tool(name).expect("agents/tools.toml holds a contract for every tool in tool/")
}

/// The call's text without the blanks around it.
pub fn words<'a>(
    call: &crate::ports::ToolCall<'a>,
    wanted: &str,
) -> Result<&'a str, crate::ports::ToolError> {
    let text = call.text()?.trim();
    if text.is_empty() {
        return Err(crate::ports::ToolError::new("input", format!("expected {wanted}, found an empty text")));
    }
    Ok(text)
}

/// The first `most` characters.
pub fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// The results as compact JSON, without the last ones where all of them would be too long.
pub fn json_within<T: serde::Serialize>(results: &mut Vec<T>, most_bytes: usize) -> String {
    loop {
        let json = serde_json::to_string(results).expect("records of texts are JSON");
        if json.len() <= most_bytes || results.is_empty() {
            return json;
        }
        results.pop();
    }
}

/// The sources without those that were there before, in their order.
pub fn each_once(sources: Vec<crate::contract::Source>) -> Vec<crate::contract::Source> {
    let mut different = Vec::with_capacity(sources.len());
    for source in sources {
        if !different.contains(&source) {
            different.push(source);
        }
    }
    different
}
