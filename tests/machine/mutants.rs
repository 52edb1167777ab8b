//! Machines that let a text choose what is done, each with the test that catches it: what is broken, in which line, and
//! where it is caught.
//!
//! Where no line is named, the test holds the machine that is broken on purpose, under the name that stands here, or
//! says what such a machine would have done. Where one is, it was broken by hand once, and the test was seen to fail.

#[rustfmt::skip]
const MUTANTS: [(u32, &str, &str, &str, &str); 48] = [
    (1, "a write starts without a look", "", "machine/broken_machines/authority.rs", "a write starts without a look"),
    (2, "authority is looked at and not taken", "", "machine/broken_machines/authority.rs", "a write takes no authority"),
    (3, "a tainted draft grants", "", "machine/broken_machines/authority.rs", "a tainted plan grants"),
    (4, "a read that failed taints nothing", "take_outcome in execute/call.rs", "machine/contained_values.rs", "every_invariant_holds_where_values_are_labelled"),
    (5, "taint is lost where a run is read back", "", "machine/containment.rs", "taint_and_authority_are_read_back_with_the_state_and_never_made_up"),
    (6, "taint does not pass into a nested run, or out of it", "", "machine/broken_machines/contained.rs", "what a nested run has read is forgotten"),
    (7, "`where` takes the first of several", "find in references/select.rs", "machine/expressions.rs", "an_expression_is_exactly_one_value_or_none"),
    (8, "`where` that matches nothing is null", "find in references/select.rs", "machine/expressions.rs", "an_expression_is_exactly_one_value_or_none"),
    (9, "a list has the label of its first leaf", "label in references/label.rs", "machine/expressions.rs", "a_label_is_the_worst_that_went_into_a_value"),
    (10, "a template or a sum is a literal", "label in references/label.rs", "machine/expressions.rs", "a_label_is_the_worst_that_went_into_a_value"),
    (11, "what an untrusted field selects stays `system`", "Reference::label in references/label.rs", "machine/expressions.rs", "a_label_is_the_worst_that_went_into_a_value"),
    (12, "what a model wrote has the label of a copy", "label in references/label.rs", "machine/holes.rs", "a_written_value_is_labelled_so_whatever_was_shown_and_a_person_is_asked_where_it_decides"),
    (13, "an argument that nobody declared is content", "role_at in contract/contained.rs", "machine/contract_care.rs", "what_a_contract_does_not_declare_is_the_careful_choice"),
    (14, "one trusted field makes the whole output trusted", "taints in contract/contained.rs", "machine/contract_care.rs", "an_output_taints_unless_all_of_it_is_trusted"),
    (15, "a read that leaves is taken for a read", "is_egress in contract/contained.rs", "machine/contained_values.rs", "a_read_that_leaves_takes_a_copy_and_nothing_that_was_put_together"),
    (16, "what was put together may leave", "may_leave in contract/trust.rs", "machine/contained_values.rs", "a_read_that_leaves_takes_a_copy_and_nothing_that_was_put_together"),
    (17, "an approval of one input lets another pass", "", "machine/broken_machines/authority.rs", "an approval is good for another call"),
    (18, "an approval is good twice", "", "machine/broken_machines/authority.rs", "an approval is good twice"),
    (19, "an approval is good in a fork", "", "driver/durable.rs", "fork_has_no_approvals"),
    (20, "a hint, a reason or a failure is shown to who plans", "is_closed in state/task.rs", "machine/channel.rs", "no_request_to_a_planning_role_holds_a_word_that_was_read"),
    (21, "a reply that did not fit shows who plans what was read", "repair in prompt/payload.rs", "machine/channel.rs", "no_request_to_a_planning_role_holds_a_word_that_was_read"),
    (22, "an agent that is added after something was read writes", "", "containment/table.rs", "under_standard_every_agent_does_what_the_page_says"),
    (23, "a second round grants", "", "machine/broken_machines/authority.rs", "a second round grants"),
    (24, "what stands in for a reply, or was cached, is clean", "grant_plan in machine/authority.rs", "machine/containment.rs", "what_stands_in_for_a_plan_is_as_tainted_as_a_plan"),
    (25, "earlier turns are shown to who plans, and taint nothing", "history in prompt/payload.rs", "machine/channel.rs", "no_request_to_a_planning_role_holds_a_word_that_was_read"),
    (26, "who writes a value is shown more than its view", "Hole::view in references/evaluate.rs", "machine/holes.rs", "who_writes_a_value_is_shown_the_question_the_step_and_its_view_and_nothing_else"),
    (27, "a value that a model wrote fits no type", "Filling::parse in contract/replies.rs", "machine/holes.rs", "a_value_that_does_not_fit_its_type_is_asked_for_again_and_then_the_step_has_failed"),
    (28, "a refusal quotes what it refuses", "", "machine/broken_machines/authority.rs", "a refusal quotes"),
    (29, "`strict` is taken for `standard`", "", "machine/broken_machines/authority.rs", "strict is taken for standard"),
    (30, "a token of several calls is over the first alone", "", "machine/batches.rs", "a_token_is_over_every_call_in_its_order"),
    (31, "the label of an output ignores those of the call", "Reference::label in references/label.rs", "machine/expressions.rs", "a_label_is_the_worst_that_went_into_a_value"),
    (32, "an old name given to another step keeps its authority", "put_digests in state/authority.rs", "machine/contained_values.rs", "a_name_in_a_reference_that_is_given_to_another_step_has_no_authority"),
    (33, "of several that come first one is taken", "Order::first in references/select.rs", "machine/expressions.rs", "an_expression_is_exactly_one_value_or_none"),
    (34, "what an agent wrote after it had read is the system's", "label_output in state/labels.rs", "machine/contained_values.rs", "the_output_of_an_agent_is_a_models_word_once_something_untrusted_was_read"),
    (35, "a write that is grave is like any other", "may_fill in contract/trust.rs", "machine/contained_values.rs", "role_and_label_say_whether_a_planned_call_runs_or_is_asked_about"),
    (36, "a spec may trust more than its tool says", "find_careless in contract/contained.rs", "machine/contract_care.rs", "a_contract_may_be_more_careful_than_its_tool_and_never_less"),
    (37, "people are asked without an end", "permit in machine/authority.rs", "machine/containment.rs", "people_are_asked_about_so_many_calls_and_what_is_beyond_is_refused"),
    (38, "a refused call is a failed step, and plans anew", "is_left_out in state/steps.rs", "machine/containment.rs", "what_stands_in_for_a_plan_is_as_tainted_as_a_plan"),
    (39, "an order among those that a literal names locates one", "Reference::label in references/label.rs", "machine/expressions.rs", "a_label_is_the_worst_that_went_into_a_value"),
    (40, "a value that does not look as declared is taken", "check_type in references/evaluate.rs", "machine/expressions.rs", "an_expression_is_exactly_one_value_or_none"),
    (41, "a stored call is not compared with its digest", "", "cli/damage.rs", "write_that_the_plan_and_the_results_do_not_give_is_named"),
    (42, "a token is good for another question", "", "driver/durable.rs", "answer_is_void_for_every_other_question"),
    (43, "a yes to one of several calls is a yes to all", "", "machine/broken_machines/authority.rs", "a yes to one call is a yes to all"),
    (44, "a call that was allowed beside others is made with another input", "", "machine/broken_machines/authority.rs", "a call of several is made with another input"),
    (45, "an approval is good for a call that was not shown, or for the next plan", "", "machine/broken_machines/authority.rs", "a yes is left for another call"),
    (46, "a no after reading takes the answer away", "stands_rejected in state/task.rs", "machine/phases.rs", "a_no_after_untrusted_text_was_read_takes_no_answer_away"),
    (47, "an agent that was refused sees again what led it astray", "", "machine/broken_machines/authority.rs", "who was refused sees again what led it astray"),
    (48, "any value stands for a target that the user named", "share_targets in state/granted.rs", "machine/grants.rs", "an_agent_that_was_only_refused_is_asked_once_more_and_shown_nothing_that_was_read"),
];

#[test]
fn every_mutant_is_caught_by_a_test_that_there_is() {
    for (nth, (number, broken, line, file, by)) in MUTANTS.into_iter().enumerate() {
        assert_eq!(number as usize, nth + 1, "{broken}");
        let read = |path: &str| std::fs::read_to_string(path).expect(path);
        let tests = read(&format!("{}/tests/{file}", env!("CARGO_MANIFEST_DIR")));
        let is_there = [format!("fn {by}("), format!("\"{by}\"")].iter().any(|name| tests.contains(name));
        assert!(is_there, "{number}, {broken}: {file} has no {by}");
        assert!(line.is_empty() || line.contains(" in "), "{number}: {line}");
    }
}
