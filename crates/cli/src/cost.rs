//! What a run has spent: tokens by role and agent, and money where prices are known.

use serde_json::{Value, json};

use super::text;
use planwright::machine::{State, Usage};
use planwright::spec::{Money, Prices};

/// What a run has spent.
#[derive(Debug, Default)]
pub struct Spent {
    total: Usage,
    by_role: Vec<(String, Usage)>,
    /// `None` where no price is known.
    cost: Option<Money>,
}

impl Spent {
    /// What a run has spent so far.
    pub fn of(state: &State, prices: &Prices) -> Self {
        let cost = (!prices.is_empty()).then_some(state.task.counters.cost);
        Spent { total: state.task.counters.usage, by_role: state.task.usage_by_name().collect(), cost }
    }

    /// One line for people; `None` where nothing was spent.
    pub fn line(&self, currency: Option<&str>) -> Option<String> {
        if self.total.is_zero() {
            return None;
        }
        let mut line =
            format!("{} tokens read, {} written", self.total.input_tokens, self.total.output_tokens);
        if self.total.cached_tokens > 0 {
            line.push_str(&format!(" ({} of those read were cached)", self.total.cached_tokens));
        }
        let role = |(role, usage): &(String, Usage)| {
            format!("{role} {}+{}", usage.input_tokens, usage.output_tokens)
        };
        let roles: Vec<String> = self.by_role.iter().map(role).collect();
        if !roles.is_empty() {
            line.push_str(&format!("; {}", roles.join(", ")));
        }
        if let Some(cost) = self.cost {
            let currency = currency.map_or_else(String::new, |currency| format!(" {}", text::line(currency)));
            line.push_str(&format!("; cost {cost}{currency}"));
        }
        Some(line)
    }

    /// The same for machines. Every field is always there.
    pub fn json(&self, currency: Option<&str>) -> Value {
        let roles = self.by_role.iter().map(|(role, usage)| (role.clone(), json!(usage)));
        json!({
            "tokens": self.total,
            "by_role": roles.collect::<serde_json::Map<String, Value>>(),
            "cost": self.cost,
            "currency": currency,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens, cached_tokens }
    }

    #[test]
    fn spending_is_told_by_role_and_in_money_where_a_price_is_known() {
        let by_role =
            vec![("planner".to_owned(), usage(800, 20, 0)), ("writer".to_owned(), usage(434, 36, 0))];
        let mut spent = Spent { total: usage(1234, 56, 100), by_role, cost: None };
        let tokens = "1234 tokens read, 56 written (100 of those read were cached)";
        let roles = "planner 800+20, writer 434+36";
        assert_eq!(spent.line(Some("USD")), Some(format!("{tokens}; {roles}")));
        assert_eq!(spent.json(None)["cost"], Value::Null);

        spent.cost = Some(Money::of_nanos(12_500_000));
        assert_eq!(spent.line(Some("USD")), Some(format!("{tokens}; {roles}; cost 0.0125 USD")));
        assert_eq!(spent.line(None), Some(format!("{tokens}; {roles}; cost 0.0125")));
        let object = spent.json(Some("USD"));
        assert_eq!((&object["cost"], &object["currency"]), (&json!("0.0125"), &json!("USD")));
        assert_eq!(object["by_role"]["writer"]["input_tokens"], 434);
    }

    #[test]
    fn run_that_spent_nothing_says_nothing() {
        assert_eq!(Spent::default().line(Some("USD")), None);
    }
}
