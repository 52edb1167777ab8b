//! The shipped agents are data: every choice of every one of them is in a snapshot, and what follows from
//! them is here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planwright::agents;
use planwright::contract::{AskedCall, Before, ToolEffect};
use planwright::spec::{CompiledAgent, CompiledSpec, Planner, Policy, Spec};
use serde_json::Value;

fn compiled(name: &str) -> CompiledSpec {
    let spec = agents::shipped(name).unwrap_or_else(|| panic!("there is no agent {name:?}"));
    spec.check().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// For each field of a spec the choices, and who makes them.
type Choices = BTreeMap<String, BTreeMap<String, Vec<String>>>;

fn collect(agent: &str, field: &str, value: &Value, choices: &mut Choices) {
    let last = field.rsplit('.').next().unwrap_or_default();
    match value {
        // Words are held to their duties elsewhere.
        _ if ["name", "prompt", "description"].contains(&last) => {}
        Value::Object(fields) => {
            let dot = if field.is_empty() { "" } else { "." };
            fields
                .iter()
                .for_each(|(key, value)| collect(agent, &format!("{field}{dot}{key}"), value, choices));
        }
        Value::Array(list) if ["tools", "agents"].contains(&field) => {
            let names = list.iter().map(|one| one["name"].as_str().unwrap_or_default());
            let names = Value::String(names.collect::<Vec<_>>().join(" "));
            collect(agent, &format!("{field} by name"), &names, choices);
        }
        Value::Null => {}
        value => {
            let choice = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            choices.entry(field.to_owned()).or_default().entry(choice).or_default().push(agent.to_owned());
        }
    }
}

fn collect_spec(agent: &str, spec: &Spec, choices: &mut Choices) {
    collect(agent, "", &serde_json::to_value(spec).expect("written"), choices);
    for member in &spec.agents {
        let name = format!("{agent}/{}", member.name);
        match (&member.spec, &member.role) {
            (Some(inner), _) => collect_spec(&name, inner, choices),
            (_, role) => collect(&name, "role", &serde_json::to_value(role).expect("written"), choices),
        }
    }
}

/// A field that is left at its default is in no line of its agent.
#[test]
fn every_choice_of_every_shipped_agent_is_known() {
    let mut choices = Choices::new();
    for name in agents::names() {
        collect_spec(name, compiled(name).spec(), &mut choices);
    }
    let mut table = String::new();
    for (field, by_choice) in choices {
        writeln!(table, "{field}").expect("a text");
        for (choice, agents) in by_choice {
            writeln!(table, "    {choice} <- {}", agents.join(" ")).expect("a text");
        }
    }
    insta::assert_snapshot!("choices", table);
    insta::assert_debug_snapshot!("defaults", Policy::default());
}

#[test]
fn every_shipped_agent_is_bounded_and_has_no_tool_that_writes() {
    for name in agents::names() {
        let compiled = compiled(name);
        assert!(!compiled.spec().description.is_empty(), "{name} says what it does");
        let bounds = compiled.bounds();
        assert!(bounds.model_calls > 0 && bounds.model_calls < 1_000, "{name}: {bounds:?}");
        assert!(bounds.transitions < 10_000, "{name}: {bounds:?}");
        for tool in compiled.plan().all() {
            assert!(tool.effect < ToolEffect::Write, "{name}: {}", tool.name);
        }
    }
}

/// A team costs one model call: the choice of its tool, or its words.
#[test]
fn teams_are_agents_that_ask_one_model_once() {
    let compiled = compiled("orchestrated");
    for agent in compiled.plan().agents() {
        let Some(CompiledAgent::Spec(team)) = compiled.agent(&agent.name) else {
            panic!("{} is no agent", agent.name)
        };
        // What else it called would be lost: only the last result leaves a team.
        assert_eq!((team.policy().plan.min_steps, team.policy().plan.max_steps), (0, 1), "{}", agent.name);
        assert_eq!(team.bounds().model_calls, 1 + team.spec().limits.max_repairs, "{}", agent.name);
    }
}

#[test]
fn native_calls_need_to_say_nothing_beside_themselves() {
    for name in agents::names() {
        let compiled = compiled(name);
        if compiled.policy().planner == Planner::ToolCalls {
            let tool = &compiled.spec().tools[0];
            let call = AskedCall { name: tool.name.clone(), arguments: r#"{"input": "x"}"#.to_owned() };
            let read = compiled.plan().parse_calls(Before::NOTHING, &[call.clone(), call], 1_000);
            assert_eq!(read.unwrap_or_else(|error| panic!("{name}: {error}")).plan.steps.len(), 2);
        }
    }
}

#[test]
fn articles_and_the_standard_contract_are_proposed_where_a_question_names_them() {
    let compiled = compiled("evaluate-loop");
    let differs = "How does it differ from the standard contract?";
    for (question, calls) in [
        ("제5조 내용이 뭐야?", vec!["get_article_by_index: 제5조"]),
        ("제 5 조의 내용", vec!["get_article_by_index: 제5조"]),
        (
            "제3조의2와 제12조를 비교해줘",
            vec!["get_article_by_index: 제3조의2", "get_article_by_index: 제12조"],
        ),
        ("What does Article 7 say?", vec!["get_article_by_index: Article 7"]),
        ("「비밀유지」 조항이 있어?", vec!["get_article_by_title: 비밀유지"]),
        ("표준 계약서와 뭐가 달라?", vec!["lookup_standard_contract: 표준 계약서와 뭐가 달라?"]),
        (differs, vec!["lookup_standard_contract: How does it differ from the standard contract?"]),
        ("계약 기간은?", vec![]),
    ] {
        let suggested = compiled.suggested(question);
        let said =
            suggested.iter().map(|call| format!("{}: {}", call.tool, call.input.as_str().expect("a text")));
        assert_eq!(said.collect::<Vec<_>>(), calls, "{question}");
    }
}
