//! What a run spends: tokens by role, money by the prices of the spec in whole billionths, and the
//! limits on both.

use planwright::machine::{Event, FailureClass, ModelFailure, ModelReply, Usage};
use planwright::spec::{Money, OnFailure, Price, Spec};
use serde_json::json;

use crate::promise::{
    Say, Told, asks, checked, decision, found, id, plan, role_agent, spec, team, team_that, text, verdict,
    with_agents,
};

const PRICES: &str = "\n[prices.small]\ninput = '2.5'\noutput = '10'\ncached = '0.25'\n\
    [prices.big]\ninput = 15\noutput = '60.000001'\n";

/// A reply that was asked of a model and took so many tokens.
fn paid(say: Say, model: &str, input: u64, output: u64, cached: u64) -> Say {
    let usage =
        Usage { input_tokens: input, output_tokens: output, cached_tokens: cached, ..Usage::default() };
    Say::Reply(ModelReply { model: model.into(), usage, ..say.reply() })
}

fn priced(policy: &str) -> Spec {
    spec(&format!("{policy}{PRICES}"))
}

fn limited(limit: &str) -> Spec {
    spec(&format!("[limits]\n{limit}"))
}

fn one() -> Say {
    plan("calc 1")
}

fn nanos(told: &Told) -> u64 {
    told.spent().cost.nanos()
}

#[test]
fn tokens_that_went_into_a_cache_have_a_price_of_their_own_where_one_is_set() {
    let usage =
        Usage { input_tokens: 1_000, cached_tokens: 600, cache_written_tokens: 300, ..Usage::default() };
    let cost = |price: &str| usage.cost(&toml::from_str::<Price>(price).unwrap()).nanos();
    assert_eq!(cost("input = 2\noutput = 9"), 1_000 * 2_000);
    assert_eq!(cost("input = 2\noutput = 9\ncached = 1"), 400 * 2_000 + 600 * 1_000);
    let all = cost("input = 2\noutput = 9\ncached = 1\ncache_write = 3");
    assert_eq!(all, 100 * 2_000 + 600 * 1_000 + 300 * 3_000);
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
            paid(verdict(true, "", ""), "big", 1_000, 2_000, 0),
            paid(text("답"), "", 10_000, 20_000, 0),
        ],
    );
    let by_role = told.state.usage_by_name();
    let by_role: Vec<_> =
        by_role.map(|(role, usage)| (role, usage.input_tokens, usage.output_tokens)).collect();
    let expected = [
        ("scope".to_owned(), 11, 22),
        ("planner".to_owned(), 100, 200),
        ("validator".to_owned(), 1_000, 2_000),
        ("writer".to_owned(), 10_000, 20_000),
    ];
    assert_eq!(by_role, expected);
    let all = Usage { input_tokens: 11_111, output_tokens: 22_222, cached_tokens: 5, ..Usage::default() };
    assert_eq!(told.spent().usage, all);
}

#[test]
fn cost_is_exact_to_the_billionth_and_rounded_down_for_each_kind() {
    for (model, [input, output, cached], expected) in [
        ("small", [1_000_000, 0, 0], 2_500_000_000),
        ("small", [1, 1, 0], 2_500 + 10_000),
        ("small", [1_000, 500, 400], 600 * 2_500 + 400 * 250 + 500 * 10_000),
        ("big", [3, 7, 0], 3 * 15_000 + 420_000),
        ("big", [0, 1_000_000, 0], 60_000_001_000),
        // More in the cache than was read cannot be: all of it was in the cache.
        ("small", [10, 0, 99], 10 * 250),
        // No price for what is in the cache: as for the rest.
        ("big", [10, 0, 10], 10 * 15_000),
        ("unknown", [1_000_000, 1_000_000, 0], 0),
    ] {
        let told = Told::run(priced(""), [paid(one(), model, input, output, cached)]);
        assert_eq!(nanos(&told), expected, "{model} {input} {output} {cached}");
    }
}

#[test]
fn costs_add_up_over_models_and_in_any_order() {
    let both = with_agents(priced("execution = { mode = 'parallel', width = 2 }"), [role_agent("critic")]);
    let mut ends = Vec::new();
    for order in [["step.1.1.1", "step.1.2.1"], ["step.1.2.1", "step.1.1.1"]] {
        let mut told = Told::run(both.clone(), [paid(plan("@critic a; @critic b"), "small", 7, 3, 0)]);
        for to in order {
            let (model, tokens) = if to.starts_with("step.1.1") { ("big", 11) } else { ("small", 13) };
            told.answer(to, paid(text("ok"), model, tokens, tokens, 0));
        }
        ends.push(serde_json::to_string(&told.state).expect("written"));
        let expected = 7 * 2_500 + 3 * 10_000 + 11 * 15_000 + 660_000 + 13 * 12_500;
        assert_eq!(nanos(&told), expected);
        assert_eq!(told.memory("/usage_by_agent/critic/input_tokens"), 24);
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn used_up_tokens_end_the_run_before_the_next_call() {
    let first = || [paid(one(), "m", 10, 20, 0), found("1")];
    let error = "MAX_TOKENS_EXCEEDED: 30 tokens are spent, 30 are allowed";
    let told = Told::fails(limited("max_tokens = 30"), first(), error);
    assert_eq!(told.spent().model_calls, 1);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "WRITE"]);
    // What was asked is taken.
    Told::run(limited("max_tokens = 31"), first()).ends([paid(text("답"), "m", 900, 1, 0)], "답");
    // A repair is a call too.
    Told::fails(limited("max_tokens = 30"), [paid(text("?"), "m", 10, 20, 0)], "MAX_TOKENS_EXCEEDED");
}

#[test]
fn used_up_money_ends_the_run_before_the_next_call() {
    let limited = |most: &str| priced(&format!("[limits]\nmax_cost = '{most}'"));
    let first = |model, tokens| [paid(one(), model, 0, tokens, 0), found("1")];
    let error = "MAX_COST_EXCEEDED: 0.0002 is spent, 0.0002 is allowed";
    Told::fails(limited("0.0002"), first("small", 20), error);
    let mut told = Told::run(limited("0.000200001"), first("small", 20));
    assert_eq!(told.ends([text("답")], "답").spent().cost, Money::of_nanos(200_000));
    // What has no price costs nothing.
    Told::run(limited("0.0002"), first("unpriced", 20_000)).ends([text("답")], "답");
}

#[test]
fn a_plan_that_asks_models_is_not_begun_without_tokens() {
    let spec = with_agents(limited("max_tokens = 10"), [role_agent("critic")]);
    let told = Told::fails(spec, [paid(plan("@critic t"), "m", 10, 0, 0)], "MAX_TOKENS_EXCEEDED");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE"]);
}

#[test]
fn what_nested_runs_spend_counts_for_the_run_around_them_at_its_prices() {
    let nested = with_agents(limited("max_tokens = 100"), [team("team")]);
    let first = paid(plan("@team t"), "m", 10, 0, 0);
    let error = "MAX_TOKENS_EXCEEDED: 100 tokens are spent, 100 are allowed";
    let told = Told::fails(nested, [first, paid(asks(&[("calc", "1")]), "m", 60, 30, 0), found("1")], error);
    assert_eq!(told.memory("/usage_by_agent/team/output_tokens"), 30);

    let mut told = Told::run(with_agents(priced(""), [team("team")]), [plan("@team t")]);
    told.tell([paid(asks(&[("calc", "1")]), "small", 100, 10, 0), found("1")]);
    assert_eq!(nanos(&told), 100 * 2_500 + 10 * 10_000);
}

#[test]
fn each_agent_is_told_by_its_name_and_a_nested_run_by_the_name_of_its_step() {
    let mut editors = team_that(|inner| inner.agents = vec![role_agent("critic")]);
    editors.name = "editors".into();
    let members = [role_agent("critic"), role_agent("search"), editors];
    let told = Told::run(
        with_agents(spec("write = 'last_result'"), members),
        [
            paid(plan("@critic a; @search b; @editors c; @critic d"), "m", 1, 2, 0),
            paid(text("A"), "m", 10, 20, 0),
            paid(text("B"), "m", 100, 200, 3),
            paid(asks(&[("critic", "x")]), "m", 1_000, 2_000, 0),
            paid(text("C"), "m", 10_000, 20_000, 0),
            paid(text("D"), "m", 100_000, 200_000, 0),
        ],
    );
    let by_name: Vec<(String, u64)> =
        told.state.usage_by_name().map(|(name, usage)| (name, usage.input_tokens)).collect();
    let expected =
        [("planner", 1), ("agent:critic", 100_010), ("agent:editors", 11_000), ("agent:search", 100)];
    assert_eq!(by_name, expected.map(|(name, tokens)| (name.to_owned(), tokens)));
    let mut sum = Usage::default();
    told.state.usage_by_name().for_each(|(_, usage)| sum.add(usage));
    assert_eq!(sum, told.spent().usage, "each token is counted under one name");
}

#[test]
fn a_nested_run_that_has_used_up_its_own_tokens_is_a_failed_step() {
    let small = team_that(|inner| inner.limits.max_tokens = Some(5));
    let told = Told::run(with_agents(spec(""), [small]), [plan("@team t"), paid(text(" "), "m", 5, 0, 0)]);
    let result = "step_1: failed: ERROR: agent: MAX_TOKENS_EXCEEDED: 5 tokens are spent, 5 are allowed";
    assert_eq!(told.results(), [result]);
}

#[test]
fn a_limit_of_nothing_is_refused_at_load() {
    for (limit, field) in [("max_tokens = 0", "limits.max_tokens"), ("max_cost = '0'", "limits.max_cost")] {
        assert_eq!(checked(&format!("[limits]\n{limit}")).expect_err(limit).field(), field);
    }
}

#[test]
fn replies_out_of_the_cache_are_counted() {
    let cached = Say::Reply(ModelReply { cached: true, ..one().reply() });
    let told = Told::run(spec(""), [cached, found("1"), text("답")]);
    assert_eq!((told.spent().model_calls, told.spent().cached_replies), (2, 1));
    assert_eq!(told.line("CACHED")["of"], json!("planner"));
}

#[test]
fn tokens_are_looked_at_between_two_steps_that_run_one_by_one() {
    let spec = with_agents(limited("max_tokens = 50"), [role_agent("critic"), team("team")]);
    for steps in ["@critic a; @critic b", "@critic a; @team b"] {
        let answers = [plan(steps), paid(text("좋음"), "m", 50, 0, 0)];
        Told::fails(spec.clone(), answers, "MAX_TOKENS_EXCEEDED");
    }
}

#[test]
fn an_added_agent_is_not_begun_without_tokens() {
    let limited = with_agents(spec("orchestrate = 'each_step'\n[limits]\nmax_tokens = 50"), [team("team")]);
    let add = decision(json!({"action": "add_agent", "next_agent": "team", "task": "더"}));
    Told::fails(limited, [plan("@team t"), paid(add, "m", 50, 0, 0)], "MAX_TOKENS_EXCEEDED");
}

#[test]
fn agent_that_gives_no_reply_costs_what_it_cost_and_its_fallback_takes_the_place_of_its_words() {
    let class = FailureClass::Refusal;
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    let failure = ModelFailure { usage, model: "big".into(), ..ModelFailure::new(class, "no") };
    for (on_failure, result) in [
        (Some(OnFailure::Fallback("대신".into())), "step_1: completed: 대신"),
        (None, "step_1: failed: ERROR: refusal: no"),
    ] {
        let mut critic = role_agent("critic");
        critic.role.as_mut().expect("a role").on_failure = on_failure;
        let mut told = Told::run(with_agents(priced(""), [critic]), [plan("@critic 일")]);
        let effect = id(&told.first());
        told.take(Event::ModelFailed { effect, failure: failure.clone() });
        assert_eq!(told.results(), [result]);
        assert_eq!(told.memory("/usage_by_agent/critic/input_tokens"), 10);
        assert_eq!(told.spent().usage, usage);
        assert!(!told.spent().cost.is_zero(), "a reply that failed has its price");
        // Nor does an empty reply say anything.
        let mut empty = Told::run(told.compiled.spec().clone(), [plan("@critic 일"), text(" ")]);
        assert_eq!(
            empty.results()[0].starts_with("step_1: failed: ERROR: reply: "),
            result.contains("ERROR")
        );
        empty.ends([text("끝")], "끝");
    }
}
