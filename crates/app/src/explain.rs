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
use planwright::prompt::{Request, RequestBody, calls};
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
    /// Whether such text stands in what was said before, which the run is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untrusted_history: bool,
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
    /// The calls that a person is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ExplainedCall>,
    /// What came of it: `answered`, `failed: KIND`; nothing where there is no answer.
    pub outcome: Option<String>,
}

/// A call that a person is asked about.
#[derive(Debug, Serialize)]
pub struct ExplainedCall {
    /// The tool.
    pub tool: String,
    /// What it is to be called with.
    pub input: Value,
    /// Who chose each part of that.
    pub arguments: Vec<LabelledPart>,
}

/// A step that was not started.
#[derive(Debug, Serialize)]
pub struct Refused {
    /// The agents that the step is nested in; empty for a step of the run itself.
    pub within: String,
    /// The step.
    pub step: String,
    /// The draft whose plan has it, from 1, where it is a step of the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<u32>,
    /// Its tool.
    pub tool: String,
    /// What the plan would have called it with, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Why: `authority_missing`, …, `rejected` by a person, `ambiguous` if a value stood for none or several.
    pub code: String,
    /// What that code means, in a sentence.
    pub why: &'static str,
}

/// A call that a person said no to, or of which a value could not be told.
fn refused_call(within: String, record: &StepRecord<'_>) -> Option<Refused> {
    let (code, why) = match record.failure {
        Some(code @ "rejected") => (code, "not called: a person said no"),
        Some(code @ "ambiguous") => (code, "not called: a value of it stood for none, or for several"),
        _ => return None,
    };
    let (step, tool) = (record.step.name(record.step_index), record.step.tool.clone());
    let draft = within.is_empty().then_some(record.draft);
    Some(Refused { within, step, draft, tool, input: record.step.input.clone(), code: code.to_owned(), why })
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
            untrusted_history: state.is_tainted(),
            effects: Vec::new(),
            refused: Vec::new(),
        };
        let (mut noted, mut told) = (BTreeSet::new(), 0);
        for (number, record) in (0..).zip(records) {
            match record {
                Record::Requested { effect, .. } => found.ask(compiled, &state, *effect),
                Record::Answered { event, .. } | Record::Happened { event, .. } => {
                    let was_tainted = is_tainted(&state);
                    state = transition(compiled, state, event.clone())
                        .map_err(|refused| JournalError::at(number, refused.to_string()))?
                        .state;
                    found.answer(event);
                    found.leave_out_nested("", &state, &mut noted);
                    found.refuse(&state, told);
                    told = state.trace().len();
                    if !was_tainted && is_tainted(&state) {
                        found.untrusted_since = event.effect();
                    }
                }
                _ => {}
            }
        }
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
            calls: Vec::new(),
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
                    None => {
                        let role = role.to_string();
                        let article = if role.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                        format!("the agent has {article} {role}")
                    }
                };
                (explained.does, explained.reason) = ("model", reason);
            }
            RequestBody::Human { .. } => {
                (explained.does, explained.reason) = ("person", "the agent asks a person here".to_owned());
                let steps = here.state.asked_calls(here.compiled).into_iter();
                let calls = calls(compiled, state, effect).into_iter().zip(steps);
                let calls = calls.map(|((tool, input), step)| {
                    let parts = here.state.label_parts(here.compiled, step);
                    let arguments = LabelledPart::of_whole(&input, parts);
                    ExplainedCall { tool, input, arguments }
                });
                explained.calls = calls.collect();
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
                    _ if contract.is_some_and(|tool| !tool.egress.is_empty()) => {
                        "it stands in a plan that was frozen before untrusted text was read".to_owned()
                    }
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
        self.refused.extend(calls.filter_map(|record| refused_call(String::new(), &record)));
    }

    /// Collects those of the runs that are nested in a run now; what they did is forgotten when they end.
    fn leave_out_nested(&mut self, within: &str, state: &State, noted: &mut BTreeSet<String>) {
        for (step, run) in state.nested_runs() {
            let Some(at) = state.current_steps().nth(step as usize) else { continue };
            let agent = [within, &at.step.tool].into_iter().filter(|name| !name.is_empty());
            let agent = agent.collect::<Vec<_>>().join("/");
            for record in run.steps().filter(|record| !record.step.is_hitl()) {
                let place = format!("{agent} {} {step} {} {}", at.draft, record.plan, record.step_index);
                if let Some(refused) = refused_call(agent.clone(), &record)
                    && noted.insert(place)
                {
                    self.refused.push(refused);
                }
            }
            self.leave_out_nested(&agent, run, noted);
        }
    }

    /// Collects the refusals in the lines of a trace from one on.
    fn refuse(&mut self, state: &State, from: usize) {
        for line in &state.trace()[from..] {
            if let TraceLine::Denied { step, .. } = line {
                let at = state.current_steps().find(|at| at.step.name(at.step_index) == *step);
                let (draft, input) = at.map(|at| (at.draft, at.step.input.clone())).unzip();
                self.note("", draft, input.flatten(), line);
            } else {
                self.note("", None, None, line);
            }
        }
    }

    /// Notes a refusal, and those of the runs nested in a step.
    fn note(&mut self, within: &str, draft: Option<u32>, input: Option<Value>, line: &TraceLine) {
        match line {
            TraceLine::Denied { step, tool, code } => self.refused.push(Refused {
                within: within.to_owned(),
                step: step.clone(),
                draft,
                tool: tool.clone(),
                input,
                code: code.code().to_owned(),
                why: code.message(),
            }),
            TraceLine::Execute { nested, .. } => {
                for inner in nested {
                    let within = [within, &inner.agent].into_iter().filter(|name| !name.is_empty());
                    let within = within.collect::<Vec<_>>().join("/");
                    inner.trace.iter().for_each(|line| self.note(&within, None, None, line));
                }
            }
            _ => {}
        }
    }
}

/// Whether a run, or one nested in it, has read untrusted text.
fn is_tainted(state: &State) -> bool {
    state.is_tainted() || state.nested_runs().any(|(_, run)| is_tainted(run))
}
