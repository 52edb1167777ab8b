//! The shipped agents are data: every choice of every one of them, as a table. Whoever changes a
//! spec changes its row here.

use planwright::agents;
use planwright::contract::{AskedCall, FinalStep, IntentForm, StepField};
use planwright::contract::{ToolEffect, plan};
use planwright::spec::{
    Approval, CompiledSpec, Containment, Doer, Execution, Horizon, Limits, Memory, OnBadReply, OnExhausted,
    OnFailure, OnRejection, OnReplan, OnStepFailure, Orchestrate, Planner, Policy, RoleName, Spec, Validate,
    Write,
};
use serde::Serialize;

/// Rows are fields, columns are agents; `-` is a field that nothing in the policy reads. The column
/// `react` stands for the agents whose planner goes on call by call and answers itself; where those
/// differ, [`FAMILY`] says so.
const TABLE: &str = "
field          | plan-then-execute | validated       | intent-first | evaluate-loop           | orchestrated | supervised   | react           | research-team
intake         | -                 | -               | intent query | scope, previous_context | intent kind  | intent text  | -               | -
planner        | json              | json            | json         | tool_calls              | json         | json         | tool_calls      | json
horizon        | whole             | whole           | whole        | next                    | whole        | whole        | next            | whole
steps          | 1-6               | 1-6             | 0-6          | any                     | 0-6          | 1-20         | any             | 1-6
final_step     | required          | required        | none         | none                    | none         | none         | none            | none
on_step_failure| record            | record          | replan       | record                  | record       | record       | record          | record
tries          | 1                 | 1               | 1            | 1                       | 1            | 3            | 1               | 1
on_replan      | -                 | restart         | keep         | keep                    | -            | -            | -               | restart
on_bad_reply   | fail              | repair          | fail         | repair                  | repair       | repair       | repair          | repair
duplicates     | allow             | allow           | allow        | skip                    | allow        | allow        | allow           | allow
execution      | sequential        | sequential      | sequential   | parallel                | sequential   | sequential   | parallel        | parallel
orchestrate    | never             | never           | never        | never                   | each_step, 4 | never        | never           | never
validate       | off               | verdict results | off          | sufficiency results     | off          | off          | off             | verdict answer
on_exhausted   | -                 | fail            | fail         | write                   | -            | -            | fail            | fail
write          | model final       | model text      | model text   | model text              | model text   | summary      | planner         | last_result
approval       | never             | never           | never        | never                   | never        | steps, stop  | never           | never
memory         | none              | none            | thread       | thread                  | thread       | thread       | none            | none
enable_cache   | false             | false           | false        | true                    | false        | false        | false           | false
replans        | 0                 | 2               | 2            | -                       | 0            | 0            | -               | 2
iterations     | -                 | -               | -            | 4                       | -            | -            | 8               | -
";

/// What the agents of the family of `react` choose otherwise than it.
const FAMILY: [(&str, &str); 3] = [("conversational", "memory: thread"), ("self-ask", ""), ("docstore", "")];

/// A tool, how often at least, and the lines of the answer that it must be called for.
type Call = (&'static str, u32, Option<&'static str>);

/// The calls that must have been made before there is an answer.
const REQUIRED: [(&str, &[Call]); 2] = [
    ("self-ask", &[("search", 1, Some("Follow-up"))]),
    ("docstore", &[("wiki", 1, None), ("lookup", 1, None)]),
];

/// A choice, as it is written in a spec.
fn word(choice: impl Serialize) -> String {
    match serde_json::to_value(choice).expect("a choice is a word") {
        serde_json::Value::String(word) => word,
        other => other["mode"].as_str().expect("a mode").to_owned(),
    }
}

fn dash(read: bool, said: impl FnOnce() -> String) -> String {
    if read { said() } else { "-".to_owned() }
}

/// One cell of the table, out of a spec.
fn cell(spec: &Spec, field: &str) -> String {
    let (policy, limits) = (&spec.policy, &spec.limits);
    let next = policy.horizon == Horizon::Next;
    match field {
        "intake" => {
            let asked = policy.intake.iter().map(|intake| match word(intake).as_str() {
                "intent" => format!("intent {}", word(policy.intent.form)),
                other => other.to_owned(),
            });
            let asked: Vec<String> = asked.collect();
            dash(!asked.is_empty(), || asked.join(", "))
        }
        "planner" => word(policy.planner),
        "horizon" => word(policy.horizon),
        "steps" if next => {
            assert!(policy.plan.min_steps == 0 && policy.plan.max_steps == 16, "any number, within reason");
            "any".to_owned()
        }
        "steps" => format!("{}-{}", policy.plan.min_steps, policy.plan.max_steps),
        "final_step" => word(policy.plan.final_step),
        "on_step_failure" => word(policy.on_step_failure),
        "tries" => policy.step_tries.tries.to_string(),
        "on_replan" => {
            dash(policy.can_replan() || policy.on_replan != OnReplan::default(), || word(policy.on_replan))
        }
        "on_bad_reply" => word(policy.on_bad_reply),
        "duplicates" => word(policy.duplicates),
        "execution" => word(policy.execution),
        "orchestrate" => match policy.orchestrate {
            Orchestrate::Never => word(policy.orchestrate),
            Orchestrate::EachStep => format!("{}, {}", word(policy.orchestrate), limits.max_added_steps),
        },
        "validate" => match policy.validate {
            Validate::Off => word(policy.validate),
            _ => format!("{} {}", word(policy.validate), word(policy.validate_at)),
        },
        "on_exhausted" => dash(policy.can_replan() || next, || word(policy.on_exhausted)),
        "write" => match policy.write {
            Write::Model => {
                let writer = spec.roles.writer.as_ref().expect("a writer");
                format!("model {}", word(writer.form.unwrap_or_default()))
            }
            _ => word(policy.write),
        },
        "approval" => match policy.approval {
            Approval::NEVER => word(policy.approval),
            _ => format!("{}, {}", word(policy.approval), word(policy.on_rejection)),
        },
        "memory" => word(policy.memory),
        "enable_cache" => policy.enable_cache.to_string(),
        "replans" => dash(!next, || limits.max_replans.to_string()),
        "iterations" => dash(next, || limits.max_iterations.expect("a bound").to_string()),
        other => panic!("the table has a field {other:?} that no cell is for"),
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

/// Every agent with its row of the table: field and choice.
fn expected() -> Vec<(String, Vec<(&'static str, String)>)> {
    let mut lines = TABLE.trim().lines();
    let header = cells(lines.next().expect("a header"));
    let rows: Vec<Vec<&str>> = lines.map(cells).collect();
    let column = |at: usize| rows.iter().map(|row| (row[0], row[at].to_owned())).collect::<Vec<_>>();
    let mut all: Vec<(String, Vec<_>)> =
        header.iter().enumerate().skip(1).map(|(at, name)| ((*name).to_owned(), column(at))).collect();
    let at = header.iter().position(|name| *name == "react").expect("a column");
    for (name, otherwise) in FAMILY {
        let mut own = column(at);
        if let Some((field, choice)) = otherwise.split_once(": ") {
            let known = own.iter_mut().find(|(known, _)| *known == field).expect("a field of the table");
            known.1 = choice.to_owned();
        }
        all.push((name.to_owned(), own));
    }
    all
}

fn spec(name: &str) -> Spec {
    agents::shipped(name).unwrap_or_else(|| panic!("there is no agent {name:?}"))
}

fn rules(name: &str) -> CompiledSpec {
    spec(name).check().unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_field_of_every_shipped_agent_is_as_the_table_says() {
    for (name, row) in expected() {
        let spec = spec(&name);
        for (field, choice) in row {
            assert_eq!(cell(&spec, field), choice, "{name}: {field}");
        }
    }
}

#[test]
fn the_table_has_every_shipped_agent_in_it() {
    let mut told: Vec<String> = expected().into_iter().map(|(name, _)| name).collect();
    let mut shipped: Vec<String> = agents::names().map(str::to_owned).collect();
    told.sort();
    shipped.sort();
    assert_eq!(shipped, told);
}

#[test]
fn the_agents_are_listed_in_the_order_that_people_meet_them() {
    let names: Vec<&str> = agents::names().collect();
    let order = [
        "plan-then-execute",
        "validated",
        "intent-first",
        "evaluate-loop",
        "orchestrated",
        "supervised",
        "react",
        "conversational",
        "self-ask",
        "docstore",
        "research-team",
    ];
    assert_eq!(names, order);
}

#[test]
fn every_shipped_agent_is_free_of_contradictions_and_bounded() {
    for name in agents::names() {
        let rules = rules(name);
        assert!(!rules.spec().description.is_empty(), "{name} says what it does");
        let bounds = rules.bounds();
        assert!(bounds.model_calls > 0 && bounds.model_calls < 1_000, "{name}: {bounds:?}");
        assert!(bounds.transitions < 10_000, "{name}: {bounds:?}");
    }
}

#[test]
fn containment_is_standard_and_repairs_are_at_most_one_in_all_of_them() {
    for name in agents::names() {
        let spec = spec(name);
        assert_eq!(spec.policy.containment, Containment::Standard, "{name}");
        assert_eq!(spec.limits.max_repairs, 1, "{name}");
    }
}

/// Limits that no agent sets follow from the others, or are the same for all.
#[test]
fn no_shipped_agent_sets_a_budget_of_its_own() {
    for name in agents::names() {
        let mut limits = spec(name).limits;
        (limits.max_replans, limits.max_iterations) = (2, None);
        assert_eq!(limits, Limits::default(), "{name}");
        assert!(spec(name).prices.is_empty(), "{name}");
    }
}

#[test]
fn calls_are_required_of_self_ask_and_docstore_alone() {
    for name in agents::names() {
        let required = spec(name).policy.required_calls;
        let said: Vec<_> =
            required.iter().map(|call| (call.tool.as_str(), call.least, call.per_line.as_deref())).collect();
        let told = REQUIRED.iter().find(|(agent, _)| *agent == name).map_or(&[][..], |(_, calls)| calls);
        assert_eq!(said, told, "{name}");
    }
}

#[test]
fn failed_steps_of_supervised_wait_one_second_and_then_two() {
    let tries = spec("supervised").policy.step_tries;
    assert_eq!((tries.tries, tries.wait_before(2), tries.wait_before(3)), (3, 1_000, 2_000));
}

#[test]
fn intents_are_sorted_into_the_kinds_that_each_agent_knows() {
    let intent = |name: &str| {
        let intent = spec(name).policy.intent;
        (intent.form, intent.kinds.join(" "), intent.answer_at_once.join(" "))
    };
    let kinds = "new_question follow_up clarification chitchat".to_owned();
    assert_eq!(intent("intent-first"), (IntentForm::Query, kinds, String::new()));
    let kinds = "information analysis comparison document unclear irrelevant".to_owned();
    assert_eq!(intent("orchestrated"), (IntentForm::Kind, kinds, "unclear irrelevant".to_owned()));
    assert_eq!(intent("supervised"), (IntentForm::Text, String::new(), String::new()));
}

#[test]
fn planners_are_offered_the_step_fields_that_their_agents_use() {
    let offered = |name: &str| {
        let plan = spec(name).policy.plan;
        let fields: Vec<&str> = plan.fields.iter().map(|field| field.as_str()).collect();
        let required: Vec<&str> = plan.required.iter().map(|field| field.as_str()).collect();
        (fields.join(" "), required.join(" "))
    };
    let both = |fields: &str, required: &str| (fields.to_owned(), required.to_owned());
    assert_eq!(offered("plan-then-execute"), both("", ""));
    assert_eq!(offered("validated"), both("", ""));
    assert_eq!(offered("intent-first"), both("id input_from description", ""));
    assert_eq!(offered("orchestrated"), both("task description", ""));
    assert_eq!(offered("supervised"), both("id description hitl_question with", "description"));
    assert_eq!(offered("research-team"), both("id depends_on input_from task", ""));
}

#[test]
fn plans_say_what_their_agents_need_of_them() {
    let says = |name: &str| {
        let says = spec(name).policy.plan.says;
        let said = [(says.goal, "goal"), (says.reasoning, "reasoning"), (says.strategy, "strategy")];
        let said: Vec<&str> = said.into_iter().filter_map(|(must, field)| must.then_some(field)).collect();
        said.join(" ")
    };
    assert_eq!(says("plan-then-execute"), "goal");
    assert_eq!(says("validated"), "goal");
    assert_eq!(says("intent-first"), "");
    assert_eq!(says("orchestrated"), "strategy");
    assert_eq!(says("supervised"), "reasoning");
    assert_eq!(says("research-team"), "goal");
}

#[test]
fn orchestrator_alone_has_a_reply_of_its_own_to_fall_back_on() {
    for name in agents::names() {
        let spec = spec(name);
        for role in RoleName::ALL {
            let Some(own) = spec.roles.get(role).and_then(|role| role.on_failure.as_ref()) else { continue };
            assert_eq!((name, role), ("orchestrated", RoleName::Orchestrator));
            assert!(matches!(own, OnFailure::Fallback(_)), "{own:?}");
        }
    }
    let rules = rules("orchestrated");
    let OnFailure::Fallback(reply) = rules.on_failure(RoleName::Orchestrator) else { panic!("a fallback") };
    assert_eq!(rules.read_decision(&reply).expect("reads").action, planwright::contract::Action::Continue);
}

#[test]
fn roles_decide_at_temperature_zero_and_orchestrators_at_a_fifth() {
    for name in agents::names() {
        let spec = spec(name);
        for role in RoleName::ALL {
            let Some(temperature) = spec.roles.get(role).map(|role| role.temperature) else { continue };
            let own = match role {
                RoleName::Orchestrator => 0.2..=0.2,
                RoleName::Writer => 0.0..=0.2,
                RoleName::Conversation => 0.5..=0.5,
                _ => 0.0..=0.0,
            };
            assert!(temperature.is_some_and(|value| own.contains(&value)), "{name} {role}: {temperature:?}");
        }
    }
}

#[test]
fn tools_of_each_agent_are_those_it_is_for() {
    let tools = |name: &str| {
        let mut names: Vec<String> = spec(name).tools.into_iter().map(|tool| tool.name).collect();
        names.sort();
        names.join(" ")
    };
    let contract = "get_article_by_index get_article_by_title hybrid_search lookup_standard_contract";
    for name in agents::names() {
        let own = match name {
            "evaluate-loop" => contract,
            "orchestrated" | "supervised" => "",
            _ => "calc docs lookup search wiki",
        };
        assert_eq!(tools(name), own, "{name}");
    }
}

#[test]
fn no_shipped_agent_has_a_tool_that_writes() {
    for name in agents::names() {
        for tool in rules(name).plan().all() {
            assert!(tool.effect < ToolEffect::Write, "{name}: {}", tool.name);
        }
    }
}

/// A team costs one model call: the choice of its tool, or its words.
#[test]
fn teams_are_agents_with_their_own_tools_that_ask_one_model_once() {
    let rules = rules("orchestrated");
    let names: Vec<&str> = rules.plan().agents().iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["search_team", "analysis_team", "document_team"]);
    for (name, tools) in names.iter().zip(["docs wiki search lookup", "calc", "docs"]) {
        let Some(Doer::Agent(team)) = rules.doer(name) else { panic!("{name} is no whole agent") };
        let own: Vec<&str> = team.plan().tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(own.join(" "), tools, "{name}");
        let policy = team.policy();
        let chosen = (policy.planner, policy.horizon, policy.write, policy.validate);
        assert_eq!(chosen, (Planner::ToolCalls, Horizon::Whole, Write::LastResult, Validate::Off), "{name}");
        // What else it called would be lost: only the last result leaves a team.
        assert_eq!((policy.plan.min_steps, policy.plan.max_steps), (0, 1), "{name}");
        assert_eq!(team.bounds().model_calls, 1 + team.spec().limits.max_repairs, "{name}");
    }
}

#[test]
fn role_agents_ship_for_supervised_and_for_the_research_team() {
    let told = [
        ("supervised", "search validation analysis comparison document"),
        ("research-team", "research writer critic"),
    ];
    for (agent, names) in told {
        let rules = rules(agent);
        let own: Vec<&str> = rules.plan().agents().iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(own.join(" "), names, "{agent}");
        assert!(rules.doers().iter().all(|doer| matches!(doer, Doer::Role(_))), "{agent}");
    }
}

#[test]
fn native_calls_need_to_say_nothing_beside_themselves() {
    for name in agents::names().filter(|name| spec(name).policy.planner == Planner::ToolCalls) {
        let rules = rules(name);
        let tool = &rules.plan().tools()[0];
        let call = AskedCall { name: tool.name.clone(), arguments: r#"{"input": "x"}"#.to_owned() };
        let read = rules.plan().read_calls(plan::Before::NOTHING, &[call.clone(), call], 1_000);
        assert_eq!(read.unwrap_or_else(|error| panic!("{name}: {error}")).plan.steps.len(), 2);
    }
}

/// What a question suggests, as `tool: input`.
#[track_caller]
fn suggests(question: &str, calls: &[&str]) {
    let suggested = rules("evaluate-loop").suggested(question);
    let said: Vec<String> = suggested
        .iter()
        .map(|call| format!("{}: {}", call.tool, call.input.as_str().expect("a text")))
        .collect();
    assert_eq!(said, calls, "{question}");
}

#[test]
fn articles_and_the_standard_contract_are_proposed_where_a_question_names_them() {
    suggests("제5조 내용이 뭐야?", &["get_article_by_index: 제5조"]);
    suggests("제 5 조의 내용", &["get_article_by_index: 제5조"]);
    suggests(
        "제3조의2와 제12조를 비교해줘",
        &["get_article_by_index: 제3조의2", "get_article_by_index: 제12조"],
    );
    suggests("What does Article 7 say?", &["get_article_by_index: Article 7"]);
    suggests("「비밀유지」 조항이 있어?", &["get_article_by_title: 비밀유지"]);
    suggests("표준 계약서와 뭐가 달라?", &["lookup_standard_contract: 표준 계약서와 뭐가 달라?"]);
    suggests(
        "How does it differ from the standard contract?",
        &["lookup_standard_contract: How does it differ from the standard contract?"],
    );
    suggests("계약 기간은?", &[]);
}

/// Choices that no shipped agent makes are there for users' own.
#[test]
fn what_no_shipped_agent_chooses_is_left_at_its_default() {
    for name in agents::names() {
        let Policy { plan, on_step_failure, planner, .. } = spec(name).policy;
        assert_eq!(plan.max_depth, None, "{name}");
        assert_ne!(on_step_failure, OnStepFailure::Abort, "{name}");
        assert_ne!(planner, Planner::ReactText, "{name}");
    }
    let default = Policy::default();
    assert_eq!(default.on_bad_reply, OnBadReply::Repair);
    assert_eq!((default.on_exhausted, default.on_rejection), (OnExhausted::Fail, OnRejection::Stop));
    assert_eq!((default.memory, default.execution), (Memory::None, Execution::Sequential));
    assert_eq!(
        (default.plan.final_step, default.plan.fields),
        (FinalStep::Required, Vec::<StepField>::new())
    );
}
