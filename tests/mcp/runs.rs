//! Tools of a server in runs: on record as they were shown, replayed without the server, in doubt where nobody knows.

use planwright::agents;
use planwright::driver::{Agent, AgentBuilder, Stopped};
use planwright::machine::Input;
use planwright::ports::ScriptedModel;
use planwright::spec::Spec;

use crate::stage::{definition, server_of};

/// An agent with the tools of the server, pinned as it is now.
fn spec(fault: &str) -> Spec {
    let definition = definition(fault, None);
    let mut spec = agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.mcp.insert("hostile".to_owned(), definition.clone());
    spec.take_pins(&[("hostile".to_owned(), server_of(&definition).list().unwrap())].into()).unwrap();
    spec
}

fn agent(spec: &Spec, replies: &[&str]) -> Agent {
    let server = server_of(&spec.mcp["hostile"]);
    let tools = server.open_tools(&spec.all_tools(), &spec.mcp["hostile"].pins).unwrap();
    let model = ScriptedModel::replies(replies.iter().copied());
    tools.into_iter().fold(Agent::builder(spec.clone()).model(model), AgentBuilder::tool).build().unwrap()
}

fn plan(tool: &str, text: &str) -> String {
    format!(
        r#"{{"goal": "g", "steps": [{{"tool": "{tool}", "input": {{"text": "{text}"}}}}, {{"tool": "final_answer", "input": "a"}}]}}"#
    )
}

#[test]
fn a_run_with_a_servers_tool_is_replayed_without_the_server() {
    let spec = spec("");
    let run = agent(&spec, &[&plan("hostile.echo", "안녕"), "끝"]).job(Input::question("q")).run().unwrap();
    let fixture = run.fixture().unwrap();
    let text = serde_json::to_string(&fixture).unwrap();
    assert!(text.contains("Says it back.") && text.contains("안녕"));
    let replaying = Agent::builder(fixture.spec.clone()).build().unwrap();
    assert_eq!(replaying.replay(&fixture).unwrap().state(), run.state());
}

#[test]
fn a_write_that_its_server_did_not_survive_is_in_doubt() {
    let stopped =
        |text| agent(&spec(""), &[&plan("hostile.write", text)]).job(Input::question("q")).run().unwrap_err();
    let died = stopped("die in a word");
    let told = died.to_string();
    assert!(matches!(died, Stopped::Interrupted(_) | Stopped::InDoubt { .. }), "{died:?}");
    assert!(told.contains("hostile.write") && told.contains("may have happened"), "{told}");
    assert!(told.contains("in doubt: ") && !told.contains("timeout"), "{told}");
    // One that may be made again, and one that was refused, are outcomes like any other.
    for (tool, text) in [("hostile.append", "die"), ("hostile.write", "refuses")] {
        let run = agent(&spec(""), &[&plan(tool, text), "끝"]).job(Input::question("q")).run().unwrap();
        assert!(serde_json::to_string(run.state()).unwrap().contains("the server"), "{tool}");
    }
}
