//! What roles may reply, as the spec has it.

use serde_json::Value;

use super::CompiledSpec;
use crate::contract::{
    AnswerForm, Before, ContractError, Decision, Filling, Intent, PreviousContext, ReadPlan, Scope, excerpt,
};
use crate::spec::{OnFailure, Planner, RoleName, SpecError};

impl CompiledSpec {
    /// Parses an answer of the writer, or of the role that talks.
    ///
    /// # Errors
    /// What does not read, does not conform to the writer's form, or holds a placeholder.
    pub fn parse_answer(&self, role: RoleName, text: &str) -> Result<String, ContractError> {
        let form = if role == RoleName::Writer { &self.form } else { &AnswerForm::Text };
        let answer = form.parse(text, self.max_reply_bytes())?;
        let Some(schema) = self.answer.as_ref().filter(|_| role == RoleName::Writer) else {
            return self.check_answer(&answer).map(|()| answer);
        };
        let value: Value = serde_json::from_str(&answer).expect("it was written from a value");
        schema.check(&value)?;
        self.check_texts(&value).map(|()| answer)
    }

    /// Checks that no text in a value holds a placeholder.
    fn check_texts(&self, value: &Value) -> Result<(), ContractError> {
        match value {
            Value::String(text) => self.check_answer(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.check_texts(item)),
            Value::Object(fields) => fields.values().try_for_each(|field| self.check_texts(field)),
            _ => Ok(()),
        }
    }

    /// Checks that an answer holds no placeholder.
    pub fn check_answer(&self, answer: &str) -> Result<(), ContractError> {
        let mut placeholders = self.placeholders.iter().filter_map(|pattern| pattern.find(answer));
        let Some(found) = placeholders.next() else { return Ok(()) };
        let found = excerpt(found.as_str().trim(), 60);
        Err(ContractError::at("$", format!("expected the answer itself, found the placeholder {found:?}")))
    }

    /// Parses a decision of the orchestrator.
    #[doc(hidden)]
    pub fn parse_decision(&self, text: &str) -> Result<Decision, ContractError> {
        Decision::parse(text, |name| self.plan.agent(name).is_some(), self.max_reply_bytes())
    }

    /// Parses a value that an executor gives for a hole with this schema.
    pub(crate) fn parse_filling(&self, text: &str, schema: &Value) -> Result<Value, ContractError> {
        Filling::parse(text, schema, self.max_reply_bytes())
    }

    /// Parses which writes a question calls for.
    #[doc(hidden)]
    pub fn parse_grant(&self, text: &str) -> Result<ReadPlan, ContractError> {
        let grants = self.grants().ok_or_else(|| ContractError::at("$", "expected nothing to be granted"))?;
        grants.parse(Before::NOTHING, text, self.max_reply_bytes())
    }

    /// Parses an intent.
    #[doc(hidden)]
    pub fn parse_intent(&self, text: &str) -> Result<Intent, ContractError> {
        let intent = &self.spec.policy.intent;
        Intent::parse(intent.form, &intent.kinds, text, self.max_reply_bytes())
    }

    pub(crate) fn max_reply_bytes(&self) -> usize {
        self.spec.limits.max_reply_bytes as usize
    }

    /// A fallback is a reply, so it must parse as one.
    pub(super) fn check_fallbacks(&self) -> Result<(), SpecError> {
        for (name, role) in &self.spec.roles {
            let Some(OnFailure::Fallback(text)) = &role.on_failure else { continue };
            self.check_reply(*name, text).map_err(|error| {
                SpecError::at(format!("roles.{name}.on_failure.fallback"), error.to_string())
            })?;
        }
        Ok(())
    }

    fn check_reply(&self, role: RoleName, text: &str) -> Result<(), ContractError> {
        let most = self.max_reply_bytes();
        match role {
            RoleName::Scope => Scope::parse(text, most).map(drop),
            RoleName::PreviousContext => PreviousContext::parse(text, most).map(drop),
            RoleName::Intent => self.parse_intent(text).map(drop),
            RoleName::Grant if self.asks_grant => self.parse_grant(text).map(drop),
            RoleName::Orchestrator => self.parse_decision(text).map(drop),
            // What a value must fit stands in the plan.
            RoleName::Executor => self.parse_filling(text, &Value::Bool(true)).map(drop),
            RoleName::Validator => self.spec.policy.validate.parse(text, most).map(drop),
            RoleName::Writer | RoleName::Conversation => self.parse_answer(role, text).map(drop),
            RoleName::Planner | RoleName::Replanner => match self.spec.policy.planner {
                Planner::Json => self.plan.parse(Before::NOTHING, text, most).map(drop),
                Planner::ToolCalls => AnswerForm::Text.parse(text, most).map(drop),
                Planner::ReactText => self.plan.parse_react(Before::NOTHING, text, most).map(drop),
            },
            RoleName::Grant | RoleName::Agent => Ok(()),
        }
    }
}
