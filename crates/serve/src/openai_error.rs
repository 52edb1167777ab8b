//! Problems as the clients of OpenAI's protocol read them.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// What begins the paths of that door.
const PATHS: &str = "/v1/";
const PROBLEM: &str = "application/problem+json";

/// A problem.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiError {
    error: OpenAiErrorDetail,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenAiErrorDetail {
    /// What is wrong, and what to do about it.
    message: String,
    /// The kind of its status.
    #[schema(example = "invalid_request_error")]
    r#type: &'static str,
    /// The place in the request.
    param: Option<String>,
    /// The kind: `model_not_found`, or the word that the problem's type ends in elsewhere.
    #[schema(example = "wrong-input")]
    code: String,
}

/// The protocol has 400 for whatever is wrong with a request.
pub(crate) fn status_of(status: StatusCode) -> StatusCode {
    if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status }
}

/// The problem in that form.
pub(crate) fn error_of(problem: &Value) -> Value {
    let text = |field: &str| problem[field].as_str().unwrap_or_default();
    let status = problem["status"].as_u64().unwrap_or(500);
    let r#type = match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let (detail, hint) = (text("detail"), text("hint"));
    let param = detail.strip_prefix("$.").and_then(|rest| Some(rest.split_once(": ")?.0.to_owned()));
    let code = match text("type").rsplit(':').next().unwrap_or_default() {
        "no-such-agent" => "model_not_found",
        word => word,
    };
    let message = if hint.is_empty() { detail.to_owned() } else { format!("{detail}; {hint}") };
    json!(OpenAiError { error: OpenAiErrorDetail { message, r#type, param, code: code.to_owned() } })
}

/// Writes the problems of that door's paths in that form, whatever met them.
pub(crate) async fn write_errors(request: Request, next: Next) -> Response {
    let is_ours = request.uri().path().starts_with(PATHS);
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !is_ours || kind.is_none_or(|kind| kind != PROBLEM) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let problem = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let error = error_of(&serde_json::from_slice(&problem).unwrap_or_default());
    parts.status = status_of(parts.status);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(error.to_string()))
}
