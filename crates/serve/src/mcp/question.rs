//! What a run waits for, as a client of the protocol asks its user: a form of plain fields. What comes back becomes
//! the arguments of the tool `answer`.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
    InputRequest, InputRequiredResult, InputResponses, JsonObject, PrimitiveSchemaDefinition, StringSchema,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::problem::{Kind, Problem, Result};
use planwright::machine::EffectKind;
use planwright_app::{Pending, parse_calls};

/// The name of the form among those that a result may ask for.
const FORM: &str = "answer";

/// What a person is asked.
#[derive(Deserialize, Serialize)]
pub(super) struct Question {
    /// The thread, as the caller knows it.
    pub thread_id: String,
    pub token: String,
    /// The tool whose call it came of.
    tool: String,
    form: Form,
    #[serde(skip)]
    message: String,
    /// The values of which one is picked.
    #[serde(skip)]
    choices: Vec<String>,
    /// How many calls are asked about together.
    #[serde(skip)]
    calls: usize,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// Yes or no to a plan or a call.
    Approval,
    /// An answer in words.
    Words,
    /// What became of a write.
    Doubt,
}

/// What the tool `answer` takes for what is open.
pub(super) fn answers_to(open: &Pending) -> &'static [&'static str] {
    match open.effect.kind {
        _ if open.is_doubt() => &["happened", "did_not_happen", "stop"],
        EffectKind::ApprovePlan { .. } => &["approve", "reject", "edit"],
        EffectKind::ApproveCall { .. } if !open.calls.is_empty() => &["approve", "approve_calls", "reject"],
        EffectKind::ApproveCall { .. } => &["approve", "reject", "edit_input", "response"],
        EffectKind::Pick { .. } => &["response", "reject"],
        _ => &["response", "reject", "edit"],
    }
}

impl Question {
    /// The question of what is open, which is asked with what was found by then.
    pub fn of(open: &Pending, thread: &str) -> Self {
        let form = match open.effect.kind {
            _ if open.is_doubt() => Form::Doubt,
            EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. } => Form::Approval,
            _ => Form::Words,
        };
        let found = Some(&open.results).filter(|results| !results.is_empty());
        let found = found.map_or_else(String::new, |results| format!("{results}\n\n"));
        let message = format!("{found}{}", open.text());
        let (thread_id, token) = (thread.to_owned(), open.token.clone());
        let (choices, calls) = (open.choices.clone(), open.calls.len());
        Question { thread_id, token, tool: String::new(), form, message, choices, calls }
    }

    /// The question, and how the tool `answer` answers it. Without `answers` the tool is not there.
    pub fn text(&self, answers: &[&str]) -> String {
        let names = json!({"thread_id": self.thread_id, "token": self.token});
        let (question, one_of) = (&self.message, answers.join(", "));
        if answers.is_empty() {
            return format!("{question}\n\nThe run waits for a person. This key may not answer for them.");
        }
        format!(
            "{question}\n\nThe run waits for a person. The tool `answer` goes on with it: {names} and one of {one_of}."
        )
    }

    /// The request that shows a form to the user.
    pub fn request(&self) -> ElicitRequest {
        let text = |about: &'static str| {
            PrimitiveSchemaDefinition::String(StringSchema::default().description(about))
        };
        let form = ElicitationSchema::builder();
        let form = match self.form {
            Form::Words if self.choices.is_empty() => form.required_property("response", text("The answer")),
            Form::Words => {
                let choices: Vec<&str> = self.choices.iter().map(String::as_str).collect();
                form.required_enum_schema("response", one_of(&choices))
            }
            Form::Approval => {
                let form = form
                    .required_enum_schema("decision", one_of(&["approve", "reject"]))
                    .property("reason", text("Why, where it is rejected"));
                match self.calls {
                    0 => form,
                    _ => form.property(
                        "calls",
                        text("Which calls are approved, such as 1,3; all of them if left empty"),
                    ),
                }
            }
            Form::Doubt => form
                .required_enum_schema("decision", one_of(&["happened", "did_not_happen", "stop"]))
                .property("text", text("What the call would have returned, or why the run ends")),
        };
        let (meta, message) = (None, self.message.clone());
        let requested_schema = form.build_unchecked();
        ElicitRequest::new(ElicitRequestParams::FormElicitationParams { meta, message, requested_schema })
    }

    /// The result that has the client ask, and then make the same call of `tool` again. What it sends back names the
    /// thread and the question; neither is believed more than in a call of `answer`.
    pub fn required(&self, tool: &str) -> InputRequiredResult {
        let (request, mut state) = (InputRequest::Elicitation(self.request()), json!(self));
        state["tool"] = json!(tool);
        InputRequiredResult::new(Some([(FORM.to_owned(), request)].into()), Some(state.to_string()))
    }

    /// The question that a client sends back with a call of `tool`, and what its user said; nothing where that is
    /// not among it.
    pub fn sent_back(
        state: &str,
        mut responses: InputResponses,
        tool: &str,
        arguments: &JsonObject,
    ) -> Result<(Self, Option<ElicitResult>)> {
        let wrong =
            |error| Problem::new(Kind::Input, format!("expected what was asked and the answer: {error}"));
        let question: Question = serde_json::from_slice(state.as_bytes()).map_err(wrong)?;
        let thread = arguments.get("thread_id").filter(|thread| !thread.is_null());
        if question.tool != tool || thread.is_some_and(|thread| *thread != question.thread_id) {
            let problem = "requestState: expected that of this tool and thread, found that of another";
            return Err(Problem::new(Kind::Input, problem).hint("make the call again that asked"));
        }
        let said = responses.remove(FORM).map(serde_json::from_value).transpose().map_err(wrong)?;
        Ok((question, said))
    }

    /// What the user said, as arguments of the tool `answer`; nothing where they said nothing. To decline is to
    /// reject, but of a write in doubt nothing is known then.
    pub fn arguments(&self, said: ElicitResult) -> Result<Option<JsonObject>> {
        let content = said.content.unwrap_or_default();
        let text = |field: &str| content[field].as_str().map(str::trim).filter(|text| !text.is_empty());
        let reject = |why: &str| json!({"reject": why});
        let answer = match (said.action, self.form, text("decision")) {
            (ElicitationAction::Accept, Form::Words, _) => json!({"response": content["response"]}),
            (ElicitationAction::Accept, Form::Approval, Some("approve")) => match text("calls") {
                None => json!({"approve": true}),
                Some(calls) => {
                    let wrong = |problem| Problem::new(Kind::Input, format!("$.calls: {problem}"));
                    json!({"approve_calls": parse_calls(calls).map_err(wrong)?})
                }
            },
            (ElicitationAction::Accept, Form::Approval, Some("reject")) => {
                reject(text("reason").unwrap_or("rejected"))
            }
            (ElicitationAction::Accept, Form::Doubt, Some("happened")) => {
                json!({"happened": text("text").unwrap_or_default()})
            }
            (ElicitationAction::Accept, Form::Doubt, Some("did_not_happen")) => {
                json!({"did_not_happen": true})
            }
            (ElicitationAction::Accept, Form::Doubt, Some("stop")) => {
                json!({"stop": text("text").unwrap_or("stopped")})
            }
            (ElicitationAction::Accept, ..) => {
                let problem = "$.decision: expected one of those that the form offers";
                return Err(Problem::new(Kind::Input, problem).hint("the run waits on"));
            }
            (ElicitationAction::Decline, Form::Words | Form::Approval, _) => reject("declined"),
            _ => return Ok(None),
        };
        let mut arguments = answer.as_object().cloned().unwrap_or_default();
        arguments.insert("thread_id".to_owned(), json!(self.thread_id));
        arguments.insert("token".to_owned(), json!(self.token));
        Ok(Some(arguments))
    }
}

fn one_of(values: &[&str]) -> EnumSchema {
    EnumSchema::builder(values.iter().map(|&value| value.to_owned()).collect()).build()
}
