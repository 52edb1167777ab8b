//! Promises of the tool `calc`.

use std::time::Duration;

use planwright::ports::{Tool, ToolCall, ToolError};
use planwright_docs::Calc;
use proptest::prelude::*;
use serde_json::json;

fn calc_within(expression: &str, timeout: Duration, max_output_bytes: usize) -> Result<String, ToolError> {
    let input = json!(expression);
    let call = ToolCall { timeout: Some(timeout), max_output_bytes, ..ToolCall::new(&input, "run/1") };
    Calc::new().call(&call).map(|output| output.text)
}

fn calc(expression: &str) -> Result<String, ToolError> {
    calc_within(expression, Duration::from_secs(60), 4000)
}

#[track_caller]
fn check(expression: &str, expected: &str) {
    assert_eq!(calc(expression).as_deref(), Ok(expected), "{expression}");
}

#[track_caller]
fn check_error(expression: &str, kind: &str, message: &str) {
    let error = calc(expression).unwrap_err();
    assert_eq!(error.kind, kind, "{expression}: {error}");
    assert!(error.message.contains(message), "{expression}: {error}");
}

/// Expressions with their values, `expression → value | …`.
#[track_caller]
fn check_all(table: &str) {
    for entry in table.split(" | ") {
        let (expression, expected) = entry.split_once(" → ").unwrap();
        check(expression, expected);
    }
}

#[test]
fn arithmetic_is_exact() {
    check_all(
        "345*872 → 300840 | 12/4+9 → 12 | 0.1 + 0.2 → 0.3 | 2^64 → 18446744073709551616 | 2**10 → 1024 | \
         7 mod 3 → 1 | -(3 - 5) → 2 | 20% of 50 → 10 | 25!/24! → 25 | 1/3 → approx. 0.3333333333 | \
         1/3 to fraction → 1/3 | sqrt 2 → approx. 1.4142135624 | 100 nCr 3 → 161700 | a = 3; a * 2 → 6 | \
         log(1) → 0 | log 100 → approx. 4.6051701860 | log10 1000 → approx. 3",
    );
}

#[test]
fn units_are_understood() {
    check_all(
        "5 km in miles → approx. 3.1068559612 miles | 10 °C to °F → 50 °F | 5 m² in cm² → 50000 cm^2 | \
         3 hours + 30 minutes to minutes → 210 minutes | 100 km/h to m/s → approx. 27.7777777778 m / s | \
         12/4+9^2 in hex → 54 | 255 in binary → 11111111",
    );
    check_error("1 m to kg", "input", "cannot convert from m to kg");
}

#[test]
fn numbers_may_be_written_as_people_write_them() {
    check_all(
        "１２×３ → 36 | １２ ÷ ４ ＋ ９ → 12 | （1＋2）·3 → 9 | 5 − 7 → -2 | √16 → 4 | 1,234*5 → 6170 | \
         1,234,567.5 + 1 → 1234568.5 | 345*872 = ? → 300840 | = 1 + 1 → 2 |  1\n+\t1  → 2",
    );
    for ambiguous in ["1,5 + 2", "1234,567", "1,23,456", "1.5,000", "1,2345"] {
        check_error(ambiguous, "input", "thousands separator");
    }
}

#[test]
fn nonsense_is_refused_as_input() {
    let words = ["hello", "서울의 날씨", "5 apples + 3 pears", "<script>"];
    for nonsense in words.into_iter().chain(["1 +", "2 2", "(", "1/0", "1\u{0}2", "=", "'x"]) {
        assert_eq!(calc(nonsense).unwrap_err().kind, "input", "{nonsense}");
    }
    check_error("  ", "input", "found an empty text");
    check_error(&"1+".repeat(600), "input", "at most 1000 characters, found 1200");
    assert_eq!(crate::call(&Calc::new(), &json!(7), 9).unwrap_err().kind, "input");
}

#[test]
fn what_could_answer_differently_tomorrow_is_refused() {
    for chance in ["d6", "3d20 + 1", "roll d6", "sample(d6)", "1 + d100"] {
        check_error(chance, "input", "chance is not offered");
    }
    for date in ["today", "now", "tomorrow - today", "'2024-01-01' to date", "@2024-01-01 + 1 day"] {
        check_error(date, "input", "dates");
    }
    check_error("5 USD to EUR", "input", "exchange rates are not available");
    check("0x1d5", "0x1d5");
}

#[test]
fn what_has_no_bound_is_refused() {
    for function in ["f = (x: x x); f f", "\\x. x x", "x => x x"] {
        check_error(function, "input", "functions cannot be defined");
    }
    check_error("1 << 10000000000", "input", "shifts are not offered");
    check_error(&("1 + (".repeat(60) + "1" + &")".repeat(60)), "input", "nested deeper than 8");
    check_error(&("(".repeat(60) + "1" + &")".repeat(60)), "input", "nested deeper than 8");
    for bracket in ["12*(3+4", "3+4)*2", ")(", "((1)"] {
        check_error(bracket, "input", "a bracket has no other half");
    }
    check_error("7//2", "input", "floor(a/b)");
    check_error(&"(1)".repeat(61), "input", "too many brackets");
    check_error(&("-".repeat(301) + "1"), "input", "too many operators");
}

#[test]
fn calculations_that_blow_up_end_with_an_error() {
    let large = "9^9^9^9 | 10^100000 | 1000000! | 2^100000 | fib 10000000 | 1/998001 to 1000000000 dp | \
         pi to 10000000 dp | 1e1000000000 | 1e-1000000000 | 10^10^10 mod 7 | 9^9^9 to words | \
         100000000 nCr 50000000 | 3!!!!!!!!!!";
    for large in large.split(" | ") {
        let error = calc_within(large, Duration::from_millis(400), 4000).unwrap_err();
        assert!(["limit", "timeout"].contains(&error.kind.to_string().as_str()), "{large}: {error}");
    }
    check_error("2^100000", "limit", "too many operations");
}

#[test]
fn a_number_is_never_cut() {
    let whole = calc("1000!").unwrap();
    assert_eq!(whole.len(), 2568);
    let error = calc_within("1000!", Duration::from_secs(60), 2567).unwrap_err();
    assert_eq!(
        (error.kind.to_string().as_str(), error.message.contains("2568 bytes of at most 2567")),
        ("limit", true)
    );
}

#[test]
fn everyday_powers_are_approximated_where_exactness_costs_too_much() {
    check("(1+1/1000)^1000", "approx. 2.716923932");
    check("1,000,000 × (1 + 0.035/12)^360", "approx. 2853287.1652");
    // The truth is 2.7182818270…; floating point alone says 2.7182820523….
    check("(1+1/1000000000)^1000000000", "approx. 2.718");
    check_error("(1+1/10^15)^10^15", "limit", "too many operations");
    let lost = "(10^216+1-10^216+10^-200)*(1+1/1000)^1000";
    check_error(lost, "limit", "too many operations");
}

#[test]
fn the_deepest_expressions_that_are_allowed_are_survived() {
    let nested = |before: &str| before.repeat(8) + "1" + &")".repeat(8);
    for expression in [
        "-".repeat(300) + "1",
        "1+".repeat(300) + "1",
        "2^".repeat(300) + "2",
        "sin ".repeat(240) + "1",
        "a ".repeat(499),
        "5 m ".repeat(240),
        "1 ".repeat(499),
        "not ".repeat(240),
        "1 mod ".repeat(160) + "3",
        "x=".repeat(300) + "1",
        "e".repeat(999),
        nested("1 + ("),
        nested("1 1("),
        nested("5'1("),
        (nested("1+(") + "+").repeat(7) + "1",
    ] {
        // An answer or a typed error; the arithmetic itself never fails.
        if let Err(error) = calc(&expression) {
            assert_ne!(error.kind, "internal", "{expression}: {error}");
        }
    }
}

#[test]
fn one_call_knows_nothing_of_another() {
    check("planck_count = 5; planck_count", "5");
    check_error("planck_count", "input", "unknown identifier");
    check("7", "7");
    check_error("ans", "input", "unknown identifier");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_expression_makes_the_arithmetic_fail(
        expression in "\\PC{0,60}|[0-9+*/^()!., %a-z=;'-]{0,40}|([0-9]{1,3}|[-+*/^!%()]| to | km| mod |sqrt |e|i|°){0,20}"
    ) {
        if let Err(error) = calc_within(&expression, Duration::from_millis(100), 4000) {
            prop_assert_ne!(error.kind, "internal", "{}", error.message);
        }
    }
}
