//! What a server that caches beginnings can take up again: how much of a request begins like one before it, and how
//! long the requests are.

use std::sync::Arc;

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Threads};
use planwright::journal::{MemoryStore, ThreadId};
use planwright::machine::ModelReply;
use planwright::ports::{FnTool, ScriptedModel};
use planwright::prompt::ModelRequest;
use planwright::spec::{RoleName, Spec};
use serde_json::json;

use crate::stage::{accepted, asked};

const QUESTION: &str = "Which region's customer churn rose the most in Q3 compared with the same quarter last year, and \
    by how many points?";
const PLAN: [(&str, &str); 4] = [
    ("search", "churn by region Q3 current year"),
    ("fetch", "warehouse://metrics/churn_by_region?quarter=Q3"),
    ("calc", "max(delta) over regions"),
    ("final_answer", "the region and the number of points"),
];
const FOUND: [(&str, &str); 3] = [
    (
        "search",
        "1. warehouse://metrics/churn_by_region (columns: region, quarter, year, customers, lost, churn_pct) 2. \
         wiki/churn-definition: lost customers divided by customers at the start of the quarter.",
    ),
    (
        "fetch",
        "region,year,churn_pct\nNordics,0,3.8\nNordics,1,6.1\nIberia,0,4.0\nIberia,1,4.9\nDACH,0,2.9\nDACH,1,2.7\n\
         Benelux,0,3.3\nBenelux,1,3.1\nFrance,0,4.4\nFrance,1,4.2",
    ),
    (
        "calc",
        r#"{"region":"Nordics","delta":2.3,"runner_up":"Iberia","runner_up_delta":0.9,"rows_read":10,"method":"year-on-year difference per region"}"#,
    ),
];
const ANSWER: &str = "Churn rose the most in the Nordics: 6.1% in Q3 this year against 3.8% in Q3 last year, a rise of \
    2.3 points. The next largest rise was Iberia with 0.9 points; three regions fell.";

fn plan() -> String {
    let steps: Vec<_> = PLAN.iter().map(|(tool, input)| json!({"tool": tool, "input": input})).collect();
    json!({"goal": "Answer which region's Q3 churn rose most and by how much", "steps": steps}).to_string()
}

fn agent(mut spec: Spec, model: &Arc<ScriptedModel>) -> Agent {
    spec.tools = FOUND
        .map(|(name, _)| {
            let says = "Answers from a list of things that are known about the company's figures.";
            ToolContract { timeout_ms: None, ..ToolContract::text(name, says, ToolEffect::Pure) }
        })
        .to_vec();
    let contracts = spec.tools.clone().into_iter().zip(FOUND);
    let builder = contracts
        .fold(Agent::builder(spec).model(model.clone()), |builder, (contract, (_, found))| {
            builder.tool(FnTool::new(contract, move |_| Ok(found.to_owned())))
        });
    builder.build().unwrap()
}

/// A request in the order in which servers read it: tools and schema, instructions, messages.
fn text(request: &ModelRequest) -> String {
    let tools =
        if request.frame.native_calls { json!(request.frame.tools) } else { json!(request.frame.schema) };
    let conversation = request.conversation.iter().map(|message| json!(message).to_string());
    format!("{tools}{}{}{}", request.frame.system, request.payload, conversation.collect::<String>())
}

/// How many bytes two texts begin with in common.
fn shared(before: &str, now: &str) -> usize {
    before.bytes().zip(now.bytes()).take_while(|(before, now)| before == now).count()
}

#[test]
fn plain_run_takes_few_bytes() {
    let model = Arc::new(ScriptedModel::replies([plan(), accepted(), ANSWER.to_owned()]));
    let run = agent(agents::shipped("validated").unwrap(), &model).run(QUESTION).unwrap();
    assert_eq!(run.answer(), Some(ANSWER));
    let bytes = |request: &ModelRequest| {
        let schema = request.frame.schema.as_ref().map_or(0, |schema| schema.to_string().len());
        request.frame.system.len() + schema + request.payload.len()
    };
    // A verdict in the closed form takes 200 of them.
    let sum: usize = model.seen().iter().map(bytes).sum();
    assert!(sum <= 5_400, "{sum} bytes");
}

/// How much of the first request of each turn of a chat begins like that of the turn before, in percent.
fn shared_by_turns(name: &str, role: RoleName) -> Vec<usize> {
    const TURNS: usize = 30;
    let intent = json!({"intent": "new_question", "rewritten_query": QUESTION, "needs_tool": true, "constraints": null});
    let steps = json!({"steps": [{"id": "step_1", "tool": "fetch", "input": "churn"}]});
    let turn = || match role {
        RoleName::Planner => {
            vec![ModelReply::calls([("fetch", json!({"input": "churn"}))]), ModelReply::text(ANSWER)]
        }
        _ => [intent.to_string(), steps.to_string(), ANSWER.to_owned()].map(ModelReply::text).to_vec(),
    };
    let model = Arc::new(ScriptedModel::says((0..TURNS).flat_map(|_| turn())));
    let agent = agent(agents::shipped(name).unwrap(), &model);
    let (threads, thread): (_, ThreadId) =
        (Threads::new(Arc::new(MemoryStore::new())), "대화".parse().unwrap());
    for turn in 0..TURNS {
        let mut input = asked(&format!("{QUESTION} Now for the year {}.", 2_000 + turn));
        input.now = input.now.replace(":30:", &format!(":{}:", 10 + turn));
        threads.at(&thread).ask_with(&agent, input).unwrap();
    }
    let seen = model.seen();
    let first = seen.iter().filter(|request| request.frame.role == role && request.conversation.is_empty());
    let texts: Vec<String> = first.map(text).collect();
    assert_eq!(texts.len(), TURNS);
    texts.windows(2).map(|two| shared(&two[0], &two[1]) * 100 / two[1].len()).collect()
}

#[test]
fn turn_of_a_chat_begins_like_the_turn_before() {
    for (name, role) in [("conversational", RoleName::Planner), ("intent-first", RoleName::Intent)] {
        let all = shared_by_turns(name, role);
        // The instructions alone are most of the first turns.
        assert!(all[..10].iter().all(|share| *share >= 70), "{name}: {all:?}");
        assert!(all[10..20].iter().all(|share| *share >= 90), "{name}: {all:?}");
        // What is forgotten goes five turns at a time, and only then does a request begin otherwise.
        let other: Vec<usize> = (20..all.len()).filter(|turn| all[*turn] < 90).collect();
        assert_eq!(other, [20, 25], "{name}: {all:?}");
    }
}

#[test]
fn writer_and_repair_begin_like_what_was_asked_before() {
    let replies = ["no plan".to_owned(), plan(), accepted(), ANSWER.to_owned()];
    let model = Arc::new(ScriptedModel::replies(replies));
    agent(agents::shipped("validated").unwrap(), &model).job(asked(QUESTION)).run().unwrap();
    let seen = model.seen();
    let roles: Vec<RoleName> = seen.iter().map(|request| request.frame.role).collect();
    assert_eq!(roles, [RoleName::Planner, RoleName::Planner, RoleName::Validator, RoleName::Writer]);
    for two in [&seen[..2], &seen[2..]] {
        let same = shared(&two[0].payload, &two[1].payload);
        assert!(same * 100 >= two[0].payload.len() * 95, "{} of {}", same, two[0].payload);
    }
    assert_eq!(seen[2].payload, seen[3].payload, "the writer reads what its validator read");
}

#[test]
fn round_of_a_conversation_begins_with_the_whole_round_before() {
    let calls = |input: &str| ModelReply::calls([("fetch", json!({"input": input}))]);
    let model = Arc::new(ScriptedModel::says([calls("a"), calls("b"), ModelReply::text(ANSWER)]));
    agent(agents::shipped("react").unwrap(), &model).job(asked(QUESTION)).run().unwrap();
    let texts: Vec<String> = model.seen().iter().map(text).collect();
    assert!(texts.len() == 3 && texts.windows(2).all(|two| two[1].starts_with(&two[0])));
}
