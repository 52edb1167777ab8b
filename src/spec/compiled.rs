//! CompiledSpec: a checked spec, with all that is worked out from it once.

use std::sync::{Arc, OnceLock};

use super::check::check_spec;
use super::frame::{RequestFrame, frame, member_frame};
use super::suggest::{Suggested, Suggestions};
use super::{Bounds, Member, OnBadReply, OnFailure, Planner, Policy, RoleName, Spec, SpecError};
use crate::contract::{
    AnswerForm, Decision, Intent, PlanContract, PlanSays, PlanShape, PreviousContext, Scope, ToolContract,
    ToolEffect, Trust,
};

/// Who does an agent's step.
#[derive(Clone, Debug)]
pub enum Doer {
    /// A role: the constant part of its requests.
    Role(Arc<RequestFrame>),
    /// A whole agent: the rules of its run.
    Agent(Arc<CompiledSpec>),
}

/// A checked spec. The journal keeps the [`Spec`], the driver an `Arc<CompiledSpec>`, the state neither.
#[derive(Clone, Debug)]
pub struct CompiledSpec {
    spec: Arc<Spec>,
    plan: PlanContract,
    form: AnswerForm,
    frames: [Option<Arc<RequestFrame>>; RoleName::ALL.len()],
    /// In the order of the spec's agents.
    doers: Vec<Doer>,
    suggestions: Suggestions,
    pub(super) bounds: OnceLock<Bounds>,
}

/// How deep agents may nest: an agent's agents may have agents of their own, and that is all.
pub const MAX_NESTING: usize = 2;

impl Spec {
    /// Checks the spec and works out what follows from it.
    ///
    /// # Errors
    /// The first field that is out of range or contradicts another, by name.
    pub fn check(self) -> Result<CompiledSpec, SpecError> {
        CompiledSpec::nested(self, 0)
    }

    /// The most calls that a run can make before its answer.
    pub(crate) fn most_calls_before_the_answer(&self) -> u32 {
        super::check::most_steps(self).0
    }
}

impl CompiledSpec {
    fn nested(spec: Spec, depth: usize) -> Result<Self, SpecError> {
        check_spec(&spec)?;
        let doers: Vec<Doer> = (0..spec.agents.len())
            .map(|at| doer(&spec, at, depth).map_err(|error| error.under(&format!("agents[{at}]"))))
            .collect::<Result<_, _>>()?;
        // An agent may hand on what any tool has returned, so it is trusted where all of them are.
        let trusted = spec.all_tools().iter().all(|tool| tool.trust == Trust::Trusted);
        let trust = if trusted { Trust::Trusted } else { Trust::Untrusted };
        let members = spec.agents.iter().zip(&doers);
        let members = members.map(|(member, doer)| contract(member, doer, trust)).collect();
        let policy = &spec.policy;
        let shape = PlanShape {
            min_steps: policy.plan.min_steps as usize,
            max_steps: policy.plan.max_steps as usize,
            max_depth: policy.plan.max_depth.map_or(usize::MAX, |most| most as usize),
            final_step: policy.plan.final_step,
            hitl: policy.approval.steps,
            // Only a plan in JSON has room to say something beside its steps.
            says: match policy.planner {
                Planner::Json => policy.plan.says,
                Planner::ToolCalls | Planner::ReactText => PlanSays::NOTHING,
            },
            fields: policy.plan.fields.clone(),
            required: policy.plan.required.clone(),
            max_input_bytes: spec.limits.max_input_bytes as usize,
        };
        let plan = PlanContract::new(spec.tools.clone(), members, shape);
        let form = spec.roles.writer.as_ref().and_then(|writer| writer.form).unwrap_or_default();
        let frames = RoleName::ALL.map(|name| {
            let role = spec.roles.get(name)?;
            Some(Arc::new(frame(name, role, &plan, policy, form)))
        });
        let suggestions = Suggestions::of(policy, &plan)?;
        let rules = CompiledSpec {
            spec: Arc::new(spec),
            plan,
            form,
            frames,
            doers,
            suggestions,
            bounds: OnceLock::new(),
        };
        rules.check_fallbacks()?;
        Ok(rules)
    }

    /// The spec as it was written.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The same, to be kept: every run's journal begins with it.
    pub fn shared_spec(&self) -> Arc<Spec> {
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

    /// The contract of one tool or agent.
    pub fn tool(&self, name: &str) -> Option<&ToolContract> {
        self.plan.tool(name)
    }

    /// Whether a person must allow a call of this tool.
    pub fn needs_permit(&self, tool: &str) -> bool {
        self.spec.policy.approval.risky && self.tool(tool).is_some_and(|tool| tool.needs_approval)
    }

    /// Who does the steps of an agent; `None` where the name is a tool's or nobody's.
    pub fn doer(&self, name: &str) -> Option<&Doer> {
        self.plan.agent(name).map(|at| &self.doers[at])
    }

    /// Whether steps may run side by side, here or in an agent that does a step.
    pub fn runs_beside(&self) -> bool {
        let inner = |doer: &Doer| matches!(doer, Doer::Agent(rules) if rules.runs_beside());
        self.spec.policy.execution.width() > 1 || self.doers.iter().any(inner)
    }

    /// Who does the steps of the spec's agents, in their order.
    pub fn doers(&self) -> &[Doer] {
        &self.doers
    }

    /// The form of the writer's reply.
    pub fn form(&self) -> AnswerForm {
        self.form
    }

    /// Whether the agent has this role.
    pub fn has(&self, role: RoleName) -> bool {
        self.frame(role).is_some()
    }

    /// The constant part of a role's requests; `None` where the agent does not have the role.
    pub fn frame(&self, role: RoleName) -> Option<&Arc<RequestFrame>> {
        self.frames.get(role as usize)?.as_ref()
    }

    /// What follows when a role gives no usable reply.
    pub fn on_failure(&self, role: RoleName) -> OnFailure {
        let own = self.spec.roles.get(role).and_then(|role| role.on_failure.clone());
        own.unwrap_or(match self.spec.policy.on_bad_reply {
            OnBadReply::Fail => OnFailure::Fail,
            OnBadReply::Repair => OnFailure::Repair,
        })
    }

    /// How often a role's reply may be asked for again.
    pub fn repairs(&self, role: RoleName) -> u32 {
        match self.on_failure(role) {
            OnFailure::Repair => self.spec.limits.max_repairs,
            OnFailure::Fail | OnFailure::Fallback(_) => 0,
        }
    }

    /// The calls that are proposed to the planner for a question.
    pub fn suggested(&self, question: &str) -> Vec<Suggested> {
        self.suggestions.matching(question)
    }

    /// Reads a decision of the orchestrator.
    ///
    /// # Errors
    /// What does not fit, with its JSON path.
    pub fn read_decision(&self, text: &str) -> Result<Decision, crate::contract::ContractError> {
        let most = self.spec.limits.max_reply_bytes as usize;
        Decision::read(text, |name| self.plan.agent(name).is_some(), most)
    }

    /// Reads an intent.
    ///
    /// # Errors
    /// What does not fit, with its JSON path.
    pub fn read_intent(&self, text: &str) -> Result<Intent, crate::contract::ContractError> {
        let intent = &self.spec.policy.intent;
        Intent::read(intent.form, &intent.kinds, text, self.spec.limits.max_reply_bytes as usize)
    }

    /// A fallback is a reply, so it must read as one.
    fn check_fallbacks(&self) -> Result<(), SpecError> {
        let most = self.spec.limits.max_reply_bytes as usize;
        for name in RoleName::ALL.into_iter().filter(|name| self.has(*name)) {
            let OnFailure::Fallback(text) = self.on_failure(name) else { continue };
            let read = match name {
                RoleName::Scope => Scope::read(&text, most).map(drop),
                RoleName::PreviousContext => PreviousContext::read(&text, most).map(drop),
                RoleName::Intent => self.read_intent(&text).map(drop),
                RoleName::Orchestrator => self.read_decision(&text).map(drop),
                RoleName::Validator => {
                    self.spec.policy.validate.form().map_or(Ok(()), |form| form.read(&text, most).map(drop))
                }
                RoleName::Writer => self.form.read(&text, most).map(drop),
                RoleName::Conversation => AnswerForm::Text.read(&text, most).map(drop),
                RoleName::Planner | RoleName::Replanner => match self.spec.policy.planner {
                    Planner::Json => self.plan.read(&text, most).map(drop),
                    Planner::ToolCalls => AnswerForm::Text.read(&text, most).map(drop),
                    Planner::ReactText => {
                        self.plan.read_react(crate::contract::plan::Before::NOTHING, &text, most).map(drop)
                    }
                },
                RoleName::Agent => Ok(()),
            };
            read.map_err(|error| {
                SpecError::at(format!("roles.{name}.on_failure.fallback"), error.to_string())
            })?;
        }
        Ok(())
    }
}

fn doer(spec: &Spec, at: usize, depth: usize) -> Result<Doer, SpecError> {
    let member = &spec.agents[at];
    match (&member.role, &member.spec) {
        (Some(role), None) => {
            super::check::check_role(role, "role")?;
            if role.on_failure == Some(OnFailure::Repair) {
                let problem = "a role that does a step is not asked again; `policy.step_tries` says how often it is tried";
                return Err(SpecError::at("role.on_failure", problem));
            }
            Ok(Doer::Role(Arc::new(member_frame(member, role))))
        }
        (None, Some(_)) if depth == MAX_NESTING => {
            Err(SpecError::at("spec", format!("agents may nest {MAX_NESTING} deep, and this is deeper")))
        }
        (None, Some(inner)) => {
            // What it spends is this agent's, so it is priced like this agent's, unless it says otherwise.
            let mut inner = (**inner).clone();
            for (model, price) in &spec.prices {
                inner.prices.entry(model.clone()).or_insert(*price);
            }
            let rules = CompiledSpec::nested(inner, depth + 1).map_err(|error| error.under("spec"))?;
            Ok(Doer::Agent(Arc::new(rules)))
        }
        _ => Err(SpecError::at("role", "expected either `role` or `spec`")),
    }
}

/// What a member declares about itself, as a tool would.
fn contract(member: &Member, doer: &Doer, trust: Trust) -> ToolContract {
    let mut contract = ToolContract::text(&member.name, &member.description, ToolEffect::Pure);
    contract.trust = trust;
    if let Doer::Agent(rules) = doer {
        let all = rules.plan().all();
        contract.effect = all.iter().map(|tool| tool.effect).max().unwrap_or(ToolEffect::Pure);
        contract.idempotent = Some(all.iter().all(|tool| tool.is_idempotent()));
    }
    contract.max_output_bytes = u32::MAX;
    contract
}
