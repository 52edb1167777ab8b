//! The drawings in the documentation are those of the machine as it is.
//!
//! `PLANWRIGHT_DRAW=1 cargo test --test diagrams` draws them anew.

use std::fmt::Write;
use std::path::PathBuf;

use planwright::agents;
use planwright::machine::explore::mermaid;
use planwright::machine::explore::sketch;
use planwright::spec::Spec;

const HEAD: &str = "\
# The agents, drawn

Every edge here was found by walking the machine under the agent's rules; `planwright diagram --agent NAME` draws one \
of them. This page is generated, and a test holds it to the machine: `PLANWRIGHT_DRAW=1 cargo test --test diagrams`.
";

fn draw(text: &mut String, title: &str, spec: Spec) {
    let inner: Vec<(String, Spec)> = spec
        .agents
        .iter()
        .filter_map(|member| Some((format!("{title} › {}", member.name), (**member.spec.as_ref()?).clone())))
        .collect();
    let description = spec.description.clone();
    let rules = spec.check().expect("every shipped agent checks");
    let drawing = mermaid(&sketch(&rules));
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
