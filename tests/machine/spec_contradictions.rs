//! Specs that contradict themselves are refused at load, with the field and the reason; specs that mix
//! what no shipped agent mixes are not, and keep every promise.

use crate::promise;

use planwright::driver::Agent;
use planwright::machine::explore;
use planwright::ports::ScriptedModel;
use planwright::spec::{OnFailure, RoleName, Spec};
use promise::{
    Say, Told, asks, broken, decision, edit, enough, found, go_on, plan, respond, role_agent, small_talk,
    spec, team, team_that, text, verdict, with_agents,
};
use serde_json::json;

/// A policy, with `|` between its lines, and after it the field and the reason with which it is refused.
const CONTRADICTIONS: &str = r#"
name = ' ' => name: expected a name, found nothing
plan = { min_steps = 3, max_steps = 2 } => policy.plan.max_steps: expected at least `min_steps`
plan = { min_steps = 0, max_steps = 0 } => policy.plan.max_steps: expected at least 1, found 0
plan = { max_steps = 100001 } => policy.plan.max_steps: expected at most 100,000
plan = { max_depth = 0 } => policy.plan.max_depth: expected at least 1, found 0
plan = { min_steps = 0, final_step = 'required' } => policy.plan.min_steps: a plan that ends in `final_answer` has at least 1 step, found 0
plan = { fields = ['hitl_question'] } => policy.plan.fields: `hitl_question` is offered, and `approval` is "never"
plan = { fields = ['with'] } => policy.plan.fields: `with` is for plans that name agents and no tools of their own
horizon = 'next' => limits.max_iterations: needed under `horizon = "next"`: else a run need not end
[limits] | max_iterations = 2 => limits.max_iterations: never read: `horizon` is "whole"
planner = 'react_text' => policy.horizon: `planner = "react_text"` gives one action at a time; expected "next"
planner = 'tool_calls' | [plan] | final_step = 'required' => policy.plan.final_step: only a plan in JSON can end in `final_answer`; expected "none"
execution = { mode = 'parallel', width = 0 } => policy.execution.width: expected at least 1, found 0
execution = { mode = 'parallel', width = 257 } => policy.execution.width: expected at most 256
step_tries = { tries = 0 } => policy.step_tries.tries: expected 1 to 1000, found 0
step_tries = { tries = 1001 } => policy.step_tries.tries: expected 1 to 1000, found 1001
step_tries = { wait_ms = 3600001 } => policy.step_tries.wait_ms: expected at most 3600000
orchestrate = 'each_step' => policy.orchestrate: has no agent to add; expected at least one of `agents`
required_calls = [{ tool = 'rm', least = 1 }] => policy.required_calls[0]: there is no tool "rm"
required_calls = [{ tool = 'calc' }] => policy.required_calls[0]: expected `least` or `per_line`, found neither
required_calls = [{ tool = 'calc', per_line = ' ' }] => policy.required_calls[0].per_line: expected how a line begins, found nothing
required_calls = [{ tool = 'calc', per_line = 'Q:' }] => policy.required_calls[0].per_line: the lines counted are the planner's; expected `write = "planner"`
write = 'planner' | planner = 'tool_calls' | horizon = 'next' | plan = { min_steps = 0 } | validate = 'verdict' | [limits] | max_iterations = 2 => policy.validate_at: what was collected is judged on the way to WRITE, and the planner's own words come in PLAN; expected "answer"
validate_at = 'answer' => policy.validate_at: nothing is judged: `validate` is "off"
write = 'planner' => policy.write: a plan in JSON has no final words; expected `planner = "tool_calls"` or "react_text"
write = 'planner' | planner = 'tool_calls' => policy.write: the planner's final words come after its calls; expected `horizon = "next"`
write = 'summary' | [roles.writer] | prompt = 'w' => roles.writer: never asked: `write` is not "model"
[roles.conversation] | prompt = 'c' => roles.conversation: never asked: in this policy every answer comes after a plan
[roles.validator] | prompt = 'v' => roles.validator: never asked under `validate = "off"`
[roles.orchestrator] | prompt = 'o' => roles.orchestrator: never asked under `orchestrate = "never"`
[roles.intent] | prompt = 'i' => roles.intent: never asked: `intake` does not name "intent"
intake = ['scope', 'scope'] => policy.intake: names one thing twice
intake = ['previous_context'] => policy.intake: "previous_context" is never asked under `memory = "none"`: there are no earlier turns
intake = ['intent'] | intent = { kinds = ['a'], answer_at_once = ['b'] } => policy.intent.answer_at_once: "b" is none of `kinds`
[roles.planner] | prompt = ' ' => roles.planner.prompt: expected instructions, found nothing
[roles.planner] | temperature = 2.5 => roles.planner.temperature: expected a number from 0 to 2
[roles.planner] | max_tokens = 0 => roles.planner.max_tokens: expected at least 1, found 0
[roles.planner] | model = '' => roles.planner.model: expected a model's name, found nothing
[roles.planner] | form = 'final' => roles.planner.form: only the writer's reply has a choice of forms
[limits] | max_replans = 1001 => limits.max_replans: expected at most 1000, found 1001
[limits] | max_model_calls = 0 => limits.max_model_calls: expected at least 1, found 0
[limits] | deadline_seconds = 0 => limits.deadline_seconds: expected at least 1, found 0
[limits] | max_added_steps = 2 => limits.max_added_steps: never read: `orchestrate` is "never"
on_bad_reply = 'fail' | [limits] | max_repairs = 3 => limits.max_repairs: never read: no role is asked again, by `on_bad_reply`, `on_cut` or `on_failure`
on_cut = 'accept' | [roles.writer] | form = 'final' => policy.on_cut: "accept" is for words, and every role replies with JSON or calls
required_calls = [{ tool = 'calc', least = 2 }, { tool = 'find', least = 2 }] | [limits] | max_tool_calls = 3 => policy.required_calls: 4 tool calls must come before an answer, and `limits.max_tool_calls` allows 3
required_calls = [{ tool = 'calc', least = 2 }, { tool = 'find', least = 1 }] | plan = { max_steps = 2 } => policy.required_calls: 3 calls must come before an answer, and `policy.plan.max_steps` allows 2
required_calls = [{ tool = 'calc', least = 2 }] | plan = { max_steps = 2, final_step = 'required' } => policy.required_calls: 2 calls must come before an answer, and `policy.plan.max_steps` allows 1
suggestions = [{ pattern = '제(\d+)조', tool = 'calc', input = '${2}' }] => policy.suggestions[0].input: refers to the group "2", which `pattern` does not have; a plain `$` is written `$$`
suggestions = [{ pattern = '(?<조>\d+)', tool = 'calc', input = '$$1 ${조} $1st' }] => policy.suggestions[0].input: refers to the group "1st", which `pattern` does not have; a plain `$` is written `$$`
suggestions = [{ pattern = 'a', tool = 'rm', input = 'x' }] => policy.suggestions[0].tool: there is no tool "rm"
[roles.writer] | on_failure = { fallback = ' ' } => roles.writer.on_failure.fallback: $: expected an answer, found nothing
validate = 'verdict' | [roles.validator] | on_failure = { fallback = 'yes' } => roles.validator.on_failure.fallback: $: expected a JSON object, found text that begins "yes"
intake = ['scope'] | [roles.scope] | on_failure = { fallback = '{"in_scope": false}' } => roles.scope.on_failure.fallback: $.refusal: expected what the user is told, found nothing
[[agents]] | name = 'hitl' | description = 'd' | role = { prompt = 'p' } => agents[0].name: "hitl" is reserved
[[agents]] | name = 'calc' | description = 'd' | role = { prompt = 'p' } => agents[0]: the name "calc" is taken
[[agents]] | name = 'a' | description = ' ' | role = { prompt = 'p' } => agents[0].description: expected a sentence, found nothing
[[agents]] | name = 'a' | description = 'd' => agents[0].role: expected either `role` or `spec`
[[agents]] | name = 'a' | description = 'd' | role = { prompt = ' ' } => agents[0].role.prompt: expected instructions, found nothing
horizon = 'next' | on_step_failure = 'replan' | plan = { min_steps = 0 } | [limits] | max_iterations = 2 => policy.on_step_failure: under `horizon = "next"` the planner is asked again in any case; expected "record" or "abort"
horizon = 'next' | plan = { min_steps = 1 } | [limits] | max_iterations = 2 => policy.plan.min_steps: under `horizon = "next"` a plan without steps ends the rounds; expected 0
horizon = 'next' | plan = { final_step = 'required' } | [limits] | max_iterations = 2 => policy.plan.final_step: `horizon` is "next": no plan is the last; expected "none"
horizon = 'next' | plan = { min_steps = 0 } | [limits] | max_iterations = 2 | [roles.replanner] | prompt = 'r' => roles.replanner: never asked: under `horizon = "next"` the planner goes on
planner = 'tool_calls' | horizon = 'next' | required_calls = [{ tool = 'calc', least = 5 }] | plan = { min_steps = 0, max_steps = 2 } | [limits] | max_iterations = 3 => policy.required_calls: 5 calls must come before an answer, and `limits.max_iterations` with `policy.plan.max_steps` allows 4
planner = 'react_text' | horizon = 'next' | required_calls = [{ tool = 'calc', least = 3 }] | plan = { min_steps = 0 } | [limits] | max_iterations = 3 => policy.required_calls: 3 calls must come before an answer, and `limits.max_iterations` allows 2
[limits] | max_replans = 3 => limits.max_replans: never read: nothing in this policy replans (`validate` is "off" and `on_step_failure` is not "replan")
horizon = 'next' | plan = { min_steps = 0 } | [limits] | max_iterations = 2 | max_replans = 1 => limits.max_replans: never read: under `horizon = "next"` `max_iterations` bounds the drafts
on_exhausted = 'write' => policy.on_exhausted: "write" has nothing to follow: nothing in this policy replans (`validate` is "off" and `on_step_failure` is not "replan")
on_replan = 'keep' => policy.on_replan: "keep" keeps nothing: nothing in this policy replans (`validate` is "off" and `on_step_failure` is not "replan")
[roles.replanner] | prompt = 'r' => roles.replanner: never asked: nothing in this policy replans (`validate` is "off" and `on_step_failure` is not "replan")
validate = 'verdict' | on_replan = 'keep' | [plan] | final_step = 'required' => policy.on_replan: "keep" would keep the `final_answer` of the old plan; expected `plan.final_step = "none"`
planner = 'tool_calls' | horizon = 'next' | write = 'planner' | on_exhausted = 'write' | [limits] | max_iterations = 2 => policy.on_exhausted: with `write = "planner"` there is nobody to write once the planner may not be asked
orchestrate = 'each_step' | execution = { mode = 'parallel', width = 2 } => policy.orchestrate: decides between one step and the next; expected `execution = { mode = "sequential" }`
"#;

#[test]
fn contradictions_are_refused_with_the_field_and_the_reason() {
    for row in CONTRADICTIONS.trim().lines() {
        let (text, said) = row.split_once(" => ").expect("a policy and why it is refused");
        let error = promise::checked(&text.replace(" | ", "\n")).err();
        let error = error.unwrap_or_else(|| panic!("it loads: {text}"));
        assert_eq!(error.to_string(), said, "{text}");
        assert_eq!(Some(error.field()), said.split(": ").next(), "{text}");
    }
}

#[test]
fn limits_and_required_calls_that_just_fit_load() {
    for text in [
        "[limits]\nmax_replans = 0",
        "[limits]\nmax_replans = 2\nmax_repairs = 1\nmax_added_steps = 4",
        "on_bad_reply = 'fail'\n[limits]\nmax_repairs = 0\nmax_added_steps = 0",
        "on_bad_reply = 'fail'\n[limits]\nmax_repairs = 3\n[roles.writer]\non_failure = 'repair'",
        "required_calls = [{ tool = 'calc', least = 2 }, { tool = 'calc', least = 1 }]\nplan = { max_steps = 2 }",
        "required_calls = [{ tool = 'calc', least = 2 }]\n[limits]\nmax_tool_calls = 2",
        "planner = 'tool_calls'\nhorizon = 'next'\nrequired_calls = [{ tool = 'calc', least = 4 }]\n\
         plan = { min_steps = 0, max_steps = 2 }\n[limits]\nmax_iterations = 3",
        "planner = 'tool_calls'\nhorizon = 'next'\nrequired_calls = [{ tool = 'calc', least = 6 }]\n\
         on_exhausted = 'write'\nplan = { min_steps = 0, max_steps = 2 }\n[limits]\nmax_iterations = 3",
    ] {
        promise::checked(text).expect(text);
    }
}

#[test]
fn fields_and_values_that_there_are_not_do_not_load_nor_a_width_without_parallel_steps() {
    for (wrong, problem) in [
        ("colour = 'red'", "colour"),
        ("validate = 'maybe'", "maybe"),
        ("execution = { mode = 'fast' }", "fast"),
        ("[limits]\nmax_replan = 1", "max_replan"),
        ("execution = { mode = 'sequential', width = 4 }", "unknown field `width`"),
        ("execution = { mode = 'parallel' }", "missing field `width`"),
    ] {
        let whole = format!("name = 'x'\n[policy]\n{wrong}\n[roles.planner]\nprompt = 'p'");
        let error = planwright::spec::Spec::from_toml(&whole).expect_err(wrong);
        assert_eq!(error.field(), "spec", "{wrong}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn money_is_limited_only_where_a_model_that_is_asked_has_a_price() {
    const UNPRICED: &str = "limits.max_cost: never reached: `prices` has none of a model that is asked";
    let prices = "\n[prices.big]\ninput = 1\noutput = 2";
    let limited = "[limits]\nmax_cost = '1'\n";
    let named = "[roles.planner]\nmodel = 'small'\n[roles.writer]\nmodel = 'small'";
    let told = |spec: Spec| {
        let compiled = spec.clone().check().expect("prices may come later");
        let problem = compiled.check_prices().err().map(|error| error.to_string());
        let built = Agent::builder(spec.clone()).model(ScriptedModel::new()).build().err();
        assert_eq!(built.map(|error| error.to_string()), problem, "so no model is asked under it");
        Agent::builder(spec).build().expect("a replay asks no model");
        problem
    };
    assert_eq!(told(spec(limited)).as_deref(), Some(UNPRICED));
    assert_eq!(told(spec(&format!("{limited}{named}{prices}"))).as_deref(), Some(UNPRICED));
    assert_eq!(told(spec(&format!("{limited}{prices}"))), None, "the driver's own model may have this name");
    let critic = || {
        let mut critic = role_agent("critic");
        critic.role.as_mut().expect("a role").model = Some("big".into());
        critic
    };
    assert_eq!(told(with_agents(spec(&format!("{limited}{named}{prices}")), [critic()])), None);
    let inner = team_that(|inner| inner.limits.max_cost = Some(planwright::spec::Money::of_nanos(1)));
    let problem = told(with_agents(spec(""), [inner.clone()]));
    assert_eq!(problem, Some(format!("agents[0].spec.{UNPRICED}")));
    assert_eq!(told(with_agents(spec(prices), [inner])), None, "the outer prices are those of the inner run");
}

#[test]
fn roles_that_the_policy_needs_must_be_there() {
    for (policy, role, problem) in [
        ("", "writer", "`write = \"model\"`"),
        ("validate = 'verdict'", "validator", "`validate = \"verdict\"`"),
        ("validate = 'sufficiency'", "validator", "`validate = \"sufficiency\"`"),
        ("intake = ['scope']", "scope", "`intake = [\"scope\"]`"),
    ] {
        let mut written = serde_json::to_value(spec(policy)).expect("written");
        written["roles"].as_object_mut().expect("roles").remove(role);
        let spec: Spec = serde_json::from_value(written).expect("reads");
        let error = spec.check().expect_err(role).to_string();
        assert_eq!(error, format!("roles.{role}: needed under {problem}"));
    }
}

/// A spec that no shipped agent is like: it loads, every invariant holds in every state it can reach,
/// and a run of it ends with this answer.
#[track_caller]
fn holds(spec: Spec, answers: impl IntoIterator<Item = Say>, said: &str) -> Told {
    let compiled = spec.clone().check().expect("loads");
    let mut told = Told::begin(spec);
    told.ends(answers, said);
    for check in &explore::explore(&compiled).checks {
        assert!(check.violations.is_empty(), "{}: {:#?}", check.invariant, check.violations);
    }
    told
}

#[test]
fn rounds_of_plans_in_json_with_verdicts() {
    let policy = "horizon = 'next'\nvalidate = 'verdict'\nduplicates = 'skip'\non_exhausted = 'write'\n\
        step_tries = { tries = 2 }\nplan = { min_steps = 0, max_steps = 2 }\n[limits]\nmax_iterations = 2";
    let no = || verdict(false, "r", "h");
    let answers = [plan("calc 1"), found("1"), no(), plan("calc 1; calc 2"), found("2"), no(), text("답")];
    holds(spec(policy), answers, "답");
}

#[test]
fn native_calls_as_a_whole_plan_that_keeps_what_was_done() {
    let policy = "planner = 'tool_calls'\non_replan = 'keep'\non_step_failure = 'replan'\nvalidate = 'verdict'\n\
        write = 'last_result'\nplan = { min_steps = 0, max_steps = 3 }\n[roles.replanner]\nprompt = 'r'\n\
        [limits]\nmax_replans = 2";
    let first = [asks(&[("calc", "1"), ("find", "a"), ("find", "b")]), found("1"), broken()];
    let second = [asks(&[("find", "c")]), found("C"), verdict(false, "r", "h")];
    let third = [asks(&[("calc", "2")]), found("2"), verdict(true, "", "")];
    let told = holds(spec(policy), first.into_iter().chain(second).chain(third), "2");
    assert_eq!(told.results().len(), 4, "the third call of the first draft was dropped");
}

#[test]
fn an_answer_put_together_by_rule_and_judged() {
    let policy = "validate = 'sufficiency'\nvalidate_at = 'answer'\nwrite = 'summary'\non_exhausted = 'write'\n\
        execution = { mode = 'parallel', width = 2 }\nplan = { max_steps = 2, final_step = 'required' }\n[limits]\nmax_replans = 1";
    let round =
        |input: &str| [plan(format!("calc {input}; final_answer").as_str()), found(input), enough(false)];
    holds(spec(policy), round("1").into_iter().chain(round("2")), "Step 1: 2 - completed");
}

#[test]
fn agents_and_tools_under_an_orchestrator_with_repetitions_and_people() {
    let policy = "orchestrate = 'each_step'\nduplicates = 'skip'\napproval = 'steps'\n\
        plan = { max_steps = 4, min_steps = 0 }\n[limits]\nmax_added_steps = 1\nmax_repairs = 0";
    let spec = with_agents(spec(policy), [team("team"), role_agent("critic")]);
    let both = json!({"primary_agent": "critic", "supporting_agent": "team"});
    let critic = decision(json!({"action": "collaborate", "collaboration_needed": both}));
    let first =
        [plan("@team t; ?; calc 1"), go_on(), asks(&[("find", "a")]), found("A"), critic, text("좋음")];
    let rest = [go_on(), edit("calc 2"), go_on(), found("2"), go_on(), text("답")];
    holds(spec, first.into_iter().chain(rest), "답");
}

#[test]
fn thoughts_as_text_with_intake_and_a_judged_answer() {
    let policy = "planner = 'react_text'\nhorizon = 'next'\nwrite = 'planner'\nintake = ['scope']\nvalidate = 'verdict'\n\
        validate_at = 'answer'\nduplicates = 'skip'\nrequired_calls = [{ tool = 'find', least = 1 }]\n\
        plan = { max_steps = 1 }\n[limits]\nmax_iterations = 3";
    let in_scope = || text(r#"{"in_scope": true}"#);
    let begin =
        || [in_scope(), text("Action: find\nAction Input: a"), found("A"), text("Final Answer: 하나")];
    let rejected = [verdict(false, "r", "h"), text("Final Answer: 둘"), verdict(false, "끝", "")];
    Told::fails(spec(policy), begin().into_iter().chain(rejected), "VALIDATION_FAILED_MAX_REPLANS");
    holds(spec(policy), begin().into_iter().chain([verdict(true, "", "")]), "하나");
}

#[test]
fn a_failure_that_ends_the_run_beside_others_that_go_on() {
    let policy = "execution = { mode = 'parallel', width = 3 }\non_step_failure = 'abort'\nstep_tries = { tries = 2 }\n\
        plan = { max_steps = 3 }\nwrite = 'last_result'";
    holds(spec(policy), [plan("calc 1"), broken(), Say::Passed, found("1")], "1");
    let answers = [plan("send m; calc 1"), broken(), found("1")];
    Told::fails(spec(policy), answers, "EXECUTE_ERROR: step_1 (send) failed");
}

#[test]
fn an_intent_that_needs_no_tool_has_somebody_to_answer_it_or_is_refused_at_load() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\nintake = ['intent']\n[limits]\nmax_iterations = 2\n\
        [roles.conversation]\nprompt = 'Talk.'";
    holds(spec(policy), [small_talk(), text("안녕")], "안녕");
    for write in ["summary", "last_result"] {
        let policy = format!("intake = ['intent']\nwrite = '{write}'");
        if promise::checked(&policy).is_ok() {
            let told = Told::run(spec(&policy), [small_talk(), text("안녕")]);
            assert_eq!(told.error(), "", "{write}");
        }
    }
}

#[test]
fn steps_side_by_side_with_people_and_repetitions() {
    let policy = "execution = { mode = 'parallel', width = 2 }\napproval = 'steps'\nduplicates = 'skip'\n\
        on_rejection = 'replan'\non_replan = 'keep'\nwrite = 'summary'\nplan = { max_steps = 4 }\n[limits]\nmax_replans = 1";
    let no = promise::reject("아니요");
    let answers = [plan("calc 1; calc 1; ?"), found("1"), no, plan("calc 1; ?"), respond("네")];
    let lines = "Step 1: 1 - completed\nStep 2: 1 - skipped\nStep 3: 승인해주세요 - failed\n\
        Step 4: 1 - skipped\nStep 5: 승인해주세요 - completed";
    holds(spec(policy), answers, lines);
}

/// Numbers are made smaller for a walk; what was no contradiction does not become one.
#[test]
fn a_spec_with_large_numbers_is_walked_with_small_ones() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\n\
        required_calls = [{ tool = 'calc', least = 9 }, { tool = 'find', least = 4 }, { tool = 'book', least = 1 }]\n\
        plan = { min_steps = 0, max_steps = 5 }\n[limits]\nmax_iterations = 7\nmax_repairs = 40";
    let asks_again = team_that(|inner| {
        inner.roles.get_mut(&RoleName::Planner).unwrap().on_failure = Some(OnFailure::Repair)
    });
    for spec in [spec(policy), with_agents(spec("plan = { max_steps = 2 }"), [asks_again])] {
        let compiled = spec.check().expect("loads");
        assert!(explore::explore(&compiled).holds());
        assert!(!explore::sketch(&compiled).taken.is_empty());
    }
}
