//! A run that is told its answers. Every event it takes is checked on the way: the state that was
//! written and read again moves to the same state, the events so far fold to the state they led to,
//! what it asks for is what it waits for, and no answer fits twice.

use planwright::machine::{
    Counters, Effect, Event, Input, PhaseName, Refusal, State, StepRecord, admit, outstanding, start,
    transition,
};
use planwright::prompt::{Message, ModelRequest, Request, RequestBody};
use planwright::spec::{CompiledSpec, Spec};
use serde_json::Value;

use super::{Say, id};

pub struct Told {
    pub compiled: CompiledSpec,
    pub state: State,
    pub input: Input,
    /// Everything it took.
    pub events: Vec<Event>,
    /// Whom it asked, in the order in which that was answered: roles, `agent:…`, tools, `human`,
    /// `wait`.
    pub asked: Vec<String>,
}

impl Told {
    #[track_caller]
    pub fn begin(spec: Spec) -> Self {
        Told::begin_with(spec, Input::question("왜?"))
    }

    #[track_caller]
    pub fn begin_with(spec: Spec, input: Input) -> Self {
        let compiled = spec.check().expect("checks");
        let begun = start(&compiled, input.clone());
        assert_eq!(
            begun.effects.to_vec(),
            outstanding(&compiled, &begun.state),
            "it waits for what it asked"
        );
        Told { compiled, state: begun.state, input, events: Vec::new(), asked: Vec::new() }
    }

    /// Begins and tells.
    #[track_caller]
    pub fn run(spec: Spec, answers: impl IntoIterator<Item = Say>) -> Self {
        let mut told = Told::begin(spec);
        told.tell(answers);
        told
    }

    /// A run that its answers lead to an error that begins so.
    #[track_caller]
    pub fn fails(spec: Spec, answers: impl IntoIterator<Item = Say>, error: &str) -> Self {
        let told = Told::run(spec, answers);
        told.failed(error);
        told
    }

    /// Tells the run its last answers; this is what it says then.
    #[track_caller]
    pub fn ends(&mut self, answers: impl IntoIterator<Item = Say>, said: &str) -> &mut Self {
        self.tell(answers);
        assert_eq!((self.phase(), self.said(), self.error().as_str()), (PhaseName::Done, said, ""));
        self
    }

    /// The run ended with an error that begins so.
    #[track_caller]
    pub fn failed(&self, error: &str) {
        assert!(self.error().starts_with(error), "expected {error:?}, found {:?}", self.error());
    }

    /// The ids of what it waits for.
    pub fn waits(&self) -> Vec<String> {
        self.outstanding().iter().map(|effect| effect.id().to_string()).collect()
    }

    pub fn outstanding(&self) -> Vec<Effect> {
        outstanding(&self.compiled, &self.state)
    }

    #[track_caller]
    fn effect(&self, wanted: &str) -> Effect {
        let effect = self.outstanding().into_iter().find(|effect| effect.id() == id(wanted));
        effect.unwrap_or_else(|| panic!("{wanted} is not asked: {:?}; {}", self.waits(), self.error()))
    }

    /// What it waits for first.
    #[track_caller]
    pub fn first(&self) -> String {
        self.waits().into_iter().next().expect("it waits for something")
    }

    /// Answers each time what it waits for first.
    #[track_caller]
    pub fn tell(&mut self, answers: impl IntoIterator<Item = Say>) -> &mut Self {
        for answer in answers {
            let first = self.waits().into_iter().next();
            let first = first.unwrap_or_else(|| {
                panic!("the run waits for nothing, and there is {answer:?}; {}", self.error())
            });
            self.answer(&first, answer);
        }
        self
    }

    /// Answers one effect.
    #[track_caller]
    pub fn answer(&mut self, to: &str, answer: Say) -> &mut Self {
        let asked = self.rendered(to).asked;
        self.asked.push(asked.into_owned());
        self.take(answer.event(id(to)))
    }

    /// Takes an event.
    #[track_caller]
    pub fn take(&mut self, event: Event) -> &mut Self {
        let waited = self.outstanding();
        let written = |state: &State| serde_json::to_string(state).expect("a state is written");
        let read: State = serde_json::from_str(&written(&self.state)).expect("and read");
        let step = transition(&self.compiled, self.state.clone(), event.clone())
            .unwrap_or_else(|refused| panic!("{refused}"));
        let again = transition(&self.compiled, read, event.clone()).expect("the state that was read, too");
        assert_eq!(written(&again.state), written(&step.state), "a state that was read steps otherwise");
        self.state = step.state;
        let sorted = |effects: &mut dyn Iterator<Item = Effect>| {
            let mut effects: Vec<Effect> = effects.collect();
            effects.sort_by_key(|effect| effect.id().to_string());
            effects
        };
        let waits = self.outstanding();
        let new = sorted(&mut waits.iter().copied().filter(|effect| !waited.contains(effect)));
        assert_eq!(sorted(&mut step.effects.iter().copied()), new, "it waits for what it asked");
        let ended = self.phase().is_terminal();
        assert_eq!(waits.is_empty(), ended, "a run that goes on waits for something: {:?}", self.phase());
        self.events.push(event);
        for event in self.events.iter().filter(|event| event.effect().is_some()) {
            assert!(admit(&self.compiled, &self.state, event).is_err(), "fits again: {event:?}");
        }
        assert_eq!(self.folded(), self.state, "the events fold to the state they led to");
        self
    }

    /// Why an answer does not fit.
    #[track_caller]
    pub fn refusal(&self, to: &str, answer: Say) -> Refusal {
        admit(&self.compiled, &self.state, &answer.event(id(to))).expect_err(to)
    }

    /// Why what it waits for first is not answered so; and nothing changes by it.
    #[track_caller]
    pub fn refuses(&self, answer: Say) -> String {
        let event = answer.event(id(&self.first()));
        let refused =
            transition(&self.compiled, self.state.clone(), event.clone()).expect_err("it is refused");
        assert_eq!((&refused.state, &refused.event), (&self.state, &event), "nothing changes");
        refused.refusal.to_string()
    }

    /// Folds the run again from its events.
    pub fn folded(&self) -> State {
        let begun = start(&self.compiled, self.input.clone()).state;
        self.events.iter().cloned().fold(begun, |state, event| {
            transition(&self.compiled, state, event).expect("it fitted before").state
        })
    }

    pub fn phase(&self) -> PhaseName {
        self.state.phase()
    }

    pub fn spent(&self) -> Counters {
        *self.state.counters()
    }

    pub fn tainted(&self) -> bool {
        self.state.is_tainted()
    }

    /// What the run remembers at a place (a JSON pointer) of its task.
    pub fn memory(&self, place: &str) -> Value {
        let state = serde_json::to_value(&self.state).expect("serialises");
        state["task"].pointer(place).cloned().unwrap_or_default()
    }

    /// A step of the current plan, by its position from 0.
    #[track_caller]
    pub fn step(&self, at: usize) -> StepRecord<'_> {
        self.state.current_steps().nth(at).expect("a step")
    }

    pub fn trace(&self) -> Vec<Value> {
        self.state.trace().iter().map(|line| serde_json::to_value(line).expect("serialises")).collect()
    }

    pub fn phases(&self) -> Vec<String> {
        self.trace().iter().map(|line| line["phase"].as_str().expect("a phase").to_owned()).collect()
    }

    /// The lines of the trace with this name.
    pub fn lines(&self, phase: &str) -> Vec<Value> {
        self.trace().into_iter().filter(|line| line["phase"] == phase).collect()
    }

    /// The first of them.
    #[track_caller]
    pub fn line(&self, phase: &str) -> Value {
        self.lines(phase).into_iter().next().expect("such a line")
    }

    pub fn error(&self) -> String {
        self.state.error().map(ToString::to_string).unwrap_or_default()
    }

    pub fn said(&self) -> &str {
        self.state.answer().unwrap_or_default()
    }

    /// `name: status: output` of the steps that count.
    pub fn results(&self) -> Vec<String> {
        let steps = self.state.current_steps();
        steps
            .map(|it| format!("{}: {}: {}", it.step.name(it.step_index), it.status, it.output.unwrap_or("-")))
            .collect()
    }

    /// What a person is asked by what it waits for first.
    #[track_caller]
    pub fn question(&self) -> String {
        self.rendered(&self.first()).into_question().expect("a person is asked")
    }

    #[track_caller]
    fn rendered(&self, of: &str) -> Request<'_> {
        Request::of(&self.compiled, &self.state, self.effect(of)).expect("the run waits for it")
    }

    /// What one effect asks a model with.
    #[track_caller]
    pub fn request(&self, of: &str) -> ModelRequest {
        let RequestBody::Model { request, .. } = self.rendered(of).body else { panic!("{of} asks no model") };
        request
    }

    /// The payload of one effect.
    #[track_caller]
    pub fn payload_of(&self, of: &str) -> Value {
        serde_json::from_str(&self.request(of).payload).expect("JSON")
    }

    /// The payload of what it waits for first.
    #[track_caller]
    pub fn payload(&self) -> Value {
        self.payload_of(&self.first())
    }

    /// The conversation of what it waits for first.
    #[track_caller]
    pub fn conversation(&self) -> Vec<Message> {
        self.request(&self.first()).conversation
    }

    /// What the tool of a step is called with.
    #[track_caller]
    pub fn input(&self, of: &str) -> Value {
        let RequestBody::Tool { input, .. } = self.rendered(of).body else { panic!("{of} calls no tool") };
        input
    }
}
