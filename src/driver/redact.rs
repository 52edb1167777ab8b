//! Redaction: keys are replaced in everything that the world says, before anything keeps it. So no
//! key can reach the state, and none can reach a journal, a fixture, a trace or an answer from there.

use std::sync::Arc;

use serde_json::Value;

use crate::contract::{PlanStep, Source};
use crate::driver::Secret;
use crate::journal::Record;
use crate::machine::{Event, Finding, HumanAnswer, Input, ToolOutcome, Turn};
use crate::spec::Spec;

/// What stands where a key was.
pub(super) const REDACTED: &str = "[redacted]";

/// Shorter values are no secrets (local servers are happy with `x` or `none`), and replacing them
/// would garble every text.
const SHORTEST: usize = 8;

/// The same for [`redact`].
#[cfg(feature = "http")]
const SHORTEST_THERE: usize = 4;

/// Replaces the values of configured keys.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    values: Vec<String>,
}

impl Redactor {
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
                text = without_escaped(text, value);
            }
        }
        text
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

    /// The records without keys, for whoever hands them out. What was recorded is without them already; a
    /// key that was configured since is taken out here, also of what tools returned and of the rules.
    pub fn records(&self, mut records: Vec<Record>) -> Vec<Record> {
        if self.values.is_empty() {
            return records;
        }
        for record in &mut records {
            match record {
                Record::Header(header) => {
                    header.input = self.input(std::mem::take(&mut header.input));
                    self.spec(&mut header.spec);
                }
                Record::Rules(spec) => self.spec(spec),
                Record::Answered(event) | Record::Happened(event) => {
                    let clean = self.event(event.clone());
                    *event = self.returned(clean);
                }
                Record::Requested { .. } | Record::Settled { .. } => {}
            }
        }
        records
    }

    /// What a tool returned, without keys.
    fn returned(&self, event: Event) -> Event {
        let Event::ToolReturned { effect, outcome } = event else { return event };
        let outcome = match outcome {
            ToolOutcome::Returned { output, sources } => {
                ToolOutcome::Returned { output: self.text(output), sources: self.sources(sources) }
            }
            ToolOutcome::Failed { kind, message } => {
                ToolOutcome::Failed { kind: self.text(kind), message: self.text(message) }
            }
        };
        Event::ToolReturned { effect, outcome }
    }

    /// Rules without keys. Left as they are where they do not read without them: a name is no key.
    fn spec(&self, spec: &mut Arc<Spec>) {
        let Ok(mut value) = serde_json::to_value(&**spec) else { return };
        self.value(&mut value);
        if let Ok(clean) = serde_json::from_value::<Spec>(value) {
            *spec = Arc::new(clean);
        }
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
#[cfg(feature = "http")]
pub(crate) fn redact<'a>(text: &'a str, secrets: &[Secret]) -> std::borrow::Cow<'a, str> {
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

/// The text without a key that is written with JSON escapes (`\u0073k-…`): whoever decodes it would
/// have the key again.
fn without_escaped(text: String, value: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        if let Some(len) = escaped_prefix(rest, value) {
            kept.push_str(REDACTED);
            rest = &rest[len..];
        } else {
            kept.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    kept
}

/// How many bytes at the beginning of a text spell the value, each character as it is or escaped.
fn escaped_prefix(text: &str, value: &str) -> Option<usize> {
    let mut rest = text;
    for wanted in value.chars() {
        // The escape first: the key's own backslash may be written as one.
        rest = escaped_char(rest, wanted).or_else(|| rest.strip_prefix(wanted))?;
    }
    Some(text.len() - rest.len())
}

fn escaped_char(text: &str, wanted: char) -> Option<&str> {
    let escape = past_backslashes(text)?;
    if let Some(hex) = escape.strip_prefix('u')
        && let Some((unit, after)) = code_unit(hex)
    {
        if unit == u32::from(wanted) {
            return Some(after);
        }
        // A character outside the first plane is written as two units.
        let mut units = [0; 2];
        let [high, low] = wanted.encode_utf16(&mut units) else { return None };
        let second = past_backslashes(after)?.strip_prefix('u')?;
        let (next, after) = code_unit(second)?;
        return (unit == u32::from(*high) && next == u32::from(*low)).then_some(after);
    }
    escape.strip_prefix(wanted)
}

/// What follows the backslashes of one escape. JSON in JSON doubles them; more than so many are not
/// looked at, so that a text of nothing else costs no more than any other.
fn past_backslashes(text: &str) -> Option<&str> {
    const MOST: usize = 8;
    let count = text.bytes().take(MOST).take_while(|&byte| byte == b'\\').count();
    (count > 0).then(|| &text[count..])
}

/// Four hexadecimal digits, and what follows them.
fn code_unit(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}
