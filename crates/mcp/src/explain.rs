//! What went wrong between a client and a server, for people. No text of the library that speaks the protocol is in
//! it: such a text names types.

use std::io;

use planwright::ports::{ToolError, ToolErrorKind};
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{ClientInitializeError, RxJsonRpcMessage, ServiceError};

use crate::log::Log;

/// Why a server behind an address did not take a message.
#[derive(Debug)]
pub(crate) struct HttpError {
    pub message: String,
    /// Whether the server answered, with a status that says no.
    pub is_status: bool,
    pub may_have_arrived: bool,
}

impl HttpError {
    /// The message did not get through.
    pub fn lost(message: String, may_have_arrived: bool) -> Self {
        HttpError { message, is_status: false, may_have_arrived }
    }
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HttpError {}

/// What takes the place of an answer that is too large.
pub(crate) const TOO_LARGE: &str = "the server's answer was dropped: larger than 8 MiB";

/// What takes the place of an answer that is none.
pub(crate) const MALFORMED: &str =
    "the server's answer was dropped: expected either a result or an error in it";

/// The code of the errors that are made here in the place of an answer.
const NO_ANSWER: ErrorCode = ErrorCode(i32::MIN);

/// An error in the place of the answer to a request, which says why there is none.
pub(crate) fn replace_answer(problem: &str, request: RequestId) -> RxJsonRpcMessage<RoleClient> {
    RxJsonRpcMessage::<RoleClient>::error(ErrorData::new(NO_ANSWER, problem.to_owned(), None), Some(request))
}

const ENDED: &str = "it ended before it had begun";

/// Why a server did not begin.
pub(crate) fn explain_beginning(error: ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => ENDED.to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            let broken = error.error.downcast_ref::<io::Error>().map(io::Error::kind);
            if broken == Some(io::ErrorKind::BrokenPipe) { ENDED.to_owned() } else { error.error.to_string() }
        }
        ClientInitializeError::JsonRpcError(error) if error.code == NO_ANSWER => error.message.into_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused to begin: {} ({})", error.message, error.code.0)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that is spoken here".to_owned()
        }
        _ => "expected its answer to `initialize`, found another message".to_owned(),
    }
}

/// Why a request was not answered.
pub(crate) fn explain_request(error: ServiceError, log: &Log) -> ToolError {
    match error {
        ServiceError::McpError(error) if error.code == NO_ANSWER => {
            ToolError::new(ToolErrorKind::Response, error.message.into_owned())
        }
        ServiceError::McpError(error) => {
            let message = format!("the server refused: {} ({})", log.clean(&error.message), error.code.0);
            // These say that there was nothing to perform.
            match error.code {
                ErrorCode::METHOD_NOT_FOUND => {
                    ToolError::new(ToolErrorKind::NotFound, message).did_not_happen()
                }
                ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST => ToolError::input(message),
                _ => ToolError::new(ToolErrorKind::Response, message),
            }
        }
        ServiceError::TransportSend(error) => {
            let said = log.clean(&error.error.to_string());
            let http = error.error.downcast_ref::<HttpError>();
            let failed = match http {
                Some(HttpError { is_status: true, .. }) => ToolError::new(ToolErrorKind::Http, said),
                _ => {
                    ToolError::new(ToolErrorKind::Connection, format!("the server cannot be reached: {said}"))
                }
            };
            let did_not_happen = http.is_some_and(|error| !error.may_have_arrived);
            if did_not_happen { failed.did_not_happen() } else { failed }
        }
        ServiceError::TransportClosed => {
            let message = format!("the server ended{}", log.last_words());
            ToolError::new(ToolErrorKind::Connection, message)
        }
        _ => ToolError::new(ToolErrorKind::Response, "expected the server's answer, found another"),
    }
}
