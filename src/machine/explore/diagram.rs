//! The picture of a walk: the phases and the edges between them that were really taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::report::Report;
use crate::machine::PhaseName;

/// The phase graph as a Mermaid state diagram.
pub fn mermaid(report: &Report) -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> PLAN\n");
    for ((from, to), labels) in edges(report) {
        let _ = writeln!(text, "    {from} --> {to}: {}", labels.join(", "));
    }
    for end in ends(report) {
        let _ = writeln!(text, "    {end} --> [*]");
    }
    text
}

/// The phase graph in Graphviz DOT.
pub fn dot(report: &Report) -> String {
    let mut text = String::from(
        "digraph planwright {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n    start [shape=point];\n    \
         start -> PLAN;\n",
    );
    for end in ends(report) {
        let _ = writeln!(text, "    {end} [peripheries=2];");
    }
    for ((from, to), labels) in edges(report) {
        let _ = writeln!(text, "    {from} -> {to} [label=\"{}\"];", labels.join("\\n"));
    }
    text.push_str("}\n");
    text
}

/// The phase graph as text, an arrow a line.
pub fn arrows(reports: &[Report]) -> String {
    let mut exits: BTreeMap<(PhaseName, PhaseName), BTreeSet<String>> = BTreeMap::new();
    for taken in reports.iter().flat_map(|report| &report.moves) {
        exits.entry((taken.from, taken.to)).or_default().insert(taken.exit.to_string());
    }
    let mut text = String::from("start ─▶ PLAN\n");
    for ((from, to), exits) in exits {
        let exits = exits.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{:<8} ─ {exits} ─▶ {to}", from.to_string());
    }
    text
}

fn edges(report: &Report) -> BTreeMap<(PhaseName, PhaseName), Vec<String>> {
    let mut edges: BTreeMap<(PhaseName, PhaseName), Vec<String>> = BTreeMap::new();
    for taken in &report.moves {
        edges.entry((taken.from, taken.to)).or_default().push(taken.exit.to_string());
    }
    for phase in &report.repairs {
        edges.entry((*phase, *phase)).or_default().push("repair".to_owned());
    }
    edges
}

fn ends(report: &Report) -> BTreeSet<PhaseName> {
    report.moves.iter().map(|taken| taken.to).filter(|phase| phase.is_terminal()).collect()
}
