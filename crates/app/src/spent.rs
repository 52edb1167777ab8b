//! What a run has spent: tokens by role and agent, and money where prices are known.

use serde::{Serialize, Serializer};

use planwright::contract::sanitize;
use planwright::machine::{State, Usage};
use planwright::spec::{Money, Prices};

/// What a run has spent, as `--json` prints it. Every field is always there.
#[derive(Debug, Default, Serialize)]
pub struct Spent<'a> {
    tokens: Usage,
    #[serde(serialize_with = "as_map")]
    by_role: Vec<(String, Usage)>,
    /// `None` where no price is known.
    cost: Option<Money>,
    currency: Option<&'a str>,
}

fn as_map<S: Serializer>(by_role: &[(String, Usage)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(by_role.iter().map(|(role, usage)| (role, usage)))
}

impl<'a> Spent<'a> {
    /// What a run has spent so far.
    pub fn of(state: &State, prices: &Prices, currency: Option<&'a str>) -> Self {
        let cost = (!prices.is_empty()).then_some(state.task.counters.cost);
        let by_role = state.task.usage_by_name().collect();
        Spent { tokens: state.task.counters.usage, by_role, cost, currency }
    }

    /// One line for people; `None` where nothing was spent.
    pub fn line(&self) -> Option<String> {
        if self.tokens.is_zero() {
            return None;
        }
        let mut line =
            format!("{} tokens read, {} written", self.tokens.input_tokens, self.tokens.output_tokens);
        if self.tokens.cached_tokens > 0 {
            line.push_str(&format!(" ({} of those read were cached)", self.tokens.cached_tokens));
        }
        let role = |(role, usage): &(String, Usage)| {
            format!("{role} {}+{}", usage.input_tokens, usage.output_tokens)
        };
        let roles: Vec<String> = self.by_role.iter().map(role).collect();
        if !roles.is_empty() {
            line.push_str(&format!("; {}", roles.join(", ")));
        }
        if let Some(cost) = self.cost {
            let currency = self.currency.map_or_else(String::new, |text| format!(" {}", sanitize(text)));
            line.push_str(&format!("; cost {cost}{currency}"));
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens, cached_tokens }
    }

    #[test]
    fn spending_is_told_by_role_and_in_money_where_a_price_is_known() {
        let by_role =
            vec![("planner".to_owned(), usage(800, 20, 0)), ("writer".to_owned(), usage(434, 36, 0))];
        let mut spent = Spent { tokens: usage(1234, 56, 100), by_role, cost: None, currency: None };
        let tokens = "1234 tokens read, 56 written (100 of those read were cached)";
        let roles = "planner 800+20, writer 434+36";
        assert_eq!(spent.line(), Some(format!("{tokens}; {roles}")));

        spent.cost = Some(Money::of_nanos(12_500_000));
        assert_eq!(spent.line(), Some(format!("{tokens}; {roles}; cost 0.0125")));
        spent.currency = Some("USD");
        assert_eq!(spent.line(), Some(format!("{tokens}; {roles}; cost 0.0125 USD")));
        let object = json!(spent);
        assert_eq!((&object["cost"], &object["currency"]), (&json!("0.0125"), &json!("USD")));
        assert_eq!(object["by_role"]["writer"]["input_tokens"], 434);
    }

    #[test]
    fn run_that_spent_nothing_says_nothing() {
        assert_eq!(Spent::default().line(), None);
    }
}
