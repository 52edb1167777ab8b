//! How a replay differs from its recording, and a stored run from what the present machine would do.

use std::fmt;

use serde_json::{Map, Value};

use super::fold::{compile, render_awaited, split, walk};
use super::record::FIRST_COMPARED;
use super::{JournalError, Record};
use crate::contract::{ToolContract, excerpt};
use crate::machine::{EffectId, State, outstanding};
use crate::prompt::RequestBody;
use crate::spec::{CompiledSpec, Spec};

/// One way in which a replay differs from its recording. Exchanges are counted from 1.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum Drift {
    /// The words of a request changed: a prompt, a schema, a model setting, the payload.
    #[error(
        "request drift: {effect} asks {asked} something that was not recorded; nearest is {nearest}, {}",
        if .tools.is_empty() { .difference.to_string() } else { .tools.join(", ") }
    )]
    Request {
        /// The effect of the new request.
        effect: EffectId,
        /// The role or tool that is asked.
        asked: String,
        /// The effect of the nearest recording.
        nearest: EffectId,
        /// How the tools that are offered changed: `tool stock renamed inventory`.
        tools: Vec<String>,
        /// Where the two first differ.
        difference: Difference,
    },
    /// The machine took another path: it asks another role or tool, or leaves another trace line.
    #[error("transition drift: {what}{}", .difference.as_ref().map_or_else(String::new, |it| format!(", {it}")))]
    Transition {
        /// What it did, against what the recording says.
        what: String,
        /// Where the trace lines differ, if they do.
        difference: Option<Difference>,
    },
    /// A recorded reply is now read differently: it no longer fits its contract, or only now does.
    #[error("contract drift: a recorded reply is read differently now: trace line {line}, {difference}")]
    Contract {
        /// The trace line, from 1.
        line: usize,
        /// The difference.
        difference: Difference,
    },
    /// The requests came in another order.
    #[error("order drift: exchange {exchange} is {recorded} in the recording and {now} in the replay")]
    Order {
        /// The exchange, from 1.
        exchange: usize,
        /// The effect in the recording.
        recorded: EffectId,
        /// The effect in the replay.
        now: EffectId,
    },
    /// Recordings at the end were never asked for.
    #[error(
        "unused drift: {count} recorded exchanges were never asked for, the first is exchange {exchange} ({asked})"
    )]
    Unused {
        /// How many.
        count: usize,
        /// The first of them, from 1.
        exchange: usize,
        /// The role or tool that it asks.
        asked: String,
    },
}

impl Drift {
    /// The kind: `request`, `transition`, `contract`, `order` or `unused`.
    pub fn kind(&self) -> &'static str {
        match self {
            Drift::Request { .. } => "request",
            Drift::Transition { .. } => "transition",
            Drift::Contract { .. } => "contract",
            Drift::Order { .. } => "order",
            Drift::Unused { .. } => "unused",
        }
    }

    /// Where recording and replay first differ, if that can be shown.
    pub fn difference(&self) -> Option<&Difference> {
        match self {
            Drift::Request { difference, .. } | Drift::Contract { difference, .. } => Some(difference),
            Drift::Transition { difference, .. } => difference.as_ref(),
            Drift::Order { .. } | Drift::Unused { .. } => None,
        }
    }
}

impl fmt::Debug for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where two JSON values first differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The JSON path.
    pub path: String,
    /// What was recorded there; of a text, the part around the first differing character.
    pub recorded: String,
    /// What is there now.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}\n  - recorded: {}\n  + now:      {}", self.path, self.recorded, self.now)
    }
}

/// Finds the first place where two JSON values differ. The order of keys counts: another order is another
/// request.
pub fn first_difference(recorded: &Value, now: &Value) -> Option<Difference> {
    differ(Some(recorded), Some(now), "$".to_owned())
}

fn differ(recorded: Option<&Value>, now: Option<&Value>, path: String) -> Option<Difference> {
    let show = |value: Option<&Value>| match value {
        Some(value) => excerpt(&value.to_string(), 120),
        None => "(nothing)".to_owned(),
    };
    let (recorded, now) = match (recorded, now) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|name| !old.contains_key(*name));
            let mut names = old.keys().chain(added);
            let inner = names.find_map(|name| differ(old.get(name), new.get(name), format!("{path}.{name}")));
            if inner.is_some() || old.keys().eq(new.keys()) {
                return inner;
            }
            let list = |value: &Map<String, Value>| {
                format!("keys {}", value.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
            };
            (list(old), list(new))
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            let mut places = 0..old.len().max(new.len());
            return places.find_map(|at| differ(old.get(at), new.get(at), format!("{path}[{at}]")));
        }
        (old, new) if old == new => return None,
        (Some(Value::String(old)), Some(Value::String(new))) => excerpt_around(old, new),
        (old, new) => (show(old), show(new)),
    };
    Some(Difference { path, recorded, now })
}

/// How the tools of a spec differ from those that were recorded, a line each; of a contract, where it first does:
/// `tool order: input.count.minimum 1 → 5`.
pub(crate) fn tool_changes(recorded: &Spec, now: &Spec) -> Vec<String> {
    let (recorded, now) = (recorded.all_tools(), now.all_tools());
    let is_in = |tools: &[&ToolContract], name: &str| tools.iter().any(|tool| tool.name == name);
    let mut added: Vec<&ToolContract> =
        now.iter().filter(|tool| !is_in(&recorded, &tool.name)).copied().collect();
    let mut changes = Vec::new();
    for old in recorded {
        let mut same = now.iter().copied().find(|new| new.name == old.name);
        if same.is_none()
            && let Some(at) = added.iter().position(|new| new.description == old.description)
        {
            same = Some(added.remove(at));
        }
        let name = &old.name;
        let Some(new) = same else {
            changes.push(format!("tool {name} removed"));
            continue;
        };
        if new.name != *name {
            changes.push(format!("tool {name} renamed {}", new.name));
        }
        let fields = |tool: &ToolContract| {
            serde_json::to_value(ToolContract { name: String::new(), ..tool.clone() }).unwrap_or_default()
        };
        if let Some(Difference { path, recorded, now }) = first_difference(&fields(old), &fields(new)) {
            let path = path.trim_start_matches("$.").replace(".properties.", ".");
            changes.push(format!("tool {}: {path} {recorded} → {now}", new.name));
        }
    }
    changes.extend(added.iter().map(|tool| format!("tool {} added", tool.name)));
    changes
}

/// Two texts, cut to the neighbourhood of the first character in which they differ.
fn excerpt_around(old: &str, new: &str) -> (String, String) {
    const BEFORE: usize = 30;
    const SHOWN: usize = 90;
    let same = old.chars().zip(new.chars()).take_while(|(left, right)| left == right).count();
    let skip = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let ellipsis = if skip > 0 { "…" } else { "" };
        let rest: String = text.chars().skip(skip).collect();
        format!("{:?}", format!("{ellipsis}{}", excerpt(&rest, SHOWN)))
    };
    (cut(old), cut(new))
}

/// The first place where a stored run would now take another path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// The index of the record that no longer fits; the number of records if it is their end.
    pub record: u64,
    /// What is different.
    pub what: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.record, self.what)
    }
}

impl Divergence {
    /// Takes a journal through the present machine, under its own spec or another, and finds the first place
    /// where the run would now take another path. If the run has `ended`, the machine may not go on after the
    /// last record.
    ///
    /// # Errors
    /// If the journal has no header of this version, or the spec does not check.
    pub fn find(
        records: &[Record],
        under: Option<&Spec>,
        ended: bool,
    ) -> Result<Option<Divergence>, JournalError> {
        let (header, spec) = split(records)?;
        let compiled = compile(under.cloned().unwrap_or_else(|| spec.clone()))?;
        // Requests under a spec that was changed later say nothing of this one.
        let changed = records.iter().rposition(|record| matches!(record, Record::SpecChanged(_)));
        let changed = changed.unwrap_or(0) as u64;
        let walked =
            walk(&compiled, header.input.clone(), records.iter().cloned(), |index, state, record| {
                let Record::Requested { effect, digest, .. } = record else { return Ok(()) };
                let is_older = header.format < FIRST_COMPARED;
                match render_awaited(&compiled, state, *effect) {
                    _ if index < changed => Ok(()),
                    Some(now) if now.digest == *digest => Ok(()),
                    Some(now) if is_older && matches!(now.body, RequestBody::Model { .. }) => Ok(()),
                    Some(now) => {
                        let tools = tool_changes(&spec, compiled.spec()).join(", ");
                        let why = if tools.is_empty() { tools } else { format!(": {tools}") };
                        Err(format!("{effect} asks {} something else than it did{why}", now.asked))
                    }
                    None => Err(format!("{effect} was asked; {}", describe_waits(&compiled, state))),
                }
            });
        let (record, what) = match walked {
            Err(halted) => halted,
            Ok((state, _)) if !ended || state.phase.name().is_terminal() => return Ok(None),
            Ok((state, len)) => {
                (len, format!("the run had ended here; {}", describe_waits(&compiled, &state)))
            }
        };
        Ok(Some(Divergence { record, what }))
    }
}

fn describe_waits(compiled: &CompiledSpec, state: &State) -> String {
    let now: Vec<String> =
        outstanding(compiled, state).iter().map(|effect| effect.id().to_string()).collect();
    match now.is_empty() {
        true => format!("now it has ended in {}", state.phase.name()),
        false => format!("now it waits for {}", now.join(", ")),
    }
}
