//! What a call returned, as text. Pictures and sounds are refused by name: nothing here reads them.

use planwright::contract::{Source, sanitize, sanitize_value};
use planwright::ports::{ToolError, ToolErrorKind, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// Most characters of a title or an address.
const MAX_NAME: usize = 500;

/// Reads a result. `once` is for a call that changed something: then what cannot be read is no failure.
pub(crate) fn read_result(result: CallToolResult, once: bool) -> Result<ToolOutput, ToolError> {
    let (mut texts, mut sources, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(sanitize(&text.text).into_owned()),
            ContentBlock::ResourceLink(link) => {
                let name = link.title.as_ref().unwrap_or(&link.name);
                let about =
                    link.description.as_deref().map_or_else(String::new, |about| format!(": {about}"));
                texts.push(sanitize(&format!("{name} <{}>{about}", link.uri)).into_owned());
                sources.push(source(name, &link.uri));
            }
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    texts.push(sanitize(&text).into_owned());
                    sources.push(source(&uri, &uri));
                }
                ResourceContents::BlobResourceContents { uri, mime_type, .. } => {
                    refused.push(format!("the bytes of {uri} ({})", mime_type.unwrap_or_default()));
                }
                _ => refused.push("a resource of another kind".to_owned()),
            },
            ContentBlock::Image(image) => refused.push(format!("an image ({})", image.mime_type)),
            ContentBlock::Audio(audio) => refused.push(format!("a sound ({})", audio.mime_type)),
            _ => refused.push("content of another kind".to_owned()),
        }
    }
    if texts.is_empty()
        && let Some(structured) = &result.structured_content
    {
        texts.push(sanitize(&structured.to_string()).into_owned());
    }
    let refused = sanitize(&refused.join(", ")).into_owned();
    if result.is_error == Some(true) {
        let said = if texts.is_empty() { "no reason".to_owned() } else { texts.join("\n") };
        return Err(ToolError::new(ToolErrorKind::Internal, format!("the tool failed: {said}")));
    }
    if texts.is_empty() && !refused.is_empty() && !once {
        return Err(ToolError::new(ToolErrorKind::Response, format!("expected text, found {refused}")));
    }
    if !refused.is_empty() {
        texts.push(format!("[left out, because only text is read: {refused}]"));
    }
    let data = result.structured_content.map(sanitize_value);
    Ok(ToolOutput { data, ..ToolOutput::from_sources(texts.join("\n"), sources) })
}

fn source(title: &str, uri: &str) -> Source {
    let short = |text: &str| sanitize(text).chars().take(MAX_NAME).collect::<String>();
    Source { title: short(title), url: Some(short(uri)), ..Source::default() }
}
