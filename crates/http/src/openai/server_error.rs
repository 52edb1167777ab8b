//! What an error of an OpenAI-compatible server means for a request.

use crate::client::{AttemptError, ServerError};
use planwright::machine::{FailureClass, ModelFailure, ModelReply};

/// An answer to a request: a reply, or a failure that the machine decides about.
pub(super) type Answer = Result<ModelReply, ModelFailure>;

/// Whether the server does not know or take this parameter at all. A value out of range is another
/// matter.
pub(super) fn refuses_parameter(error: &ServerError, parameter: &str) -> bool {
    const UNTAKEN: [&str; 8] = [
        "support",
        "deprecated",
        "unrecognized",
        "unknown",
        "not permitted",
        "not allowed",
        "not accept",
        "unexpected",
    ];
    matches!(error.status, 400 | 422) && error.mentions(&[parameter]) && error.mentions(&UNTAKEN)
}

/// Whether the server does not take the form that was asked for.
pub(super) fn refuses_form(error: &ServerError) -> bool {
    const FORM: [&str; 9] = [
        "response_format",
        "response format",
        "json_schema",
        "json_object",
        "schema",
        "grammar",
        "structured output",
        "json mode",
        "requested parameters",
    ];
    const ANYTHING: [&str; 3] = ["support", "not implemented", "unrecognized"];
    match error.status {
        501 => true,
        400 | 422 => error.message.is_empty() || error.mentions(&FORM) || error.mentions(&ANYTHING),
        404 | 405 | 415 | 500 => error.mentions(&FORM),
        _ => false,
    }
}

/// Whether the server or the model takes no tools, which is said under many a status. It is an answer
/// all the same, for without its tools a request would be another one.
fn refuses_tools(error: &ServerError) -> bool {
    const TOOLS: [&str; 6] =
        ["tool_choice", "tool choice", "tools param", "tool use", "support tools", "function calling"];
    matches!(error.status, 404 | 405 | 500 | 501) && error.mentions(&TOOLS)
}

/// Whether the same request in another form would fare no better.
pub(super) fn is_final(error: &ServerError) -> bool {
    generated_text(error).is_some()
        || is_context_length(error)
        || is_content_filter(error)
        || matches!(error.status, 401..=403 | 407 | 408 | 429)
}

fn is_context_length(error: &ServerError) -> bool {
    const MARKS: [&str; 9] = [
        "context_length_exceeded",
        "exceed_context_size",
        "maximum context length",
        "context length",
        "context window",
        "context size",
        "too many tokens",
        "prompt is too long",
        "input is too long",
    ];
    // "Too many tokens" under 429 is about tokens a minute.
    !matches!(error.status, 401..=403 | 429) && error.mentions(&MARKS)
}

fn is_content_filter(error: &ServerError) -> bool {
    error.has_mark(&["content_filter", "content_policy_violation", "responsibleaipolicyviolation"])
}

/// The text that the server itself found not to fit the schema, where it tells it.
fn generated_text(error: &ServerError) -> Option<&str> {
    let text = error.details["failed_generation"].as_str().filter(|text| !text.is_empty());
    text.filter(|_| error.has_mark(&["json_validate_failed"]))
}

/// Says what an error means for a request that no other form mends.
pub(super) fn conclude(error: ServerError, offers_tools: bool) -> Result<Answer, AttemptError> {
    if let Some(text) = generated_text(&error) {
        // The model did answer; that its answer does not fit is for the contract's reader to say.
        return Ok(Ok(ModelReply::text(text)));
    }
    let class = match error.status {
        _ if is_context_length(&error) => FailureClass::ContextLength,
        _ if is_content_filter(&error) => FailureClass::ContentFilter,
        _ if offers_tools && refuses_tools(&error) => FailureClass::BadRequest,
        401 | 402 | 403 | 404 | 405 | 407 | 408 | 410 | 425 | 429 => return Err(error.into_attempt_error()),
        400..=499 => FailureClass::BadRequest,
        _ => return Err(error.into_attempt_error()),
    };
    Ok(Err(ModelFailure::new(class, error.describe())))
}
