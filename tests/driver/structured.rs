//! Structured output: a tool's data is taken as its contract declares it, goes into the journal, and is never
//! half taken.

use planwright::contract::{OutputFormat, ToolContract, ToolEffect};
use planwright::driver::Agent;
use planwright::journal::Exchange;
use planwright::machine::ToolOutcome;
use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::stage::{answer, asked, model, plan, spec};

/// A tool that returns one output, whatever it is asked.
struct Returns(ToolContract, ToolOutput);

impl Tool for Returns {
    fn contract(&self) -> ToolContract {
        self.0.clone()
    }

    fn call(&self, _: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        Ok(self.1.clone())
    }
}

fn rooms(effect: ToolEffect) -> ToolContract {
    let output =
        json!({"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]});
    ToolContract::text("rooms", "Books rooms.", effect).output(output).max_output_bytes(200)
}

/// What is on record of one call that returned this.
fn outcome(contract: ToolContract, output: ToolOutput) -> ToolOutcome {
    let mut spec = spec("plan-then-execute");
    spec.tools = vec![contract.clone()];
    let script = model([plan(&[("rooms", "x")]), answer("끝")]);
    let agent = Agent::builder(spec).model(script).tool(Returns(contract, output)).build().unwrap();
    let run = agent.job(asked("q")).run().unwrap();
    let fixture = run.fixture().unwrap();
    assert_eq!(agent.replay(&fixture).unwrap().state(), run.state(), "data is replayed too");
    let returned = |exchange| if let Exchange::Tool { answer, .. } = exchange { Some(answer) } else { None };
    fixture.exchanges.into_iter().find_map(returned).unwrap()
}

fn with_data(data: Value) -> ToolOutput {
    ToolOutput { data: Some(data), ..ToolOutput::from("방 셋") }
}

#[test]
fn data_that_conforms_is_on_record_beside_the_text() {
    for effect in [ToolEffect::Pure, ToolEffect::Read, ToolEffect::Write] {
        let found = outcome(rooms(effect), with_data(json!({"total": 3, "방": ["가", "나"]})));
        let ToolOutcome::Returned { output, data, .. } = found else { panic!("{found:?}") };
        assert_eq!((output.as_str(), *data.unwrap()), ("방 셋", json!({"total": 3, "방": ["가", "나"]})));
    }
}

#[test]
fn data_that_nobody_declared_is_not_kept() {
    let contract = ToolContract { output: None, ..rooms(ToolEffect::Read) };
    let found = outcome(contract, with_data(json!({"total": 3})));
    assert_eq!(found, ToolOutcome::returned("방 셋"));
}

#[test]
fn data_that_does_not_conform_fails_a_read_and_leaves_a_write_with_its_text() {
    let long = json!({"total": 3, "names": "가".repeat(100)});
    for (output, message) in [
        (with_data(json!({"total": "three"})), r#"output.total: expected integer, found "three""#),
        (ToolOutput::from("방 셋"), "output: expected structured output, found none"),
        (with_data(long), "output: expected at most 200 bytes, found 322"),
    ] {
        let failed = ToolOutcome::Failed { kind: "response".to_owned(), message: message.to_owned() };
        assert_eq!(outcome(rooms(ToolEffect::Read), output.clone()), failed);
        assert_eq!(outcome(rooms(ToolEffect::Write), output), ToolOutcome::returned("방 셋"));
    }
}

#[test]
fn text_becomes_data_where_the_contract_says_how() {
    for (format, output, text, wanted) in [
        (OutputFormat::Json, json!({"type": "object"}), "{\"total\": 3}", json!({"total": 3})),
        (OutputFormat::Lines, json!({"type": "array", "maxItems": 2}), "a\n\n b\n", json!(["a", " b"])),
    ] {
        let contract = ToolContract { output_format: Some(format), ..rooms(ToolEffect::Read).output(output) };
        let found = outcome(contract.clone(), ToolOutput::from(text));
        let ToolOutcome::Returned { output, data, .. } = found else { panic!("{found:?}") };
        assert_eq!((output.as_str(), *data.unwrap()), (text, wanted));
        let own = outcome(contract.clone(), ToolOutput { data: Some(json!("x")), ..ToolOutput::from(text) });
        assert!(matches!(own, ToolOutcome::Failed { .. }), "data of its own goes before the text");
        let unfit = outcome(contract, ToolOutput::from("1\n2\n3"));
        assert!(matches!(unfit, ToolOutcome::Failed { .. }), "{unfit:?}");
    }
}

#[test]
fn tool_that_declares_no_output_cannot_stand_for_one_that_does() {
    let without = ToolContract { output: None, ..rooms(ToolEffect::Read) };
    let problem = rooms(ToolEffect::Read).find_mismatch(&without).unwrap();
    assert_eq!(problem, "output: expected structured output, found a tool that declares none");
    assert_eq!(without.find_mismatch(&rooms(ToolEffect::Read)), None);
}

#[test]
fn contract_with_an_output_that_is_no_schema_is_refused() {
    let error = rooms(ToolEffect::Read).output(json!({"type": "sum"})).check().unwrap_err();
    assert_eq!(error.to_string(), r#"output.type: ill-formed value "sum""#);
}
