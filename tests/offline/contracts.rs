//! Whatever the offline model is asked, its reply fits the contract of the role, and equal requests
//! get equal replies.

use crate::offline_specs;

use std::sync::LazyLock;

use offline_specs::{CHAIN, REACT, RESEARCH, ROUNDS, TITLES, WORKERS};
use planwright::agents;
use planwright::contract::Before;
use planwright::contract::{AnswerForm, ContractError, PreviousContext, Scope, StepField};
use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Model, ModelError};
use planwright::prompt::ModelRequest;
use planwright::spec::{CompiledSpec, Planner, RoleName, Spec};
use planwright_offline::Offline;
use proptest::prelude::*;
use serde_json::{Value, json};

const MAX: usize = 1 << 20;

/// The shipped agents, with all of their tools and with fewer, where that is a sound agent still.
static AGENTS: LazyLock<Vec<CompiledSpec>> = LazyLock::new(|| {
    let keeps: [fn(&str) -> bool; 5] = [
        |_| true,
        |name| ["docs", "calc"].contains(&name),
        |name| name == "wiki",
        |name| name == "calc",
        |_| false,
    ];
    let specs = agents::names().flat_map(|name| {
        let spec = agents::shipped(name).expect("a name that is listed");
        keeps.map(|keep| spec.clone().with_tools(|tool| keep(&tool.name)))
    });
    let own = [WORKERS, RESEARCH, ROUNDS, REACT, TITLES, CHAIN].map(offline_specs::compiled);
    specs.filter_map(|spec| spec.check().ok()).chain(own).collect()
});

fn reply(compiled: &CompiledSpec, role: RoleName, payload: &str) -> Option<Result<ModelReply, ModelError>> {
    let frame = compiled.frame(role)?.clone();
    let request = ModelRequest { frame, payload: payload.to_owned(), conversation: Vec::new(), trace: None };
    let reply = Offline::new().ask(&request, None);
    assert_eq!(reply, Offline::new().ask(&request, None), "{payload}");
    Some(reply)
}

fn ask(compiled: &CompiledSpec, role: RoleName, payload: &str) -> Option<Result<String, ModelError>> {
    Some(reply(compiled, role, payload)?.map(|reply| reply.text))
}

fn read_plan(compiled: &CompiledSpec, reply: &ModelReply) -> Result<(), ContractError> {
    match compiled.policy().planner {
        Planner::Json => compiled.plan().parse(Before::NOTHING, &reply.text, MAX).map(drop),
        Planner::ToolCalls if reply.tool_calls.is_empty() => {
            AnswerForm::Text.parse(&reply.text, MAX).map(drop)
        }
        Planner::ToolCalls => compiled.plan().parse_calls(Before::NOTHING, &reply.tool_calls, MAX).map(drop),
        Planner::ReactText => compiled.plan().parse_react(Before::NOTHING, &reply.text, MAX).map(drop),
    }
}

/// Asks every role of every agent, reads each reply by its contract, and counts the longest.
fn check(payload: &Value) -> usize {
    let mut longest = 0;
    for compiled in AGENTS.iter() {
        for role in RoleName::ALL {
            let Some(reply) = reply(compiled, role, &payload.to_string()) else { continue };
            let reply = reply.unwrap_or_else(|error| panic!("{role}: {error}: {payload}"));
            let text = &reply.text;
            longest = longest.max(text.chars().count());
            let read = match role {
                RoleName::Planner | RoleName::Replanner => read_plan(compiled, &reply),
                RoleName::Validator => compiled.policy().validate.parse(text, MAX).map(drop),
                RoleName::Writer => compiled.form().parse(text, MAX).map(drop),
                RoleName::Scope => Scope::parse(text, MAX).map(drop),
                RoleName::PreviousContext => PreviousContext::parse(text, MAX).map(drop),
                RoleName::Intent => compiled.parse_intent(text).map(drop),
                RoleName::Grant => compiled.parse_grant(text).map(drop),
                RoleName::Orchestrator => compiled.parse_decision(text).map(drop),
                RoleName::Executor => unreachable!("none of these agents leaves values open"),
                RoleName::Conversation | RoleName::Agent => AnswerForm::Text.parse(text, MAX).map(drop),
            };
            assert_eq!(read, Ok(()), "{role}: {reply:?}: {payload}");
            let printed = match role {
                RoleName::Writer => compiled.form().parse(text, MAX).unwrap(),
                _ => text.clone(),
            };
            assert!(!printed.chars().any(|c| c.is_control() && c != '\n'), "{role}: {printed:?}");
        }
    }
    longest
}

#[test]
fn replies_to_plain_questions_fit() {
    for question in [
        "What is 345*872?",
        "12/4+9 은 얼마야?",
        "What is a journal and what is 3*4?",
        "상태기계는 뭐고 저널은 뭐야? 5킬로미터는 몇 마일이야?",
        "hello",
        "",
        "???",
        "\u{1b}[31m\u{0}",
    ] {
        check(&json!({"user_question": question}));
        check(
            &json!({"user_question": question, "repair": {"your_reply": "x", "error": "$: y", "instruction": "z"}}),
        );
    }
}

#[test]
fn a_new_plan_is_never_the_rejected_one() {
    let questions =
        ["What is max_replans?", "3*4?", "상태기계가 뭐야?", "hello", "plan and journal", "Everest"];
    for compiled in AGENTS.iter().filter(|compiled| compiled.policy().planner == Planner::Json) {
        for question in questions {
            let mut rejected: Option<Value> = None;
            for round in 0..5 {
                let mut payload = json!({"user_question": question});
                if let Some(plan) = &rejected {
                    payload["rejected_plan"] = plan.clone();
                    payload["rejected_because"] = json!("the results do not speak of it");
                    payload["fix_hint"] = json!("look for \"state\" or \"phases\"");
                }
                let reply = ask(compiled, RoleName::Planner, &payload.to_string()).unwrap().unwrap();
                compiled.plan().parse(Before::NOTHING, &reply, MAX).unwrap();
                let plan: Value = serde_json::from_str(&reply).unwrap();
                if let Some(rejected) = &rejected {
                    assert_ne!(plan["steps"], rejected["steps"], "round {round}: {question}");
                }
                rejected = Some(plan);
            }
        }
    }
}

#[test]
fn the_plan_keeps_to_the_bounds_and_fields_of_its_schema() {
    let tools = ["docs", "calc"].map(|name| agents::tool(name).unwrap());
    for (min, max) in [(1, 1), (1, 2), (3, 4), (6, 6)] {
        for with_final in [true, false] {
            let mut spec: Spec = agents::shipped("validated").unwrap();
            spec.tools = tools.to_vec();
            spec.policy.plan.min_steps = min;
            spec.policy.plan.max_steps = max;
            spec.policy.plan.fields =
                vec![StepField::Id, StepField::InputFrom, StepField::DependsOn, StepField::Description];
            if !with_final {
                spec.policy.plan.final_step = planwright::contract::FinalStep::None;
            }
            let compiled = spec.check().unwrap();
            for question in ["3*4 and what is a journal? And a fixture? And replay?", "hello", ""] {
                let payload = json!({"user_question": question}).to_string();
                let reply = ask(&compiled, RoleName::Planner, &payload).unwrap().unwrap();
                let plan: Value = serde_json::from_str(&reply).unwrap();
                let schema = compiled.frame(RoleName::Planner).unwrap().schema.clone().unwrap();
                let schema = planwright::contract::schema::Schema::new(&schema).expect("a schema");
                assert_eq!(schema.check(&plan), Ok(()), "{reply}");
                compiled
                    .plan()
                    .parse(Before::NOTHING, &reply, MAX)
                    .unwrap_or_else(|error| panic!("{error}: {reply}"));
            }
        }
    }
}

#[test]
fn a_tool_that_writes_is_never_planned() {
    use planwright::contract::{FinalStep, ToolContract, ToolEffect};
    let mut spec = agents::shipped("plan-then-execute").unwrap();
    spec.tools = vec![ToolContract::text("delete", "Deletes a file.", ToolEffect::Write)];
    let payload = json!({"user_question": "delete the file notes.txt"}).to_string();
    let compiled = spec.clone().check().unwrap();
    let reply = ask(&compiled, RoleName::Planner, &payload).unwrap().unwrap();
    assert!(!reply.contains("\"delete\""), "{reply}");

    spec.policy.plan.final_step = FinalStep::None;
    let compiled = spec.check().unwrap();
    let error = ask(&compiled, RoleName::Planner, &payload).unwrap().unwrap_err();
    assert!(matches!(error, ModelError::Failed(failure) if failure.class == FailureClass::Refusal));
}

#[test]
fn a_payload_that_is_not_understood_is_a_bad_request() {
    let compiled = agents::shipped("validated").unwrap().check().unwrap();
    for (payload, expected) in [
        ("", "payload: expected a JSON object"),
        ("[]", "payload: expected a JSON object"),
        ("{}", "payload.user_question: expected a text"),
        (r#"{"user_question": 7}"#, "payload.user_question: expected a text"),
    ] {
        for role in RoleName::ALL {
            let Some(reply) = ask(&compiled, role, payload) else { continue };
            match reply.unwrap_err() {
                ModelError::Failed(failure) => {
                    assert_eq!(failure.class, FailureClass::BadRequest);
                    assert!(failure.message.starts_with(expected), "{}", failure.message);
                }
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn a_sink_gets_the_whole_reply() {
    let frame = offline_specs::shipped("validated", RoleName::Writer);
    let payload = json!({"user_question": "hello"}).to_string();
    let request = ModelRequest { frame, payload, conversation: Vec::new(), trace: None };
    let mut streamed = String::new();
    let reply = Offline::new().ask(&request, Some(&mut |piece: &str| streamed.push_str(piece))).unwrap();
    assert_eq!(streamed, reply.text);
}

#[test]
fn large_inputs_get_bounded_replies() {
    let question = "what is the max_replans of 상태기계는 3*(4+ ".repeat(3_000);
    let text = "The journal | `a` *b* [c](d) **e** survives. ".repeat(300);
    let docs = json!([{"source": "s".repeat(9_000), "text": text}]).to_string();
    let results = vec![json!({"tool": "docs", "input": "x", "status": "completed", "output": docs}); 80];
    let payload = json!({"user_question": question, "tool_results": results});
    assert!(check(&payload) < 4_000);
}

/// Text with everything that the readers look for.
fn noise() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "\\PC{0,12}",
        1 => any::<String>().prop_map(|text| text.chars().take(12).collect::<String>()),
        4 => prop::sample::select(vec![
            "12", "3.5", "1,234", " + ", "*", "/", "-", "^", "(", ")", "%", " of ", "의 ", "제곱", "몇 ", "마일", " km ",
            " in ", "how many ", "섭씨 ", "도 ", "!", "?", "**", "`", "```\n", "| a | b |\n", "|---|\n", "# ", "- ", "[", "](",
            ")", "<b>", "&amp;", "\u{1b}[31m", "\u{1b}]", "\u{7}", "\u{1112}\u{1161}\u{11ab}", "Page: ", "Summary: ",
            "[{\"source\":\"", "\",\"text\":\"", "\"}]", "계산", "은", "그리고 ", " and ", "what is ", "max_replans", "C++",
            "그것", "²", "°", "1e9", "e+", "x", "::", "__", "\\", "\n", "journal", "저널은 ",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn record() -> impl Strategy<Value = Value> {
    let tools = ["docs", "wiki", "search", "lookup", "calc", "weather", "final_answer", ""];
    let form = |tool: &str, text: String, form: u8| match (tool, form) {
        ("docs", 0 | 1) => {
            json!([{"source": "a.md#B > C", "text": text}, {"source": text, "text": "journal"}]).to_string()
        }
        ("search", 0 | 1) => {
            json!([{"title": text, "url": "https://x.example", "content": text}]).to_string()
        }
        ("wiki", 0 | 1) => format!("Page: {text}\nSummary: {text}"),
        _ => text,
    };
    (prop::sample::select(tools.to_vec()), noise(), noise(), 0u8..4, 0u8..8).prop_map(move |(tool, input, text, kind, status)| {
        let status = ["completed", "failed"][usize::from(status == 0)];
        let output = form(tool, text, kind);
        json!({"step_index": 0, "tool": tool, "input": input, "status": status, "trust": "untrusted", "output": output})
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_reply_fits_its_contract(
        question in noise(),
        results in prop::collection::vec(record(), 0..4),
        hint in noise(),
        repair in any::<bool>(),
        rejected in any::<bool>(),
        earlier in any::<bool>(),
    ) {
        let results_again = json!(results);
        let mut payload = json!({"user_question": question, "tool_results": results});
        if rejected {
            let steps = json!([{"tool": "docs", "input": hint}, {"tool": "final_answer", "input": ""}]);
            payload["rejected_plan"] = json!({"goal": "", "steps": steps});
            payload["rejected_because"] = json!(hint);
            payload["fix_hint"] = json!(hint);
        }
        if earlier {
            payload["history"] = json!([{"role": "user", "content": hint}, {"role": "assistant", "content": question}]);
            payload["outline"] = json!([hint, "제5조 (비밀유지)"]);
            payload["unexplored"] = json!([hint]);
            payload["past_steps"] = results_again;
            payload["suggested_calls"] = json!([{"tool": "wiki", "input": hint}]);
            payload["situation_summary"] = json!([{"agent": "search_team", "results": 0}]);
            payload["answer"] = json!(hint);
            payload["material"] = json!(question);
        }
        if repair {
            payload["repair"] = json!({"your_reply": hint, "error": "$", "instruction": ""});
        }
        check(&payload);
    }

    #[test]
    fn no_payload_makes_it_panic(payload in noise()) {
        let compiled = agents::shipped("validated").unwrap().check().unwrap();
        for role in RoleName::ALL {
            let _ = ask(&compiled, role, &payload);
        }
    }
}
