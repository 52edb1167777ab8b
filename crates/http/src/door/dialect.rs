//! What a server takes of what it may be asked, found out as it refuses things, and what its other errors mean. A
//! dialect only ever gets simpler, by one of finitely many things at a time, so one request is put differently at most
//! a handful of times.

use serde::{Deserialize, Serialize};

use crate::client::{AttemptError, ServerError};
use planwright::machine::{FailureClass, ModelFailure};
use planwright::spec::RequestFrame;

/// How a reply's form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// The strictest way that the server takes, found out at the first request and kept.
    #[default]
    Auto,
    /// `response_format: json_schema`, strict; Anthropic: one tool with the schema, which must be called.
    JsonSchema,
    /// `response_format: json_object`; the schema is told in the system message.
    JsonObject,
    /// No form is set; the schema is told in the system message.
    Prompt,
}

#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Never `Auto`.
    pub(crate) output: StructuredOutput,
    /// Whether `output` was set by the user and stays.
    fixed: bool,
    /// Whether the protocol knows `json_object`.
    has_json_object: bool,
    pub(crate) sends_temperature: bool,
    /// `max_completion_tokens` instead of `max_tokens`.
    pub(crate) completion_tokens: bool,
    pub(crate) stream_options: bool,
    /// Whether reasoning is asked for in a form that can be sent back, and is sent back.
    pub(crate) sealed_reasoning: bool,
}

impl Dialect {
    pub(super) fn first(setting: StructuredOutput, has_json_object: bool) -> Self {
        Dialect {
            output: setting.max(StructuredOutput::JsonSchema),
            fixed: setting != StructuredOutput::Auto,
            has_json_object,
            sends_temperature: true,
            completion_tokens: false,
            stream_options: true,
            sealed_reasoning: true,
        }
    }

    /// What both dialects have in common. Of two requests at a time, each may have found out something else.
    pub(super) fn merge(self, other: Self) -> Self {
        Dialect {
            output: self.output.max(other.output),
            fixed: self.fixed,
            has_json_object: self.has_json_object,
            sends_temperature: self.sends_temperature && other.sends_temperature,
            completion_tokens: self.completion_tokens || other.completion_tokens,
            stream_options: self.stream_options && other.stream_options,
            sealed_reasoning: self.sealed_reasoning && other.sealed_reasoning,
        }
    }

    /// What was refused, and what is asked for instead.
    pub(super) fn describe_change(self, to: Self) -> String {
        let output = |output| match output {
            StructuredOutput::JsonObject => "json_object",
            StructuredOutput::Auto | StructuredOutput::JsonSchema | StructuredOutput::Prompt => "json_schema",
        };
        let (refused, instead) = match to.output {
            new if new == self.output && to.completion_tokens != self.completion_tokens => {
                ("max_tokens", "asking with max_completion_tokens")
            }
            new if new == self.output && to.stream_options != self.stream_options => {
                ("stream_options", "asking without it")
            }
            new if new == self.output && to.sealed_reasoning != self.sealed_reasoning => {
                ("sealed reasoning", "asking without it")
            }
            new if new == self.output => ("temperature", "asking without it"),
            StructuredOutput::Prompt => (output(self.output), "asking in words"),
            _ => (output(self.output), "asking for json_object"),
        };
        format!("{refused} is refused here; {instead}")
    }

    /// The dialect without what the server has just refused; `None` if the refusal is about something else.
    pub(super) fn without_refused(
        self,
        error: &ServerError,
        frame: &RequestFrame,
        streams: bool,
        reasoning: Option<&str>,
    ) -> Option<Self> {
        if is_final(error) {
            return None;
        }
        if frame.max_tokens.is_some() && !self.completion_tokens && error.mentions("max_completion_tokens") {
            return Some(Dialect { completion_tokens: true, ..self });
        }
        if frame.temperature.is_some() && self.sends_temperature && refuses_temperature(error) {
            return Some(Dialect { sends_temperature: false, ..self });
        }
        if streams && self.stream_options && error.mentions("stream_options,include_usage") {
            return Some(Dialect { stream_options: false, ..self });
        }
        let sends_reasoning = frame.native_calls && self.sealed_reasoning;
        if sends_reasoning && reasoning.is_some_and(|marks| error.mentions(marks)) {
            return Some(Dialect { sealed_reasoning: false, ..self });
        }
        let output = match self.output {
            StructuredOutput::Prompt => return None,
            StructuredOutput::JsonSchema if self.has_json_object => StructuredOutput::JsonObject,
            _ => StructuredOutput::Prompt,
        };
        let may_give_way = frame.schema.is_some() && !frame.native_calls && !self.fixed;
        (may_give_way && refuses_form(error)).then_some(Dialect { output, ..self })
    }
}

/// Whether the server does not take a temperature at all. A value out of range is another matter.
fn refuses_temperature(error: &ServerError) -> bool {
    let untaken = "support,deprecated,unrecognized,unknown,not permitted,not allowed,not accept,unexpected";
    matches!(error.status, 400 | 422) && error.mentions("temperature") && error.mentions(untaken)
}

/// Whether the server does not take the form that was asked for.
fn refuses_form(error: &ServerError) -> bool {
    let form = "response_format,response format,json_schema,json_object,schema,grammar,structured output,\
                json mode,requested parameters";
    match error.status {
        501 => true,
        400 | 422 if error.message.is_empty() => true,
        400 | 422 if error.mentions("support,not implemented,unrecognized") => true,
        400 | 404 | 405 | 415 | 422 | 500 => error.mentions(form),
        _ => false,
    }
}

/// Whether the server or the model takes no tools; without them a request would be another one.
fn refuses_tools(error: &ServerError) -> bool {
    let tools = "tool_choice,tool choice,tools param,tool use,support tools,function calling";
    matches!(error.status, 404 | 405 | 500 | 501) && error.mentions(tools)
}

/// Whether the same request in another form would fare no better.
fn is_final(error: &ServerError) -> bool {
    is_context_length(error)
        || is_content_filter(error)
        || matches!(error.meaning(), 401..=403 | 407 | 408 | 429)
}

fn is_context_length(error: &ServerError) -> bool {
    let marks = "context_length_exceeded,exceed_context_size,maximum context length,context length,\
                 context window,context size,too many tokens,prompt is too long,input is too long";
    // "Too many tokens" under 429 is about tokens a minute.
    !matches!(error.status, 401..=403 | 429) && error.mentions(marks)
}

fn is_content_filter(error: &ServerError) -> bool {
    error.has_mark("content_filter,content_policy_violation,responsibleaipolicyviolation")
}

/// Says what an error means for a request that no other form mends; `None` if there was no answer.
pub(super) fn conclude(error: &ServerError, offers_tools: bool) -> Option<AttemptError> {
    let class = match error.meaning() {
        _ if is_context_length(error) => FailureClass::ContextLength,
        _ if is_content_filter(error) => FailureClass::ContentFilter,
        _ if offers_tools && refuses_tools(error) => FailureClass::BadRequest,
        401..=405 | 407 | 408 | 410 | 425 | 429 => return None,
        400..=499 => FailureClass::BadRequest,
        _ => return None,
    };
    Some(AttemptError::failed(ModelFailure::new(class, error.describe())))
}
