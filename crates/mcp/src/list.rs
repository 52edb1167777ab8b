//! What a server lists. A list belongs to the connection that it came over.

use std::sync::Arc;
use std::time::Duration;

use planwright::ports::{ToolError, ToolErrorKind};
use planwright::spec::{McpHints, McpTool};
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use serde_json::Value;

use crate::connection::Connection;

/// The longest time of one page.
const TIME: Duration = Duration::from_secs(30);
/// Most pages of a list of tools, and most tools on all of them.
const MOST_PAGES: usize = 50;
const MOST_TOOLS: usize = 1_000;

/// What the server at the other end lists. It is asked again after a minute, and once it says that its tools have
/// changed.
///
/// # Errors
/// Where it cannot be asked, or its list is too long or holds a key. Nothing was called then.
pub(crate) fn list_tools(
    connection: &Connection,
    stop: &dyn Fn() -> bool,
) -> Result<Arc<Vec<McpTool>>, ToolError> {
    if let Some(listed) = connection.known_list() {
        return Ok(listed);
    }
    let changes = connection.count_changes();
    let listed = Arc::new(ask_pages(connection, stop).map_err(ToolError::did_not_happen)?);
    connection.keep_list(&listed, changes);
    Ok(listed)
}

fn ask_pages(connection: &Connection, stop: &dyn Fn() -> bool) -> Result<Vec<McpTool>, ToolError> {
    let refuse = |problem: String| Err(ToolError::new(ToolErrorKind::Response, problem));
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let page = ListToolsRequest::with_param(PaginatedRequestParams::default().with_cursor(cursor));
        let answer = connection.ask(ClientRequest::ListToolsRequest(page), TIME, stop)?;
        let ServerResult::ListToolsResult(page) = answer else {
            return refuse("expected a list of tools from the server, found another answer".to_owned());
        };
        for tool in page.tools.into_iter().map(read_tool) {
            // It would stand in the file of pins, and on the screen.
            if connection.log().finds_key(&serde_json::to_string(&tool).unwrap_or_default()) {
                let name = connection.log().clean(&tool.name);
                return refuse(format!("the server's tool {name:?} holds a key that is configured here"));
            }
            tools.push(tool);
        }
        cursor = page.next_cursor;
        if tools.len() > MOST_TOOLS {
            return refuse(format!("expected at most {MOST_TOOLS} tools, found more"));
        }
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    refuse(format!("expected a list of tools on at most {MOST_PAGES} pages, found more"))
}

fn read_tool(tool: rmcp::model::Tool) -> McpTool {
    let said = tool.annotations.unwrap_or_default();
    McpTool {
        name: tool.name.into_owned(),
        description: tool.description.or(tool.title.map(Into::into)).unwrap_or_default().into_owned(),
        input_schema: Value::Object((*tool.input_schema).clone()),
        output_schema: tool.output_schema.map(|schema| Value::Object((*schema).clone())),
        annotations: McpHints {
            read_only_hint: said.read_only_hint,
            destructive_hint: said.destructive_hint,
            idempotent_hint: said.idempotent_hint,
            open_world_hint: said.open_world_hint,
        },
    }
}
