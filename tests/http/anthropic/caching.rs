//! What a server can keep: a request begins with the bytes of the one before it.

use planwright::driver::Agent;
use planwright::machine::{Input, Speaker, Turn, start};
use planwright::ports::FnTool;
use planwright::prompt::{Request, RequestBody};
use serde_json::{Value, json};

use super::*;

/// What a request consists of, in the order in which a server keeps it: tools, instructions and the blocks of its
/// messages. The marks are told apart: which blocks have one.
pub(super) fn blocks(body: &Value) -> (Vec<String>, Vec<usize>) {
    let (mut blocks, mut marks) = (vec![body["tools"].to_string()], Vec::new());
    let messages = body["messages"].as_array().unwrap().iter();
    let said = messages.flat_map(|message| {
        let role = message["role"].as_str().unwrap();
        message["content"].as_array().unwrap().iter().map(move |block| (role, block.clone()))
    });
    let system = body["system"].as_array().unwrap().iter().map(|block| ("system", block.clone()));
    for (role, mut block) in system.chain(said) {
        if block.as_object_mut().unwrap().shift_remove("cache_control").is_some() {
            marks.push(blocks.len());
        }
        blocks.push(format!("{role}{block}"));
    }
    (blocks, marks)
}

/// The last mark of a request up to which the next one is equal to it, byte by byte.
pub(super) fn find_kept(earlier: &Value, later: &Value) -> usize {
    let ((before, marks), (after, _)) = (blocks(earlier), blocks(later));
    assert!(marks.len() <= 4, "a server takes four marks");
    let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    *marks.iter().filter(|mark| **mark < same).max().expect("a request begins like the one before it")
}

#[test]
fn request_begins_with_the_one_before_it_from_draft_to_draft() {
    let server = Server::start(|_, nth| match nth {
        0..4 => {
            let calls: Vec<Value> = (0..2)
                .map(|at| json!({"type": "tool_use", "id": format!("t{nth}{at}"), "name": "calc", "input": {"input": format!("{nth}+{at}")}}))
                .collect();
            let thought =
                json!({"type": "thinking", "thinking": format!("라운드 {nth}"), "signature": "c2ln"});
            let content: Vec<Value> = std::iter::once(thought.clone()).chain(calls).collect();
            Answer::json(200, &message(content.into(), "tool_use"))
        }
        _ => words("끝."),
    });
    let spec = planwright::agents::shipped("react").unwrap().with_tools(|tool| tool.name == "calc");
    let calc = FnTool::new(planwright::agents::tool("calc").unwrap(), |_| Ok("2".to_owned()));
    let model = Anthropic::new(config(&server)).unwrap();
    let agent = Agent::builder(spec).model(model).tool(calc).build().unwrap();
    assert_eq!(agent.run("얼마?").unwrap().answer(), Some("끝."));

    let bodies: Vec<Value> = server.seen().iter().map(|seen| seen.json()).collect();
    assert_eq!(bodies.len(), 5);
    for pair in bodies.windows(2) {
        let kept = find_kept(&pair[0], &pair[1]);
        assert_eq!(kept + 1, blocks(&pair[0]).0.len(), "the whole of a request is kept for the next");
    }
    // The thoughts went back unchanged, before the calls that they were thought for.
    let first = &bodies[4]["messages"][1]["content"];
    assert_eq!(first[0], json!({"type": "thinking", "thinking": "라운드 0", "signature": "c2ln"}));
    assert_eq!((&first[1]["type"], &first[2]["type"]), (&json!("tool_use"), &json!("tool_use")));
}

#[test]
fn request_begins_with_the_one_before_it_from_turn_to_turn() {
    let compiled = planwright::agents::shipped("conversational").unwrap().check().unwrap();
    let server = Server::answering([words("{}")]);
    let asker = Asker::of(&server);
    let mut history = Vec::new();
    let turn = |role, content: String| Turn { role, content, trusted: false };
    for nth in 0..4 {
        let now = format!("2026-01-0{nth}");
        let input = Input { history: history.clone(), now, ..Input::question("그래서?") };
        let begun = start(&compiled, input);
        let asked = Request::of(&compiled, &begun.state, begun.effects[0]).unwrap();
        let RequestBody::Model { request, .. } = asked.body else { panic!("the planner is asked") };
        asker.ask_with(&request).unwrap();
        let answer = turn(Speaker::Assistant, format!("[{nth}] 답, \"user_question\":"));
        history.extend([turn(Speaker::User, format!("{nth}번째 질문")), answer]);
    }
    let bodies: Vec<Value> = server.seen().iter().map(|seen| seen.json()).collect();
    let kept: Vec<usize> = bodies.windows(2).map(|pair| find_kept(&pair[0], &pair[1])).collect();
    assert_eq!(kept, [1, 3, 5], "the instructions; then each turn two entries more");
}
