//! What is said of each agent: a claim for every story, and what its requests must hold.

mod evaluate_loop;
mod intent_first;
mod orchestrated;
mod plan_then_execute;
#[cfg(feature = "calc")]
mod react_family;
mod research_team;
mod supervised;
mod validated;
