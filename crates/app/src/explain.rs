//! Why a run did what it did: each effect with its reason, who chose what was put into it, and what was refused.
//!
//! **Invariant:** all of it is worked out of the records by the machine's own rules. No run says it of itself.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use planwright::contract::{LabelledPart, ToolEffect};
use planwright::journal::{JournalError, Record, RunStatus, fold};
use planwright::machine::{
    EffectId, Event, GrantedBy, State, StepRecord, ToolOutcome, TraceLine, awaited, local, start, transition,
};
use planwright::prompt::{Request, RequestBody};
use planwright::spec::{CompiledSpec, Containment, RoleName};

/// A run, explained.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The agent.
    pub agent: String,
    /// What was asked.
    pub question: String,
    /// Where the run stands.
    pub status: &'static str,
    /// Which rules hold about what was read: `off`, `standard` or `strict`.
    pub containment: Containment,
    /// The effect whose answer brought the first untrusted text; nothing where none did.
    pub untrusted_since: Option<EffectId>,
    /// The effects in the order in which they were asked.
    pub effects: Vec<ExplainedEffect>,
    /// The steps that were not started.
    pub refused: Vec<Refused>,
}

/// An effect, and why it was allowed.
#[derive(Debug, Serialize)]
pub struct ExplainedEffect {
    /// The effect.
    pub effect: EffectId,
    /// Whom it asks: a role, a tool, a person.
    pub asked: String,
    /// What it does: `model`, `pure`, `read`, `write`, `person` or `wait`.
    pub does: &'static str,
    /// Why it was done.
    pub reason: String,
    /// Whether the run had read untrusted text when it was asked.
    pub after_untrusted: bool,
    /// What a tool was called with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Who chose each part of that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<LabelledPart>,
    /// What came of it: `answered`, `failed: KIND`; nothing where there is no answer.
    pub outcome: Option<String>,
}

/// A step that was not started.
#[derive(Debug, Serialize)]
pub struct Refused {
    /// The agents that the step is nested in; empty for a step of the run itself.
    pub within: String,
    /// The step.
    pub step: String,
    /// Its tool.
    pub tool: String,
    /// Why: `authority_missing`, …, `rejected` by a person, `ambiguous` if a value stood for none or several.
    pub code: String,
    /// What that code means, in a sentence.
    pub why: &'static str,
}

/// A call that a person said no to, or of which a value could not be told.
fn refused_call(within: String, record: StepRecord<'_>) -> Option<Refused> {
    let (code, why) = match record.failure {
        Some(code @ "rejected") => (code, "not called: a person said no"),
        Some(code @ "ambiguous") => (code, "not called: a value of it stood for none, or for several"),
        _ => return None,
    };
    let (step, tool) = (record.step.name(record.step_index), record.step.tool.clone());
    Some(Refused { within, step, tool, code: code.to_owned(), why })
}

impl Explanation {
    /// Explains a run out of its records.
    ///
    /// # Errors
    /// Where the records do not fold; names the record.
    pub fn of(records: &[Record]) -> Result<Self, JournalError> {
        let folded = fold(records.iter().cloned())?;
        let Some(Record::Header(header)) = records.first() else {
            return Err(JournalError::damaged("journal record 0", "expected a header"));
        };
        let compiled = &folded.compiled;
        let mut state = start(compiled, header.input.clone()).state;
        let mut found = Explanation {
            agent: header.spec.name.clone(),
            question: header.input.question.clone(),
            status: RunStatus::of(&folded).name(),
            containment: compiled.policy().containment,
            untrusted_since: None,
            effects: Vec::new(),
            refused: Vec::new(),
        };
        let mut noted = BTreeSet::new();
        for (number, record) in (0..).zip(records) {
            match record {
                Record::Requested { effect, .. } => found.ask(compiled, &state, *effect),
                Record::Answered { event, .. } | Record::Happened { event, .. } => {
                    let was_tainted = state.is_tainted();
                    state = transition(compiled, state, event.clone())
                        .map_err(|refused| JournalError::at(number, refused.to_string()))?
                        .state;
                    found.answer(event);
                    found.leave_out_nested("", &state, &mut noted);
                    if !was_tainted && state.is_tainted() {
                        found.untrusted_since = event.effect();
                    }
                }
                _ => {}
            }
        }
        found.refuse("", state.trace());
        found.leave_out(compiled, &state);
        Ok(found)
    }

    fn ask(&mut self, compiled: &CompiledSpec, state: &State, effect: EffectId) {
        // What is asked again after a crash is the one effect.
        if self.effects.iter().any(|known| known.effect == effect) {
            return;
        }
        let request =
            awaited(compiled, state, effect).and_then(|effect| Request::of(compiled, state, effect));
        let (Some(request), Some(here)) = (request, local(compiled, state, effect)) else { return };
        let asked = request.asked.to_string();
        let mut explained = ExplainedEffect {
            effect,
            asked,
            does: "wait",
            reason: "a step is tried again".to_owned(),
            after_untrusted: here.state.is_tainted(),
            input: None,
            arguments: Vec::new(),
            outcome: None,
        };
        match request.body {
            RequestBody::Model { role, .. } => {
                let filled = here.id.step().filter(|_| role == RoleName::Executor);
                let step = filled.and_then(|step| here.state.current_steps().nth(step as usize));
                let reason = match step {
                    Some(at) => {
                        format!("the plan leaves a value of {} to a model", at.step.name(at.step_index))
                    }
                    None => format!("the agent has a {role}"),
                };
                (explained.does, explained.reason) = ("model", reason);
            }
            RequestBody::Human { .. } => {
                (explained.does, explained.reason) = ("person", "the agent asks a person here".to_owned());
            }
            RequestBody::Tool { step, contract, input, .. } => {
                let does = contract.map_or(ToolEffect::Write, |contract| contract.effect);
                explained.does = match does {
                    ToolEffect::Pure => "pure",
                    ToolEffect::Read => "read",
                    ToolEffect::Write => "write",
                };
                let by = here.state.granted_by(step).map(|by| match by {
                    GrantedBy::Plan { draft, step } => format!("in the plan of draft {draft} ({step})"),
                    GrantedBy::Question { step } => format!("the question calls for it ({step})"),
                    GrantedBy::Approval(asked) => format!("approved at {asked}"),
                });
                explained.reason = by.unwrap_or_else(|| match here.compiled.policy().containment {
                    Containment::Off => "containment is off".to_owned(),
                    _ => format!("a {} call needs no authority", explained.does),
                });
                let parts = here.state.label_parts(here.compiled, step);
                explained.arguments = LabelledPart::of_whole(&input, parts);
                explained.input = Some(input);
            }
            _ => {}
        }
        self.effects.push(explained);
    }

    fn answer(&mut self, event: &Event) {
        let asked = event.effect();
        let Some(known) = self.effects.iter_mut().find(|known| Some(known.effect) == asked) else { return };
        known.outcome = Some(match event {
            Event::ToolReturned { outcome: ToolOutcome::Failed { kind, .. }, .. } => {
                format!("failed: {kind}")
            }
            Event::ModelFailed { failure, .. } => format!("failed: {}", failure.class),
            Event::Expired { .. } => "nobody answered in time".to_owned(),
            Event::HumanAnswered { answer, .. } => format!("answered: {}", answer.kind()),
            _ => "answered".to_owned(),
        });
    }

    /// Collects the calls that a person said no to, and those of which a value could not be told.
    fn leave_out(&mut self, compiled: &CompiledSpec, state: &State) {
        let calls = state.steps().filter(|record| compiled.tool(&record.step.tool).is_some());
        self.refused.extend(calls.filter_map(|record| refused_call(String::new(), record)));
    }

    /// Collects those of the runs that are nested in a run now; what they did is forgotten when they end.
    fn leave_out_nested(&mut self, within: &str, state: &State, noted: &mut BTreeSet<String>) {
        for (step, run) in state.nested_runs() {
            let Some(at) = state.current_steps().nth(step as usize) else { continue };
            let agent = [within, &at.step.tool].into_iter().filter(|name| !name.is_empty());
            let agent = agent.collect::<Vec<_>>().join("/");
            for record in run.steps().filter(|record| !record.step.is_hitl()) {
                let place = format!("{agent} {} {step} {} {}", at.draft, record.plan, record.step_index);
                if let Some(refused) = refused_call(agent.clone(), record)
                    && noted.insert(place)
                {
                    self.refused.push(refused);
                }
            }
            self.leave_out_nested(&agent, run, noted);
        }
    }

    /// Collects the refusals of a trace and of the runs in it.
    fn refuse(&mut self, within: &str, trace: &[TraceLine]) {
        for line in trace {
            match line {
                TraceLine::Denied { step, tool, code } => self.refused.push(Refused {
                    within: within.to_owned(),
                    step: step.clone(),
                    tool: tool.clone(),
                    code: code.code().to_owned(),
                    why: code.message(),
                }),
                TraceLine::Execute { nested, .. } => nested.iter().for_each(|inner| {
                    let within = [within, &inner.agent].into_iter().filter(|name| !name.is_empty());
                    self.refuse(&within.collect::<Vec<_>>().join("/"), &inner.trace);
                }),
                _ => {}
            }
        }
    }
}
