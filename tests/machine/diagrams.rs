//! The drawings in the documentation are those of the machine as it is.
//!
//! `PLANWRIGHT_DRAW=1 cargo test --test machine diagrams` draws them anew.

use std::fmt::Write;
use std::path::PathBuf;

use planwright::agents;
use planwright::machine::explore::{arrows, mermaid, sketch};
use planwright::spec::{Approval, OnExhausted, OnRejection, OnStepFailure, Spec};

const HEAD: &str = "\
# The agents, drawn

Every edge here was found by walking the machine under the agent's spec; `planwright diagram --agent NAME` draws one \
of them. This page is generated, and a test holds it to the machine: `PLANWRIGHT_DRAW=1 cargo test --test machine diagrams`.
";

fn draw(text: &mut String, title: &str, spec: Spec) {
    let inner: Vec<(String, Spec)> = spec
        .agents
        .iter()
        .filter_map(|member| Some((format!("{title} › {}", member.name), (**member.spec.as_ref()?).clone())))
        .collect();
    let description = spec.description.clone();
    let compiled = spec.check().expect("every shipped agent checks");
    let drawing = mermaid(&sketch(&compiled));
    write!(text, "\n## {title}\n\n{description}\n\n```mermaid\n{drawing}```\n").expect("a text takes text");
    for (title, spec) in inner {
        draw(text, &title, spec);
    }
}

#[test]
fn the_drawings_in_the_documentation_are_current() {
    let mut text = HEAD.to_owned();
    for name in agents::names() {
        draw(&mut text, name, agents::shipped(name).expect("it is one of the names"));
    }
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/diagrams.md");
    if std::env::var_os("PLANWRIGHT_DRAW").is_some() {
        std::fs::write(&page, &text).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&page).unwrap_or_default().replace("\r\n", "\n");
    assert_eq!(written, text, "docs/diagrams.md is not what the machine does; see the head of this test");
}

/// Puts the text between the fences of the first block of a page that begins so.
fn with_block(page: &str, begins: &str, text: &str) -> String {
    let at = page.find(begins).expect("the block begins") + begins.len();
    let end = at + page[at..].find("```").expect("the block ends");
    let end = page[..end].rfind('\n').expect("a line of its own") + 1;
    format!("{}{text}{}", &page[..at], &page[end..])
}

#[test]
fn the_graphs_at_the_top_of_the_machine_and_the_readme_are_the_machines() {
    let sketched = |spec: Spec| sketch(&spec.check().expect("it checks"));
    let shipped = |name: &str| agents::shipped(name).expect("it ships");
    let mut reports: Vec<_> = agents::names().map(|name| sketched(shipped(name))).collect();
    let mut asking = shipped("validated");
    (asking.policy.approval, asking.policy.on_rejection) = (Approval::ALL, OnRejection::Replan);
    asking.policy.on_exhausted = OnExhausted::Write;
    asking.policy.on_step_failure = OnStepFailure::Replan;
    reports.push(sketched(asking));
    let whole: String = arrows(&reports).lines().map(|line| format!("//! {line}\n")).collect();
    let one = arrows(&[sketched(shipped(agents::DEFAULT))]);
    let pages = [("src/machine/mod.rs", "//! ```text\n", whole), ("README.md", "```text\n", one)];
    for (page, begins, graph) in pages {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = std::fs::read_to_string(&path).expect("the page").replace("\r\n", "\n");
        let drawn = with_block(&text, begins, &graph);
        if std::env::var_os("PLANWRIGHT_DRAW").is_some() {
            std::fs::write(&path, &drawn).expect("the page can be written");
        } else {
            assert_eq!(text, drawn, "{page} is not what the machine does; see the head of this test");
        }
    }
}
