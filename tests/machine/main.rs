//! The rules: phases, plans, people, limits, every reachable state.

#[path = "../common/promise/mod.rs"]
mod promise;
#[path = "../common/repertoire/mod.rs"]
mod repertoire;
#[path = "../common/stage/mod.rs"]
mod stage;

/// One test for each shipped agent, so that they run side by side.
macro_rules! for_every_agent {
    ($claim:ident, $check:path) => {
        mod $claim {
            for_every_agent!(@each $check:
                plan_then_execute "plan-then-execute", validated "validated", intent_first "intent-first",
                evaluate_loop "evaluate-loop", orchestrated "orchestrated", supervised "supervised",
                react "react", conversational "conversational", self_ask "self-ask", docstore "docstore",
                research_team "research-team");
        }
    };
    (@each $check:path: $($test:ident $name:literal),*) => {
        $(#[test] fn $test() { $check($name); })*

        #[test]
        fn all_that_ship() {
            assert_eq!(planwright::agents::names().collect::<Vec<_>>(), [$($name),*]);
        }
    };
}

mod agents_table;
mod allocations;
mod approval_expiry;
mod approval_plan;
mod approval_risky;
mod batches;
mod broken_machines;
mod channel;
mod contained_values;
mod containment;
mod contract_care;
mod contracts;
mod cut_replies;
mod diagrams;
mod duplicates;
mod expressions;
mod grants;
mod holes;
mod human_steps;
mod intake;
mod invariants;
mod json_schema;
mod limits_spend;
mod mutants;
mod nested_agents;
mod one_reply;
mod orchestration;
mod order_free;
mod phases;
mod picks;
mod plan_graph;
mod prompt_contracts;
mod prompts;
mod properties;
mod references;
mod replans_keep;
mod required_calls;
mod rolling_horizon;
mod spec_contradictions;
mod states;
mod step_tries;
mod validate_answer;
mod writes_once;
