//! What a server takes of what it may be asked, found out as it refuses things.
//!
//! A dialect only ever gets simpler, by one of finitely many things at a time. So one request is
//! put differently at most a handful of times.

use super::config::StructuredOutput;
use super::server_error::{is_final, refuses_form, refuses_parameter};
use crate::client::ServerError;
use planwright::spec::RequestFrame;

/// How requests to one model are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) output: Output,
    /// Whether `output` was set by the user and stays.
    fixed: bool,
    pub(super) sends_temperature: bool,
    /// `max_completion_tokens` instead of `max_tokens`.
    pub(super) completion_tokens: bool,
    pub(super) stream_options: bool,
}

/// The ways to ask for a form, strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Output {
    JsonSchema,
    JsonObject,
    Prompt,
}

impl Dialect {
    /// The dialect that a server is first asked in.
    pub(super) fn first(setting: StructuredOutput) -> Self {
        let output = match setting {
            StructuredOutput::Auto | StructuredOutput::JsonSchema => Output::JsonSchema,
            StructuredOutput::JsonObject => Output::JsonObject,
            StructuredOutput::Prompt => Output::Prompt,
        };
        Dialect {
            output,
            fixed: setting != StructuredOutput::Auto,
            sends_temperature: true,
            completion_tokens: false,
            stream_options: true,
        }
    }

    /// The dialect without what the server has just refused; `None` where the refusal is about
    /// something else.
    pub(super) fn without_refused(
        self,
        error: &ServerError,
        frame: &RequestFrame,
        streams: bool,
    ) -> Option<Self> {
        if is_final(error) {
            return None;
        }
        if frame.max_tokens.is_some() && !self.completion_tokens && error.mentions(&["max_completion_tokens"])
        {
            return Some(Dialect { completion_tokens: true, ..self });
        }
        if frame.temperature.is_some() && self.sends_temperature && refuses_parameter(error, "temperature") {
            return Some(Dialect { sends_temperature: false, ..self });
        }
        if streams && self.stream_options && error.mentions(&["stream_options", "include_usage"]) {
            return Some(Dialect { stream_options: false, ..self });
        }
        let next = match self.output {
            Output::JsonSchema => Output::JsonObject,
            Output::JsonObject => Output::Prompt,
            Output::Prompt => return None,
        };
        let may_give_way = frame.schema.is_some() && !frame.native_calls && !self.fixed;
        (may_give_way && refuses_form(error)).then_some(Dialect { output: next, ..self })
    }

    /// What two requests found out, taken together.
    pub(super) fn with(self, other: Self) -> Self {
        Dialect {
            output: self.output.max(other.output),
            fixed: self.fixed,
            sends_temperature: self.sends_temperature && other.sends_temperature,
            completion_tokens: self.completion_tokens || other.completion_tokens,
            stream_options: self.stream_options && other.stream_options,
        }
    }
}
