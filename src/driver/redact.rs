//! Redaction: keys are replaced in everything that models, tools and people say, before anything keeps it. So no
//! key can reach the state, and none can reach a journal, a fixture, a trace or an answer from there.

mod escaped;
mod records;

use serde_json::Value;

use crate::contract::{PlanStep, Source};
use crate::journal::first_difference;
use crate::machine::{Event, Finding, HumanAnswer, Input, Turn};
use crate::ports::Secret;
use crate::spec::Spec;
use escaped::without_escaped;

/// What stands where a key was.
pub(super) const REDACTED: &str = "[redacted]";

/// Shorter values are no secrets (local servers are happy with `x` or `none`), and replacing them
/// would garble every text.
const SHORTEST: usize = 8;

/// The same for [`redact`].
const SHORTEST_THERE: usize = 4;

/// Replaces the values of configured keys.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Vec<String>,
}

impl Redactor {
    /// A redactor for these keys.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut values = Vec::new();
        for secret in secrets {
            let value = secret.expose().trim();
            if value.len() < SHORTEST {
                continue;
            }
            values.push(value.to_owned());
            // Where a text holds JSON, a key with quotes or backslashes stands in it escaped.
            let quoted = serde_json::Value::from(value).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            if escaped != value {
                values.push(escaped.to_owned());
            }
        }
        // The longest first, so that a key that holds another goes whole.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Redactor { values }
    }

    /// The text without keys.
    pub fn text(&self, mut text: String) -> String {
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), REDACTED);
            }
            if text.contains('\\') {
                text = without_escaped(text, value, REDACTED);
            }
        }
        text
    }

    /// Whether a text holds a key.
    pub fn finds(&self, text: &str) -> bool {
        !self.values.is_empty() && self.text(text.to_owned()) != text
    }

    /// Where a spec holds a key, if it does.
    pub fn found_in(&self, spec: &Spec) -> Option<String> {
        if self.values.is_empty() {
            return None;
        }
        let written = serde_json::to_value(spec).ok()?;
        let mut clean = written.clone();
        self.value(&mut clean);
        // A name may be one too.
        first_difference(&clean, &written).map(|difference| self.text(difference.path))
    }

    /// The next piece of a stream without keys. What may be the beginning of a key is held back until
    /// more has come.
    pub fn piece(&self, held: &mut String, piece: &str) -> String {
        held.push_str(piece);
        let mut text = self.text(std::mem::take(held));
        let begins = |value: &String| {
            (1..value.len()).rev().find(|&end| value.is_char_boundary(end) && text.ends_with(&value[..end]))
        };
        let keep = self.values.iter().filter_map(begins).max().unwrap_or(0);
        *held = text.split_off(text.len() - keep);
        text
    }

    /// The event without keys. What a tool returned has been through [`text`](Redactor::text)
    /// before it was cut to size.
    pub fn event(&self, mut event: Event) -> Event {
        if self.values.is_empty() {
            return event;
        }
        let mut clean = |text: &mut String| *text = self.text(std::mem::take(text));
        match &mut event {
            Event::ModelReplied { reply, .. } => {
                clean(&mut reply.text);
                for call in &mut reply.tool_calls {
                    clean(&mut call.name);
                    clean(&mut call.arguments);
                }
            }
            Event::ModelFailed { failure, .. } => clean(&mut failure.message),
            Event::Cancelled { reason }
            | Event::HumanAnswered { answer: HumanAnswer::Reject { reason }, .. } => {
                clean(reason);
            }
            Event::HumanAnswered { answer: HumanAnswer::Respond { text }, .. } => clean(text),
            Event::HumanAnswered { answer: HumanAnswer::Edit { steps }, .. } => {
                for step in steps {
                    let PlanStep {
                        id,
                        tool,
                        with,
                        input,
                        input_from,
                        depends_on,
                        task,
                        description,
                        hitl_question,
                    } = step;
                    let texts = [id, input_from, task, description, hitl_question];
                    texts.into_iter().flatten().chain(depends_on).chain([tool]).for_each(&mut clean);
                    if let Some(with) = with {
                        *with = self.text(std::mem::take(with).into_string()).into_boxed_str();
                    }
                    if let Some(input) = input {
                        self.value(input);
                    }
                }
            }
            Event::HumanAnswered { answer: HumanAnswer::EditInput { input }, .. } => self.value(input),
            Event::HumanAnswered { answer: HumanAnswer::Approve, .. }
            | Event::ToolReturned { .. }
            | Event::TimePassed { .. }
            | Event::Expired { .. }
            | Event::DeadlinePassed => {}
        }
        event
    }

    /// What a run starts from, without keys.
    pub fn input(&self, input: Input) -> Input {
        let Input { question, now, history, outline, session, material, findings, on_behalf_of } = input;
        let text = |text: String| self.text(text);
        let turn = |turn: Turn| Turn { role: turn.role, content: text(turn.content) };
        let finding = |finding: Finding| Finding {
            by: text(finding.by),
            task: finding.task.map(text),
            output: text(finding.output),
        };
        Input {
            question: text(question),
            now: text(now),
            history: history.into_iter().map(turn).collect(),
            outline: outline.into_iter().map(text).collect(),
            session: session.map(text),
            material: material.map(text),
            findings: findings.into_iter().map(finding).collect(),
            on_behalf_of: on_behalf_of.map(text),
        }
    }

    /// The sources without keys.
    pub fn sources(&self, mut sources: Vec<Source>) -> Vec<Source> {
        if self.values.is_empty() {
            return sources;
        }
        for source in &mut sources {
            let Source { title, document, part, url } = source;
            let texts = [Some(title), document.as_mut(), part.as_mut(), url.as_mut()];
            texts.into_iter().flatten().for_each(|text| *text = self.text(std::mem::take(text)));
        }
        sources
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let named = std::mem::take(fields).into_iter();
                *fields = named
                    .map(|(name, mut field)| {
                        self.value(&mut field);
                        (self.text(name), field)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A text without the values of these keys, plain or as JSON writes them. A text that broke off
/// amid a key loses that piece too. For the doors that speak HTTP: what a server said there is theirs
/// alone, so shorter keys than those of [`Redactor`] are replaced as well.
pub fn redact<'a>(text: &'a str, secrets: &[Secret]) -> std::borrow::Cow<'a, str> {
    use std::borrow::Cow;
    let mut clean = Cow::Borrowed(text);
    for secret in secrets {
        let value = secret.expose();
        if value.len() < SHORTEST_THERE {
            continue;
        }
        let quoted = serde_json::Value::from(value).to_string();
        let quoted = &quoted[1..quoted.len() - 1];
        for form in [value, quoted] {
            if clean.contains(form) {
                clean = Cow::Owned(clean.replace(form, REDACTED));
            }
            let pieces = (SHORTEST_THERE..form.len()).rev().filter_map(|end| form.get(..end));
            if let Some(piece) = pieces.into_iter().find(|piece| clean.ends_with(piece)) {
                clean = Cow::Owned(format!("{}{REDACTED}", &clean[..clean.len() - piece.len()]));
            }
        }
    }
    clean
}
