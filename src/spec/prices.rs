//! The limit on money, which prices alone can reach.

use super::{CompiledSpec, Doer, RoleName, SpecError};

impl CompiledSpec {
    /// Checks that `max_cost` can be reached: some model that is asked must have a price. Prices may
    /// come from outside the spec, so [`Spec::check`](crate::spec::Spec::check) leaves this to the
    /// maker of an agent, who knows all of them.
    ///
    /// # Errors
    /// Names the limit, here or in an agent that does steps.
    pub fn check_prices(&self) -> Result<(), SpecError> {
        let spec = self.spec();
        if spec.limits.max_cost.is_some() {
            let mut models = Vec::new();
            list_models(self, &mut models);
            let priced = |model: &Option<&str>| match model {
                Some(model) => spec.prices.contains_key(*model),
                // The model of a role that names none is the driver's, whose name is not known here.
                None => !spec.prices.is_empty(),
            };
            if !models.iter().any(priced) {
                let problem = "never reached: `prices` has none of a model that is asked";
                return Err(SpecError::at("limits.max_cost", problem));
            }
        }
        for (at, doer) in self.doers().iter().enumerate() {
            if let Doer::Agent(inner) = doer {
                inner.check_prices().map_err(|error| error.under(&format!("agents[{at}].spec")))?;
            }
        }
        Ok(())
    }
}

/// Lists the models that a run may ask; `None` is the driver's own.
fn list_models<'r>(rules: &'r CompiledSpec, models: &mut Vec<Option<&'r str>>) {
    let spec = rules.spec();
    let own = RoleName::ALL.into_iter().filter_map(|name| spec.roles.get(name));
    let agents = spec.agents.iter().filter_map(|agent| agent.role.as_ref());
    models.extend(own.chain(agents).map(|role| role.model.as_deref()));
    for doer in rules.doers() {
        if let Doer::Agent(inner) = doer {
            list_models(inner, models);
        }
    }
}
