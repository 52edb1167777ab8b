//! The compiled spec: a checked spec, with everything that is worked out from it once.

mod replies;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use regex_lite::Regex;
use serde::Serialize;
use serde_json::Value;

use super::check::{check_role, check_spec};
use super::frame::RequestFrame;
use super::grant::grant_contract;
use super::policy::OnCut;
use super::{
    Bounds, Containment, OnFailure, OnUnauthorised, Planner, Policy, Role, RoleName, Spec, SpecError,
    SubAgent, Suggestion, Write,
};
use crate::contract::{
    AnswerForm, ContractError, PlanContract, PlanSays, ToolContract, ToolEffect, Trust, schema::Schema,
};

/// How deep agents may nest: an agent's agents may have agents of their own, and that is all.
pub(crate) const MAX_NESTING: usize = 2;
/// How often a person is asked which of several values a step is to take: once for each reference that is ambiguous.
const MAX_PICKS: u32 = 3;
/// Most proposals for one question.
const MAX_SUGGESTED: usize = 8;

/// A call that is proposed to a planner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggested {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// A [`SubAgent`], compiled.
#[derive(Clone, Debug)]
pub enum CompiledAgent {
    /// A role: the constant part of its requests.
    Role(Arc<RequestFrame>),
    /// A whole agent: the spec of its run.
    Spec(Arc<CompiledSpec>),
}

/// A checked spec. The journal keeps the [`Spec`], the driver an `Arc<CompiledSpec>`, the state neither.
#[derive(Clone, Debug)]
pub struct CompiledSpec {
    spec: Arc<Spec>,
    plan: PlanContract,
    form: AnswerForm,
    /// What an answer conforms to whose form is a schema.
    answer: Option<Schema>,
    frames: BTreeMap<RoleName, Arc<RequestFrame>>,
    agents: Vec<CompiledAgent>,
    suggestions: Vec<(Suggestion, Regex)>,
    /// What a question may be said to call for: the tools of this agent and of those that do its steps.
    grants: Option<Arc<PlanContract>>,
    /// Whether this agent's own role says what the question calls for, and not that of one around it.
    asks_grant: bool,
    placeholders: Vec<Regex>,
    /// Whether calls of some tool need authority.
    has_guards: bool,
    pub(super) bounds: OnceLock<Bounds>,
}

impl Spec {
    /// Checks the spec and works out what follows from it.
    ///
    /// # Errors
    /// The first field that is out of range or contradicts another, by name.
    pub fn check(self) -> Result<CompiledSpec, SpecError> {
        CompiledSpec::compile(self, 0, None)
    }
}

impl CompiledSpec {
    /// Compiles a spec, in one that grants if there is `around`.
    fn compile(spec: Spec, depth: usize, around: Option<&Arc<PlanContract>>) -> Result<Self, SpecError> {
        check_spec(&spec)?;
        let own = if around.is_none() { grant_contract(&spec)?.map(Arc::new) } else { None };
        let (asks_grant, grants) = (own.is_some(), around.cloned().or(own));
        // An agent may hand on what any tool has returned, so it is trusted if all of them are.
        let trusted = spec.all_tools().iter().all(|tool| tool.trust == Trust::Trusted);
        let trust = if trusted { Trust::Trusted } else { Trust::Untrusted };
        let (mut agents, mut declared) = (Vec::new(), Vec::new());
        for (at, agent) in spec.agents.iter().enumerate() {
            let compiled = compile_agent(&spec, agent, depth, grants.as_ref());
            let compiled = compiled.map_err(|error| error.under(&format!("agents[{at}]")))?;
            declared.push(agent_contract(agent, &compiled, trust));
            agents.push(compiled);
        }
        let Policy { planner, approval, .. } = spec.policy;
        let mut policy = spec.policy.plan.clone();
        if planner != Planner::Json {
            // Only a plan in JSON has room to say something beside its steps.
            policy.says = PlanSays::NOTHING;
        }
        let most = spec.limits.max_input_bytes as usize;
        let plan = PlanContract::new(spec.tools.clone(), declared, policy, approval.steps, most);
        let writer = spec.roles.get(&RoleName::Writer);
        let form = writer.and_then(|writer| writer.form.clone()).unwrap_or_default();
        let answer = compile_answer(&spec, &form)?;
        let frame = |(name, role): (&RoleName, &Role)| {
            let plan = match name {
                RoleName::Grant => grants.as_deref().filter(|_| asks_grant)?,
                _ => &plan,
            };
            Some((*name, Arc::new(RequestFrame::of_role(*name, role, plan, &spec.policy, &form))))
        };
        let frames = spec.roles.iter().filter_map(frame).collect();
        let mut suggestions = Vec::new();
        for (at, suggestion) in spec.policy.suggestions.iter().enumerate() {
            let pattern = suggestion.compile(&plan);
            let pattern = pattern.map_err(|error| error.under(&format!("policy.suggestions[{at}]")))?;
            suggestions.push((suggestion.clone(), pattern));
        }
        let placeholders = spec.policy.placeholders.iter().map(|pattern| Regex::new(pattern));
        let placeholders = placeholders.collect::<Result<_, _>>();
        let placeholders =
            placeholders.map_err(|error| SpecError::at("policy.placeholders", error.to_string()))?;
        let has_guards = spec.tools.iter().any(|tool| spec.policy.containment.guards(tool));
        let (spec, bounds) = (Arc::new(spec), OnceLock::new());
        let compiled = CompiledSpec {
            spec,
            plan,
            form,
            answer,
            frames,
            agents,
            suggestions,
            grants,
            asks_grant,
            placeholders,
            has_guards,
            bounds,
        };
        compiled.check_fallbacks()?;
        compiled.check_on_cut()?;
        Ok(compiled)
    }

    /// The spec as it was written.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The spec as it was written, shared: every run's journal begins with it.
    pub(crate) fn shared_spec(&self) -> Arc<Spec> {
        Arc::clone(&self.spec)
    }

    /// The choices.
    pub fn policy(&self) -> &Policy {
        &self.spec.policy
    }

    /// What plans must look like.
    pub fn plan(&self) -> &PlanContract {
        &self.plan
    }

    /// The contract of a tool or an agent.
    pub fn tool(&self, name: &str) -> Option<&ToolContract> {
        self.plan.tool(name)
    }

    /// The contract of a tool, if no agent has the name.
    pub(crate) fn called_tool(&self, name: &str) -> Option<&ToolContract> {
        self.tool(name).filter(|_| self.agent(name).is_none())
    }

    /// The contract of a tool whose calls need authority.
    #[inline]
    pub(crate) fn guarded_tool(&self, name: &str) -> Option<&ToolContract> {
        // Most specs have none, and each step is asked about.
        let tool = self.has_guards.then(|| self.called_tool(name)).flatten();
        tool.filter(|tool| self.policy().containment.guards(tool))
    }

    /// Whether a person may be asked before a call of this tool.
    pub(crate) fn may_ask(&self, tool: &str) -> bool {
        let policy = &self.spec.policy;
        // What the question calls for may refer to what was read, and an agent within may be handed it.
        let refers = policy.labels_values() || self.grants.is_some();
        let asks = policy.on_unauthorised == OnUnauthorised::Ask || refers;
        self.needs_approval(tool) || (asks && self.guarded_tool(tool).is_some())
    }

    /// How often a person may be asked which of several values one step is to take.
    pub(crate) fn most_picks(&self) -> u32 {
        let contained = self.spec.policy.containment != Containment::Off;
        let asks = self.spec.limits.max_questions != Some(0);
        if contained && asks && self.plan.offers_references() { MAX_PICKS } else { 0 }
    }

    /// Whether a person must approve a call of this tool.
    pub fn needs_approval(&self, tool: &str) -> bool {
        self.spec.policy.approval.risky && self.tool(tool).is_some_and(|tool| tool.needs_approval)
    }

    /// An agent by its name.
    pub fn agent(&self, name: &str) -> Option<&CompiledAgent> {
        self.plan.agent(name).map(|at| &self.agents[at])
    }

    /// The agents that do steps, in the order of the spec.
    pub fn agents(&self) -> &[CompiledAgent] {
        &self.agents
    }

    /// Whether steps may run side by side, here or in a nested agent.
    pub fn runs_in_parallel(&self) -> bool {
        let inner =
            |agent: &CompiledAgent| matches!(agent, CompiledAgent::Spec(spec) if spec.runs_in_parallel());
        self.spec.policy.execution.width() > 1 || self.agents.iter().any(inner)
    }

    /// The form of the writer's reply.
    pub fn form(&self) -> &AnswerForm {
        &self.form
    }

    /// Whether the agent has this role.
    pub fn has(&self, role: RoleName) -> bool {
        self.frame(role).is_some()
    }

    /// The constant part of a role's requests; `None` if the agent does not have the role.
    pub fn frame(&self, role: RoleName) -> Option<&Arc<RequestFrame>> {
        self.frames.get(&role)
    }

    /// What follows when a role gives no usable reply.
    pub(crate) fn on_failure(&self, role: RoleName) -> &OnFailure {
        let role = self.spec.roles.get(&role).and_then(|role| role.on_failure.as_ref());
        role.unwrap_or(&self.spec.policy.on_bad_reply)
    }

    /// How often a role's reply may be asked for again: one that was cut, or a bad one.
    pub(crate) fn repairs(&self, role: RoleName, was_cut: bool) -> u32 {
        let repairs = match self.on_failure(role) {
            OnFailure::Fallback(_) => false,
            _ if was_cut => self.policy().on_cut == OnCut::Repair,
            on_failure => *on_failure == OnFailure::Repair,
        };
        if repairs { self.spec.limits.max_repairs } else { 0 }
    }

    /// Whether what came of a cut reply of this role is taken: only words say something without their end.
    pub(crate) fn accepts_cut(&self, role: RoleName) -> bool {
        let policy = self.policy();
        policy.on_cut == OnCut::Accept
            && match role {
                RoleName::Writer => self.form == AnswerForm::Text,
                RoleName::Conversation | RoleName::Agent => true,
                RoleName::Planner => policy.planner == Planner::ToolCalls && policy.write == Write::Planner,
                _ => false,
            }
    }

    /// The calls that are proposed to the planner for a question: every match of every suggestion, in order,
    /// that fits its tool.
    pub fn suggested(&self, question: &str) -> Vec<Suggested> {
        let mut found: Vec<Suggested> = Vec::new();
        for (Suggestion { tool, input: template, .. }, pattern) in &self.suggestions {
            let fits = |value: &Value| self.plan.check_value(tool, value).is_ok();
            for groups in pattern.captures_iter(question) {
                let mut text = String::new();
                groups.expand(template, &mut text);
                // If the tool takes another value than a text, the text is its JSON.
                let values = [Some(Value::from(text.as_str())), serde_json::from_str(&text).ok()];
                let input = values.into_iter().flatten().find(fits);
                let suggested = input.map(|input| Suggested { tool: tool.clone(), input });
                found.extend(suggested.filter(|suggested| !found.contains(suggested)));
                if found.len() == MAX_SUGGESTED {
                    return found;
                }
            }
        }
        found
    }

    /// What a question may be said to call for; `None` where no role says so, of this agent or of one around it.
    pub(crate) fn grants(&self) -> Option<&PlanContract> {
        self.grants.as_deref()
    }

    /// Whether a role is asked which writes the question calls for.
    pub(crate) fn asks_grant(&self) -> bool {
        self.asks_grant
    }

    fn check_on_cut(&self) -> Result<(), SpecError> {
        let speaks = |agent: &CompiledAgent| matches!(agent, CompiledAgent::Role(_));
        let is_read =
            self.frames.keys().any(|role| self.accepts_cut(*role)) || self.agents.iter().any(speaks);
        if self.policy().on_cut != OnCut::Accept || is_read {
            return Ok(());
        }
        Err(SpecError::at(
            "policy.on_cut",
            "\"accept\" is for words, and every role replies with JSON or calls",
        ))
    }

    /// Checks that `max_cost` can be reached: some model that is asked must have a price. Prices may
    /// come from outside the spec, so [`Spec::check`] leaves this to those who know all of them.
    ///
    /// # Errors
    /// Names the limit, here or in a nested agent.
    pub fn check_prices(&self) -> Result<(), SpecError> {
        let prices = &self.spec.prices;
        // The name of the driver's own model is not known here.
        let is_priced =
            |role: &Role| role.model.as_ref().map_or(!prices.is_empty(), |model| prices.contains_key(model));
        if self.spec.limits.max_cost.is_some() && !self.spec.any_role(&is_priced) {
            let problem = "never reached: `prices` has none of a model that is asked";
            return Err(SpecError::at("limits.max_cost", problem));
        }
        for (at, agent) in self.agents.iter().enumerate() {
            let CompiledAgent::Spec(inner) = agent else { continue };
            inner.check_prices().map_err(|error| error.under(&format!("agents[{at}].spec")))?;
        }
        Ok(())
    }
}

fn compile_agent(
    spec: &Spec,
    agent: &SubAgent,
    depth: usize,
    grants: Option<&Arc<PlanContract>>,
) -> Result<CompiledAgent, SpecError> {
    match (&agent.role, &agent.spec) {
        (Some(role), None) => {
            check_role(role, "role")?;
            if role.on_failure == Some(OnFailure::Repair) {
                let problem = "a role that does a step is not asked again; `policy.step_tries` says how often it is tried";
                return Err(SpecError::at("role.on_failure", problem));
            }
            Ok(CompiledAgent::Role(Arc::new(RequestFrame::of_agent(&agent.name, role))))
        }
        (None, Some(_)) if depth == MAX_NESTING => {
            Err(SpecError::at("spec", format!("agents may nest {MAX_NESTING} deep, and this is deeper")))
        }
        (None, Some(inner)) => {
            // What it spends is this agent's, so it is priced like this agent unless it says otherwise.
            let mut inner = (**inner).clone();
            let prices = spec.prices.iter().chain(&inner.prices);
            inner.policy.containment = inner.policy.containment.max(spec.policy.containment);
            inner.prices = prices.map(|(model, price)| (model.clone(), *price)).collect();
            let compiled =
                CompiledSpec::compile(inner, depth + 1, grants).map_err(|error| error.under("spec"))?;
            Ok(CompiledAgent::Spec(Arc::new(compiled)))
        }
        _ => Err(SpecError::at("role", "expected either `role` or `spec`")),
    }
}

/// What an agent declares about itself, as a tool would.
fn agent_contract(agent: &SubAgent, compiled: &CompiledAgent, trust: Trust) -> ToolContract {
    let mut contract = ToolContract::text(&agent.name, &agent.description, ToolEffect::Pure);
    contract.trust = trust;
    contract.max_output_bytes = u32::MAX;
    if let CompiledAgent::Spec(inner) = compiled {
        let all = inner.plan().all();
        contract.effect = all.iter().map(|tool| tool.effect).max().unwrap_or(ToolEffect::Pure);
        contract.idempotent = Some(all.iter().all(ToolContract::is_idempotent));
    }
    contract
}

/// The schema of answers, if the writer's form is one.
fn compile_answer(spec: &Spec, form: &AnswerForm) -> Result<Option<Schema>, SpecError> {
    let AnswerForm::Schema(schema) = form else { return Ok(None) };
    let refuse = |field: &str, problem: &str| Err(SpecError::at(field, problem));
    if spec.roles.contains_key(&RoleName::Conversation) {
        return refuse("roles.conversation", "answers in words, and `roles.writer.form` is a schema");
    }
    if schema.get("type").is_some_and(|kind| kind != "object") {
        let found = &schema["type"];
        return refuse(
            "roles.writer.form.schema.type",
            &format!("expected \"object\", found {found}: put it in an object"),
        );
    }
    let at = |error: ContractError| {
        SpecError::at(error.path().replacen('$', "roles.writer.form.schema", 1), error.problem())
    };
    Schema::new(schema).map(Some).map_err(at)
}
