//! The names of tools as servers take them: without the dot of a qualified name (`files.read`). A spec refuses names
//! that would be one name then.

use std::borrow::Cow;
use std::sync::Arc;

use planwright::machine::ModelReply;
use planwright::prompt::{Message, ModelRequest};
use planwright::spec::RequestFrame;

/// The name of a tool as servers take it.
pub(super) fn plain(name: &str) -> String {
    name.replace('.', "_")
}

/// The request with the names of its tools as servers take them.
pub(super) fn with_plain_names(request: &ModelRequest) -> Cow<'_, ModelRequest> {
    let is_qualified = |name: &str| name.contains('.');
    if !request.frame.native_calls || !request.frame.tools.iter().any(|tool| is_qualified(&tool.name)) {
        return Cow::Borrowed(request);
    }
    let mut frame = (*request.frame).clone();
    frame.tools.iter_mut().for_each(|tool| tool.name = plain(&tool.name));
    let mut conversation = request.conversation.clone();
    for message in &mut conversation {
        match message {
            Message::Assistant { calls, .. } => {
                calls.iter_mut().for_each(|call| call.name = plain(&call.name));
            }
            Message::Tool { name, .. } => *name = plain(name),
            Message::User { .. } => {}
        }
    }
    Cow::Owned(ModelRequest { frame: Arc::new(frame), conversation, ..request.clone() })
}

/// Gives the calls of a reply the names that the request has for the tools.
pub(super) fn restore_names(reply: &mut ModelReply, frame: &RequestFrame) {
    for call in &mut reply.tool_calls {
        let is_named = |name: &str| name.contains('.') && plain(name) == call.name;
        if let Some(tool) = frame.tools.iter().find(|tool| is_named(&tool.name)) {
            call.name.clone_from(&tool.name);
        }
    }
}
