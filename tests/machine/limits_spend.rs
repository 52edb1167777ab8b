//! What a run spends: tokens by role, money by the prices of the spec in whole billionths, and the
//! limits on both.

use crate::promise;

use planwright::machine::Usage;
use planwright::spec::{Money, RoleName, Spec};
use promise::{Say, Told, asks, decision, found, plan, role_agent, spec, team, text, with_agents};
use serde_json::json;

const PRICES: &str = "\n[prices.small]\ninput = '2.5'\noutput = '10'\ncached = '0.25'\n\
    [prices.big]\ninput = 15\noutput = '60.000001'\n";

/// A reply that was asked of a model and took so many tokens.
fn paid(say: Say, model: &str, input: u64, output: u64, cached: u64) -> Say {
    let Say::Reply(mut reply) = say else { panic!("a reply") };
    reply.model = model.into();
    reply.usage = Usage { input_tokens: input, output_tokens: output, cached_tokens: cached };
    Say::Reply(reply)
}

fn priced(policy: &str) -> Spec {
    spec(&format!("{policy}{PRICES}"))
}

fn one() -> Say {
    plan(json!([{"tool": "calc", "input": "1"}]))
}

fn nanos(told: &Told) -> u64 {
    told.state.task.counters.cost.nanos()
}

#[test]
fn tokens_are_counted_by_role_and_in_all() {
    let told = Told::run(
        priced("intake = ['scope']\nvalidate = 'verdict'"),
        [
            paid(text("?"), "small", 1, 2, 0),
            paid(text(r#"{"in_scope": true}"#), "small", 10, 20, 5),
            paid(one(), "small", 100, 200, 0),
            found("1"),
            paid(promise::verdict(true, "", ""), "big", 1_000, 2_000, 0),
            paid(text("답"), "", 10_000, 20_000, 0),
        ],
    );
    let by_role: Vec<(RoleName, u64, u64)> = told
        .state
        .task
        .usage_by_role
        .iter()
        .map(|(role, usage)| (*role, usage.input_tokens, usage.output_tokens))
        .collect();
    assert_eq!(
        by_role,
        [
            (RoleName::Scope, 11, 22),
            (RoleName::Planner, 100, 200),
            (RoleName::Validator, 1_000, 2_000),
            (RoleName::Writer, 10_000, 20_000),
        ]
    );
    let usage = told.state.task.counters.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cached_tokens), (11_111, 22_222, 5));
}

/// What one planner's reply costs, in billionths.
#[track_caller]
fn costs(model: &str, input: u64, output: u64, cached: u64, expected: u64) {
    let told = Told::run(priced(""), [paid(one(), model, input, output, cached)]);
    assert_eq!(nanos(&told), expected, "{model} {input} {output} {cached}");
}

#[test]
fn cost_is_exact_to_the_billionth_and_rounded_down_for_each_kind() {
    costs("small", 1_000_000, 0, 0, 2_500_000_000);
    costs("small", 1, 1, 0, 2_500 + 10_000);
    costs("small", 1_000, 500, 400, 600 * 2_500 + 400 * 250 + 500 * 10_000);
    costs("big", 3, 7, 0, 3 * 15_000 + 420_000);
    costs("big", 0, 1_000_000, 0, 60_000_001_000);
    // More in the cache than was read cannot be: all of it was in the cache.
    costs("small", 10, 0, 99, 10 * 250);
    // No price for what is in the cache: as for the rest.
    costs("big", 10, 0, 10, 10 * 15_000);
    costs("unknown", 1_000_000, 1_000_000, 0, 0);
}

#[test]
fn costs_add_up_over_models_and_in_any_order() {
    let plans = plan(json!([{"agent": "critic", "task": "a"}, {"agent": "critic", "task": "b"}]));
    let both = with_agents(priced("execution = { mode = 'parallel', width = 2 }"), [role_agent("critic")]);
    let mut ends = Vec::new();
    for order in [["step.1.1.1", "step.1.2.1"], ["step.1.2.1", "step.1.1.1"]] {
        let mut told = Told::run(both.clone(), [paid(plans.clone(), "small", 7, 3, 0)]);
        for to in order {
            let (model, tokens) = if to.starts_with("step.1.1") { ("big", 11) } else { ("small", 13) };
            told.answer(to, paid(text("ok"), model, tokens, tokens, 0));
        }
        ends.push(serde_json::to_string(&told.state).expect("written"));
        let expected = 7 * 2_500 + 3 * 10_000 + 11 * 15_000 + 660_000 + 13 * 12_500;
        assert_eq!(nanos(&told), expected);
        assert_eq!(told.state.task.usage_by_agent["critic"].input_tokens, 24);
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn used_up_tokens_end_the_run_before_the_next_call() {
    let limited = |most: u32| spec(&format!("[limits]\nmax_tokens = {most}"));
    let told = Told::run(limited(30), [paid(one(), "m", 10, 20, 0), found("1")]);
    assert_eq!(told.error(), "MAX_TOKENS_EXCEEDED: 30 tokens are spent, 30 are allowed");
    assert_eq!(told.state.task.counters.model_calls, 1);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "WRITE"]);
    let told =
        Told::run(limited(31), [paid(one(), "m", 10, 20, 0), found("1"), paid(text("답"), "m", 900, 1, 0)]);
    assert_eq!(told.said(), "답", "what was asked is taken");
    let told = Told::run(limited(30), [paid(text("?"), "m", 10, 20, 0)]);
    assert!(told.error().starts_with("MAX_TOKENS_EXCEEDED"), "a repair is a call too: {}", told.error());
}

#[test]
fn used_up_money_ends_the_run_before_the_next_call() {
    let limited = |most: &str| priced(&format!("[limits]\nmax_cost = '{most}'"));
    let told = Told::run(limited("0.0002"), [paid(one(), "small", 0, 20, 0), found("1")]);
    assert_eq!(told.error(), "MAX_COST_EXCEEDED: 0.0002 is spent, 0.0002 is allowed");
    let told = Told::run(limited("0.000200001"), [paid(one(), "small", 0, 20, 0), found("1"), text("답")]);
    assert_eq!(told.said(), "답");
    assert_eq!(told.state.task.counters.cost, Money::of_nanos(200_000));
    let told = Told::run(limited("0.0002"), [paid(one(), "unpriced", 0, 20_000, 0), found("1"), text("답")]);
    assert_eq!(told.said(), "답", "what has no price costs nothing");
}

#[test]
fn a_plan_that_asks_models_is_not_begun_without_tokens() {
    let limited = with_agents(spec("[limits]\nmax_tokens = 10"), [role_agent("critic")]);
    let told = Told::run(limited, [paid(plan(json!([{"agent": "critic", "task": "t"}])), "m", 10, 0, 0)]);
    assert!(told.error().starts_with("MAX_TOKENS_EXCEEDED"), "{}", told.error());
    assert_eq!(told.phases(), ["PLAN", "EXECUTE"]);
}

#[test]
fn what_nested_runs_spend_counts_for_the_run_around_them() {
    let nested = with_agents(spec("[limits]\nmax_tokens = 100"), [team("team")]);
    let told = Told::run(
        nested,
        [
            paid(plan(json!([{"agent": "team", "task": "t"}])), "m", 10, 0, 0),
            paid(asks(&[("calc", "1")]), "m", 60, 30, 0),
            found("1"),
        ],
    );
    assert_eq!(told.error(), "MAX_TOKENS_EXCEEDED: 100 tokens are spent, 100 are allowed");
    assert_eq!(told.state.task.usage_by_agent["team"].output_tokens, 30);
}

#[test]
fn each_agent_is_told_by_its_name_and_a_nested_run_by_the_name_of_its_step() {
    let mut outer = team("editors");
    outer.spec.as_mut().expect("whole").agents = vec![role_agent("critic")];
    let agents =
        with_agents(spec("write = 'last_result'"), [role_agent("critic"), role_agent("search"), outer]);
    let steps = [("critic", "a"), ("search", "b"), ("editors", "c"), ("critic", "d")];
    let steps = steps.map(|(agent, task)| json!({"agent": agent, "task": task}));
    let told = Told::run(
        agents,
        [
            paid(plan(json!(steps)), "m", 1, 2, 0),
            paid(text("A"), "m", 10, 20, 0),
            paid(text("B"), "m", 100, 200, 3),
            paid(asks(&[("critic", "x")]), "m", 1_000, 2_000, 0),
            paid(text("C"), "m", 10_000, 20_000, 0),
            paid(text("D"), "m", 100_000, 200_000, 0),
        ],
    );
    let by_name: Vec<(String, u64)> =
        told.state.task.usage_by_name().map(|(name, usage)| (name, usage.input_tokens)).collect();
    let expected =
        [("planner", 1), ("agent:critic", 100_010), ("agent:editors", 11_000), ("agent:search", 100)];
    assert_eq!(by_name, expected.map(|(name, tokens)| (name.to_owned(), tokens)));
    let mut sum = Usage::default();
    told.state.task.usage_by_name().for_each(|(_, usage)| sum.add(usage));
    assert_eq!(sum, told.state.task.counters.usage, "each token is counted under one name");
    assert_eq!(told.state, told.folded());
}

#[test]
fn a_nested_run_that_has_used_up_its_own_tokens_is_a_failed_step() {
    let mut small = team("team");
    small.spec.as_mut().expect("whole").limits.max_tokens = Some(5);
    let told = Told::run(
        with_agents(spec(""), [small]),
        [plan(json!([{"agent": "team", "task": "t"}])), paid(text(" "), "m", 5, 0, 0)],
    );
    assert_eq!(
        told.results(),
        ["step_1: failed: ERROR: agent: MAX_TOKENS_EXCEEDED: 5 tokens are spent, 5 are allowed"]
    );
}

#[test]
fn a_limit_of_nothing_is_refused_at_load() {
    for (limit, field) in [("max_tokens = 0", "limits.max_tokens"), ("max_cost = '0'", "limits.max_cost")] {
        assert_eq!(promise::checked(&format!("[limits]\n{limit}")).expect_err(limit).field(), field);
    }
}

#[test]
fn replies_out_of_the_cache_are_counted() {
    let mut cached = one();
    if let Say::Reply(reply) = &mut cached {
        reply.cached = true;
    }
    let told = Told::run(spec(""), [cached, found("1"), text("답")]);
    let spent = told.state.task.counters;
    assert_eq!((spent.model_calls, spent.cached_replies), (2, 1));
    assert_eq!(told.line("CACHED")["of"], json!("planner"));
}

#[test]
fn nested_spending_has_the_prices_of_the_run_around_it() {
    let nested = with_agents(priced(""), [team("team")]);
    let mut told = Told::run(nested, [plan(json!([{"agent": "team", "task": "t"}]))]);
    told.tell([paid(asks(&[("calc", "1")]), "small", 100, 10, 0), found("1")]);
    assert_eq!(nanos(&told), 100 * 2_500 + 10 * 10_000);
}

#[test]
fn tokens_are_looked_at_between_two_steps_that_run_one_by_one() {
    let limited = with_agents(spec("[limits]\nmax_tokens = 50"), [role_agent("critic"), team("team")]);
    for second in ["critic", "team"] {
        let steps = plan(json!([{"agent": "critic", "task": "a"}, {"agent": second, "task": "b"}]));
        let told = Told::run(limited.clone(), [steps, paid(text("좋음"), "m", 50, 0, 0)]);
        assert!(told.error().starts_with("MAX_TOKENS_EXCEEDED"), "{second}: {:?}", told.waits());
    }
}

#[test]
fn an_added_agent_is_not_begun_without_tokens() {
    let limited = with_agents(spec("orchestrate = 'each_step'\n[limits]\nmax_tokens = 50"), [team("team")]);
    let add = decision(json!({"action": "add_agent", "next_agent": "team", "task": "더"}));
    let mut told =
        Told::run(limited, [plan(json!([{"agent": "team", "task": "t"}])), paid(add, "m", 50, 0, 0)]);
    if !told.error().starts_with("MAX_TOKENS_EXCEEDED") {
        let first = told.waits()[0].clone();
        told.answer(&first, asks(&[("calc", "1")]));
        panic!("{first} was asked with no tokens left");
    }
}
