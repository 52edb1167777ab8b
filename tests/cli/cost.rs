//! What a run costs: tokens and money are told, and limited where that is asked for.

use crate::cli_support::{Home, check};
use crate::support::{Answer, Server, completion};
use crate::world::{GOOD, PLAN, SUM, talkative};
use serde_json::json;

/// A home whose model has this configuration beside its address.
fn home(server: &Server, prices: &str) -> Home {
    let home = Home::new();
    let text = format!("base_url = '{}'\nmodel = 'm'\n{prices}", server.url());
    home.write("config/planwright/config.toml", &text);
    home
}

const PRICES: &str = "currency = 'USD'\n[prices.m]\ninput = '2.50'\noutput = 10\n";

#[test]
fn tokens_are_told_at_the_end_of_a_run_for_each_agent_by_its_name() {
    let mut last = completion("It is 300840.");
    last["usage"]["prompt_tokens_details"] = json!({"cached_tokens": 4});
    let server = Server::answering([Answer::reply(PLAN), Answer::reply(GOOD), Answer::json(200, &last)]);
    let said = home(&server, "").check(&["run", SUM], 0);
    said.complains(&["planwright: 33 tokens read, 15 written (4 of those read were cached); planner 11+5"]);
    assert!(!said.stderr.contains("cost"), "no price is known: {}", said.stderr);
    let said = Home::new().check(&["run", SUM], 0);
    assert!(!said.stderr.contains("tokens"), "nothing is said of none: {}", said.stderr);

    let plan = r#"{"goal": "g", "steps": [{"agent": "search", "task": "a"}, {"agent": "review", "task": "검토해줘"},
        {"agent": "search", "task": "c"}]}"#;
    let server = Server::answering([plan, "A", "B", "C"].map(Answer::reply));
    let home = home(&server, "");
    home.write("staff.toml", STAFF);
    let said = home.check(&["run", "--agent", "staff.toml", "--json", SUM], 0);
    said.complains(&["; planner 11+5, agent:review 11+5, agent:search 22+10"]);
    let spent = said.json()["spent"].clone();
    for (name, tokens) in [("planner", 11), ("agent:search", 22), ("agent:review", 11)] {
        assert_eq!(spent["by_role"][name]["input_tokens"], tokens, "{spent}");
    }
    assert_eq!(spent["by_role"].as_object().map(serde_json::Map::len), Some(3), "{spent}");
}

#[test]
fn cost_is_told_by_the_prices_of_the_configuration_file() {
    // 33 tokens at 2.50 and 15 at 10 for a million.
    home(&talkative(), PRICES).check(&["run", SUM], 0).complains(&["; cost 0.0002325 USD"]);

    let spent = home(&talkative(), PRICES).check(&["run", "--json", SUM], 0).json()["spent"].clone();
    assert_eq!((&spent["cost"], &spent["currency"]), (&json!("0.0002325"), &json!("USD")));
    assert_eq!(spent["tokens"], json!({"input_tokens": 33, "output_tokens": 15, "cached_tokens": 0}));
    for role in ["planner", "validator", "writer"] {
        assert_eq!(spent["by_role"][role]["input_tokens"], 11, "{role}: {spent}");
    }
}

const STAFF: &str = r#"
name = "staff"
tools = []
[policy]
validate = "off"
write = "last_result"
[policy.plan]
final_step = "none"
[roles.planner]
prompt = "plan"
[[agents]]
name = "search"
description = "Searches."
[agents.role]
prompt = "search"
[[agents]]
name = "review"
description = "Reviews."
[agents.role]
prompt = "review"
"#;

#[test]
fn run_ends_when_its_tokens_or_its_money_are_used_up() {
    for limit in [["--max-tokens", "20"], ["--max-cost", "0.00008"]] {
        let server = talkative();
        let mut args = vec!["run", "--json"];
        args.extend(limit);
        args.push(SUM);
        let object = home(&server, PRICES).check(&args, 1).json();
        assert_eq!(object["phase"], "ERROR", "{limit:?}");
        assert!(server.count() < 3, "{limit:?}: {} calls", server.count());
    }
}

#[test]
fn limit_on_tokens_holds_where_the_server_does_not_count_and_that_is_said() {
    let mut plan = completion(PLAN);
    plan["usage"] = json!(null);
    let server = Server::answering([Answer::json(200, &plan)]);
    let said = home(&server, "").check(&["run", "--max-tokens", "50", SUM], 1);
    said.complains(&["MAX_TOKENS_EXCEEDED", "are estimated: the server does not count"]);
    assert_eq!(server.count(), 1);
}

#[test]
fn limit_on_money_in_a_spec_takes_the_prices_of_the_configuration_file() {
    let spec = format!("{STAFF}[limits]\nmax_cost = '1'\n");
    let server = Server::answering(
        [r#"{"goal": "g", "steps": [{"agent": "search", "task": "a"}]}"#, "답"].map(Answer::reply),
    );
    let unpriced = home(&server, "");
    unpriced.write("staff.toml", &spec);
    let args = ["run", "--agent", "staff.toml", SUM];
    let problem = "staff: limits.max_cost: never reached: `prices` has none of a model that is asked";
    unpriced.refuses(&args, &[problem]);
    assert_eq!(server.count(), 0);
    let priced = home(&server, PRICES);
    priced.write("staff.toml", &spec);
    assert_eq!(priced.check(&args, 0).stdout, "답\n");
}

#[test]
fn prices_of_a_spec_go_first_and_money_is_limited_only_where_a_price_is_known_and_reads() {
    let server = talkative();
    let own = home(&server, PRICES);
    let spec = planwright::agents::source("validated").unwrap();
    own.write("mine.toml", &format!("{spec}\n[prices.m]\ninput = 0\noutput = 1000\n"));
    let said = own.check(&["run", "--agent", "mine.toml", "--json", SUM], 0);
    assert_eq!(said.json()["spent"]["cost"], "0.015");
    let server = talkative();
    home(&server, "")
        .check(&["run", "--max-cost", "0.10", SUM], 2)
        .complains(&["--max-cost: no model has a price", "[prices.\"MODEL\"]"]);
    assert_eq!(server.count(), 0);
    home(&server, PRICES)
        .check(&["run", "--max-cost", "much", SUM], 2)
        .complains(&["expected an amount such as \"2.50\""]);
    let unread = home(&talkative(), "[prices.m]\ninput = 'cheap'\noutput = 1\n");
    unread.check(&["run", SUM], 2).complains(&["config.toml:", "amount"]);
}

#[test]
fn spending_of_stored_runs_is_added_up_by_day_agent_thread_model_and_role() {
    let plan = r#"{"goal": "g", "steps": [{"agent": "search", "task": "a"}]}"#;
    let replies = [PLAN, GOOD, "It is 300840.", plan, "답", PLAN, GOOD, "It is 300840."];
    let server = Server::answering(replies.map(Answer::reply));
    let home = home(&server, PRICES);
    home.check(&["cost"], 0).prints_nothing().complains(&["no model was asked in a run that is kept"]);
    home.write("staff.toml", STAFF);
    home.check(&["run", "--thread", "환불-보고서", SUM], 0);
    home.check(&["run", "--thread", "staff", "--agent", "staff.toml", SUM], 0);
    home.check(&["threads", "fork", "환불-보고서", "--to", "copy"], 0);

    let by_thread = home.check(&["cost", "--by", "thread"], 0).stdout;
    let lines: Vec<&str> = by_thread.lines().collect();
    let expected = [
        "thread       runs  calls  tokens read  written  cost",
        "환불-보고서  1     3      33           15       0.0002325 USD",
        "staff        1     2      22           10       0.000155 USD",
        "all          2     5      55           25       0.0003875 USD",
    ];
    assert_eq!(lines, expected, "wide letters take two columns, and a fork is not counted twice");
    home.check(&["cost", "--by", "role"], 0).prints(&[
        "planner       2",
        "agent:search  1",
        "all           2",
    ]);
    home.check(&["cost", "--by", "agent", "--since", "7d"], 0).prints(&["validated  1", "staff      1"]);
    home.check(&["cost", "--since", "2099-01-01"], 0).prints_nothing().complains(&["since 2099-01-01 00:00"]);
    home.refuses(&["cost", "--since", "lately"], &["expected an age such as 7d or 12h, or a date"]);

    let by_model = home.check(&["cost", "--by", "model", "--json"], 0).json();
    assert_eq!(
        (&by_model["lines"][0]["name"], &by_model["lines"][0]["cost"]),
        (&json!("m"), &json!("0.0003875"))
    );
    let by_day = home.check(&["cost", "--json"], 0).json();
    assert_eq!(by_day["total"]["tokens"]["input_tokens"], 55, "{by_day}");
    let day = by_day["lines"][0]["name"].as_str().unwrap();
    assert!(day.starts_with("20") && day.len() == 10, "{day}");

    // Without prices calls and tokens are shown.
    home.write("config/planwright/config.toml", &format!("base_url = '{}'\nmodel = 'm'\n", server.url()));
    home.check(&["run", "--journal", "run.jsonl", SUM], 0);
    let said = home.check(&["cost", "run.jsonl", "--by", "thread"], 0);
    said.prints(&[
        "thread     runs  calls  tokens read  written\n",
        "run.jsonl  1     3      33           15\n",
    ]);
    said.complains(&["the price of 3 calls is not known"]);

    // What is named is there, is a journal, and was spent once.
    let twice = home.check(&["cost", "run.jsonl", "./run.jsonl", "--json"], 0).json();
    assert_eq!(twice["total"]["calls"], 3, "{twice}");
    home.write("notes.txt", "bought milk");
    home.refuses(&["cost", "notes.txt"], &["notes.txt: line 1: ", "this is no journal"]);
    // Nothing of a sum is cut at the edge of a narrow terminal.
    let mut narrow = home.program();
    let said = check(narrow.env("COLUMNS", "20").args(["cost", "--by", "thread"]), "", 0);
    said.prints(&["환불-보고서  1     3      33           15"]);
}
