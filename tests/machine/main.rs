//! The rules: phases, plans, people, limits, every reachable state.

#[path = "../common/promise/mod.rs"]
mod promise;
#[path = "../common/repertoire/mod.rs"]
mod repertoire;
#[path = "../common/stage/mod.rs"]
mod stage;

mod agents_table;
mod allocations;
mod approval_expiry;
mod approval_plan;
mod approval_risky;
mod contracts;
mod diagrams;
mod duplicates;
mod human_steps;
mod intake;
mod invariants;
mod limits_spend;
mod nested_agents;
mod orchestration;
mod phases;
mod plan_graph;
mod prompt_duties;
mod prompts;
mod properties;
mod replans_keep;
mod required_calls;
mod rolling_horizon;
mod spec_contradictions;
mod states;
mod step_tries;
mod validate_answer;
