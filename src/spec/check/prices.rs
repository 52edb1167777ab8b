//! The limit on money, which prices alone can reach.

use super::{Checked, refuse};
use crate::spec::{CompiledSpec, Doer};

/// Whether `max_cost` can be reached: some model that is asked must have a price. Prices may come from
/// outside the spec, so this is no part of [`Spec::check`](crate::spec::Spec::check): it is asked where
/// an agent is made that may ask a model, when all prices are known.
pub(in crate::spec) fn check_prices(rules: &CompiledSpec) -> Checked {
    let spec = rules.spec();
    if spec.limits.max_cost.is_some() {
        let mut models = Vec::new();
        asked(rules, &mut models);
        let priced = |model: &Option<&str>| match model {
            Some(model) => spec.prices.contains_key(*model),
            // The model of a role that names none is the driver's, whose name is not known here.
            None => !spec.prices.is_empty(),
        };
        if !models.iter().any(priced) {
            return refuse("limits.max_cost", "never reached: `prices` has none of a model that is asked");
        }
    }
    for (at, doer) in rules.doers().iter().enumerate() {
        if let Doer::Agent(inner) = doer {
            check_prices(inner).map_err(|error| error.under(&format!("agents[{at}].spec")))?;
        }
    }
    Ok(())
}

/// The models that a run may ask; `None` is the driver's own.
fn asked<'r>(rules: &'r CompiledSpec, models: &mut Vec<Option<&'r str>>) {
    let spec = rules.spec();
    let own = crate::spec::RoleName::ALL.into_iter().filter_map(|name| spec.roles.get(name));
    let members = spec.agents.iter().filter_map(|member| member.role.as_ref());
    models.extend(own.chain(members).map(|role| role.model.as_deref()));
    for doer in rules.doers() {
        if let Doer::Agent(inner) = doer {
            asked(inner, models);
        }
    }
}
