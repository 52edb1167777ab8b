//! Expressions of a plan: each stands for exactly one value or for none, evaluation is pure and total, and a label is
//! never better than the worst that went into the value.

use planwright::contract::{
    ArgumentRole, FieldType, Label, Origin, Returned, ToolContract, ToolEffect, Trust, Unresolved,
    label_input, resolve_input,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Mails: `id` and `size` are the system's, all else is what anyone wrote.
pub fn mails() -> ToolContract {
    let fields = json!({"id": {"type": "integer"}, "size": {"type": "number"}, "from": {"type": "string"}, "title": {}});
    let mail = json!({"type": "object", "properties": fields});
    ToolContract::text("mails", "Lists mails.", ToolEffect::Read)
        .output(json!({"type": "array", "items": mail}))
        .field("/*/id", Trust::Trusted, FieldType::Id)
        .field("/*/size", Trust::Trusted, FieldType::Number)
        .field("/*/from", Trust::Untrusted, FieldType::Email)
}

fn inbox() -> Value {
    json!([
        {"id": 7, "size": 12.5, "from": "ann@x.org", "title": "Lunch", "tags": ["a", "B"], "at": "2026-05-17"},
        {"id": 8, "size": 99, "from": "bob@x.org", "title": "LUNCH tomorrow, pay €12.50", "at": "2026-05-18"},
        {"id": 9, "size": 99.0, "from": "eve", "title": "see www.x.org/a, or https://y.org.", "at": "soon"},
    ])
}

fn evaluate(input: &Value, data: &Value, tool: Option<&ToolContract>) -> Result<Value, Unresolved> {
    let returned =
        |name: &str| (name == "s").then_some(Returned { text: "text of 3 mails", data: Some(data), tool });
    resolve_input(input, &returned, &[])
}

/// A reference to the inbox with some members.
fn mail(members: Value) -> Value {
    let mut reference = json!({"$from": "s"});
    reference.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    reference
}

#[test]
fn an_expression_is_exactly_one_value_or_none() {
    let one = |members: Value| mail(members);
    let lunch =
        |test: &str, literal: Value| one(json!({"where": [["/title", test, literal]], "take": "/id"}));
    let first = |field: &str, first: &str| one(json!({"order_by": field, "first": first, "take": "/id"}));
    let find = |at: &str, kind: &str| one(json!({"take": at, "extract": kind}));
    let calc = |formula: &str| json!({"$calc": formula, "with": [one(json!({"take": "/0/size"})), one(json!({"take": "/1/size"}))]});
    for (input, wanted) in [
        (lunch("equals", json!("lunch")), Ok(json!(7))),
        (lunch("starts_with", json!("lunch")), Err("ambiguous: expected one record of s, found 2")),
        (lunch("equals", json!("Dinner")), Err("ambiguous: expected one record of s, found 0")),
        (lunch("contains", json!("TOMORROW")), Ok(json!(8))),
        (
            one(json!({"where": [["/size", "equals", 99], ["/from", "equals", "EVE"]], "take": "/id"})),
            Ok(json!(9)),
        ),
        (one(json!({"where": [["/tags", "contains", "b"]], "take": "/id"})), Ok(json!(7))),
        (
            one(json!({"where": [["/id", "equals", 7]], "take": "/none"})),
            Err("input: s returned nothing at /none"),
        ),
        (first("/size", "smallest"), Ok(json!(7))),
        (first("/size", "largest"), Err("ambiguous: expected one record of s, found 2")),
        (
            first("/at", "largest"),
            Err("reference_type: expected numbers or dates at /at of each record of s, found another value"),
        ),
        (
            one(
                json!({"where": [["/title", "starts_with", "lunch"]], "order_by": "/at", "first": "largest", "take": "/id"}),
            ),
            Ok(json!(8)),
        ),
        (
            one(json!({"in": "/0", "where": [["/x", "equals", "x"]]})),
            Err("reference_type: expected a list at s/0, found none"),
        ),
        (find("/1/title", "amount"), Ok(json!(12.5))),
        (find("/2/title", "url"), Err("ambiguous: expected one url in the text of s, found 2")),
        (find("/0/title", "date"), Err("ambiguous: expected one date in the text of s, found 0")),
        (find("/0/id", "number"), Err("reference_type: expected a text of s to find number in")),
        (one(json!({"take": "/2/from"})), Err("reference_type: expected email at /2/from of s")),
        (
            json!({"$template": "{{{1}}} to {2}", "with": [one(json!({"take": "/0/size"})), one(json!({"take": "/0/from"}))]}),
            Ok(json!("{12.5} to ann@x.org")),
        ),
        (
            json!({"$template": "{1}", "with": [one(json!({"take": "/0"}))]}),
            Err("reference_type: expected texts, numbers or booleans in a template"),
        ),
        (calc("({1} + {2}) * 2"), Ok(json!(223))),
        (calc("{1} - -0.1 * 3"), Ok(json!(12.8))),
        (calc("{2} / 8"), Ok(json!(12.375))),
        (
            calc("{2} / 7"),
            Err("reference_type: expected a division that comes out even, found one that does not"),
        ),
        (calc("1 / ({2} - 99)"), Err("reference_type: expected a divisor, found 0")),
        (
            calc("{2} * 99999999999999999999999999999999999999"),
            Err("reference_type: expected a result of at most 38 digits, found a larger one"),
        ),
        (
            calc("(-170141183460469231731687303715884105727 - 1) / -1"),
            Err("reference_type: expected a result of at most 38 digits, found a larger one"),
        ),
        (calc("{1} * 12345678901234567"), Err("reference_type: expected a result that JSON holds exactly")),
        (calc("{1} +"), Err("input: expected a number, a place such as {1} or a bracket, found \"\"")),
        (json!({"$calc": "{3}", "with": []}), Err("input: expected the number of a value, found \"3\"")),
        (json!({"$template": "{2}", "with": [one(json!({}))]}), Err("input: expected {1} to {1}, found {2}")),
        (json!({"$from": "t"}), Err("input: t has no output")),
    ] {
        let found = evaluate(&input, &inbox(), Some(&mails()));
        let shown = found.map_err(|error| format!("{}: {}", error.code, error.error.problem()));
        assert_eq!(shown, wanted.map_err(str::to_owned), "{input}");
    }
}

#[test]
fn what_is_found_in_a_text_is_found_by_fixed_rules() {
    let find = |kind: &str, text: &str| {
        let input = mail(json!({"extract": kind}));
        evaluate(&input, &json!(text), None).map_err(|error| error.code)
    };
    for (kind, text, wanted) in [
        ("email", "Mail <Ann.B+c@x-y.org>, or ann.b+C@x-y.org.", Ok(json!("Ann.B+c@x-y.org"))),
        ("email", "a@b and @c.de and d@e..f", Err("ambiguous")),
        ("email", "메일:안@예.한국어", Ok(json!("안@예.한국어"))),
        ("url", "(see https://x.org/a_(b)?c=1). Bye", Ok(json!("https://x.org/a_(b)?c=1"))),
        ("url", "go to WWW.x.org!", Ok(json!("WWW.x.org"))),
        ("iban", "to DE89 3704 0044 0532 0130 00 please", Ok(json!("DE89370400440532013000"))),
        ("iban", "DE89370400440532013000 = DE89 3704 0044 0532 0130 00", Ok(json!("DE89370400440532013000"))),
        ("iban", "DE88370400440532013000", Err("ambiguous")),
        ("iban", "no XDE89370400440532013000", Err("ambiguous")),
        ("date", "on 2026-05-17T10:00, not 2026-13-01", Ok(json!("2026-05-17"))),
        ("number", "it is 1,234.50.", Ok(json!(1234.5))),
        ("number", "it is -3", Ok(json!(-3))),
        ("number", "it is 1,5 or 7", Err("reference_type")),
        ("number", "B52 has 8", Ok(json!(8))),
        ("amount", "2 nights, 100.10 EUR", Ok(json!(100.1))),
        ("amount", "-$5 and ₩5,000", Err("ambiguous")),
        ("amount", "room 5 for USD 70", Ok(json!(70))),
    ] {
        assert_eq!(find(kind, text), wanted, "{kind} in {text:?}");
    }
}

/// A text that an attacker wrote takes time in proportion to its length, whatever it repeats.
#[test]
fn a_text_of_a_megabyte_is_gone_through_once() {
    let numbers: String = (0..150_000).map(|number| format!("{number} ")).collect();
    let brackets = format!("https://x.org/{}", ")".repeat(1 << 20));
    for (kind, text, wanted) in [
        ("number", numbers, Err("ambiguous")),
        ("url", brackets, Ok(json!("https://x.org/"))),
        ("email", "a@".repeat(1 << 19), Err("ambiguous")),
        ("iban", "DE89 ".repeat(1 << 18), Err("ambiguous")),
    ] {
        let found = evaluate(&mail(json!({"extract": kind})), &json!(text), None);
        assert_eq!(found.map_err(|error| error.code), wanted, "{kind}");
    }
}

#[test]
fn times_have_an_order_where_they_are_of_one_kind() {
    let last = |times: &[&str]| {
        let records: Vec<Value> = times.iter().map(|at| json!({"at": at})).collect();
        let latest = mail(json!({"order_by": "/at", "first": "largest", "take": "/at"}));
        evaluate(&latest, &json!(records), None).map_err(|error| error.code)
    };
    for (times, wanted) in [
        (&["2024-02-29", "2024-03-01", "2023-12-31"][..], Ok("2024-03-01")),
        (&["1969-12-31", "1970-01-01 00:00", "0001-01-01"], Ok("1970-01-01 00:00")),
        (&["2026-05-17T10:00Z", "2026-05-17T11:30+02:00"], Ok("2026-05-17T10:00Z")),
        (&["2026-05-17T10:00:00.1", "2026-05-17T10:00:00.09"], Ok("2026-05-17T10:00:00.1")),
        (&["2026-05-17", "2026-05-17T00:00:00"], Err("ambiguous")),
        (&["2026-05-17T10:00Z", "2026-05-17T10:00"], Err("reference_type")),
        (&["2025-02-29"], Err("reference_type")),
        (&["2026-05-17T24:00"], Err("reference_type")),
        (&["2026-00-10"], Err("reference_type")),
    ] {
        assert_eq!(last(times), wanted.map(Value::from), "{times:?}");
    }
}

#[test]
fn of_several_that_fit_three_are_offered_and_no_error_says_what_they_are() {
    let many: Vec<Value> = (0..9).map(|id| json!({"id": id, "title": "canary"})).collect();
    let input = json!({"x": [mail(json!({"where": [["/title", "equals", "canary"]], "take": "/id"}))]});
    let error = evaluate(&input, &json!(many), None).unwrap_err();
    assert_eq!((error.code, error.candidates), ("ambiguous", vec![json!(0), json!(1), json!(2)]));
    assert_eq!(error.error.to_string(), "$.x[0]: expected one record of s, found 9");
}

fn label_of(input: &Value, read: Label) -> Label {
    let tool = mails();
    let parts = label_input(input, &|name| match name {
        "s" => Some(Origin { tool: Some(&tool), label: read }),
        "person" => Some(Origin { tool: None, label: Label::Literal }),
        _ => None,
    });
    parts.unwrap().into_iter().map(|part| part.label).max().unwrap_or_default()
}

#[test]
fn a_label_is_the_worst_that_went_into_a_value() {
    use Label::*;
    let take = |at: &str| mail(json!({"take": at}));
    let by = |field: &str, members: Value| {
        let mut reference = mail(members);
        reference["where"] = json!([[field, "equals", "x"]]);
        reference
    };
    let ordered = |field: &str, at: &str| mail(json!({"order_by": field, "first": "largest", "take": at}));
    let with = |kind: &str, of: Vec<Value>| json!({kind: "{1}", "with": of});
    for (input, wanted) in [
        (json!({"a": ["literal", 1]}), Literal),
        (json!({"$from": "person"}), Literal),
        (json!({"$from": "unknown"}), Filled),
        (ordered("/size", "/id"), System),
        (by("/id", json!({"take": "/size"})), System),
        // Mutant: what is selected by an untrusted field stays `system`.
        (by("/title", json!({"take": "/id"})), Located),
        (ordered("/from", "/id"), Copied),
        (take("/0/id"), Located),
        (by("/title", json!({"take": "/from"})), Typed),
        (take("/0/from"), Copied),
        (ordered("/size", "/from"), Copied),
        (by("/title", json!({"take": "/title"})), Copied),
        (by("/title", json!({"take": "/from", "extract": "email"})), Extracted),
        (by("/title", json!({"take": "/size", "extract": "number"})), Located),
        // Who adds a record of the same title is put before it by an order.
        (by("/title", json!({"order_by": "/size", "first": "largest", "take": "/id"})), Copied),
        // Mutant: a field that is declared trusted makes the whole trusted.
        (take(""), Copied),
        (by("/id", json!({})), Copied),
        // Mutants: a template or a calculation is a literal; a list has the label of its first leaf.
        (with("$template", vec![ordered("/size", "/id")]), System),
        (with("$calc", vec![ordered("/size", "/id"), by("/title", json!({"take": "/from"}))]), Computed),
        (with("$template", vec![with("$template", vec![take("/0/title")])]), Computed),
        (
            json!([ordered("/size", "/id"), "x", take("/0/title"), by("/title", json!({"take": "/id"}))]),
            Copied,
        ),
    ] {
        assert_eq!(label_of(&input, Literal), wanted, "{input}");
        // Mutant: the label of an output ignores those of the read's arguments.
        for read in [Located, Computed, Filled] {
            let joined = if input.to_string().contains("\"s\"") { wanted.max(read) } else { wanted };
            assert_eq!(label_of(&input, read), joined, "{input} of a read with {read}");
        }
    }
}

#[test]
fn a_part_of_an_input_says_where_it_comes_from() {
    let input = json!({"to": [mail(json!({"where": [["/title", "equals", "x"]], "take": "/from"}))], "a/b": {
        "$template": "{1}: {2}", "with": [mail(json!({"take": "/0/title", "extract": "url"})), {"$from": "person"}],
    }});
    let tool = mails();
    let parts = label_input(&input, &|_| Some(Origin { tool: Some(&tool), label: Label::Literal })).unwrap();
    let shown: Vec<_> =
        parts.iter().map(|part| format!("{} {}: {}", part.place, part.label, part.origin)).collect();
    assert_eq!(shown, ["/to/0 typed: s /*/from", "/a~1b computed: s /0/title → url + person"]);
}

#[test]
fn a_value_may_stand_where_its_label_and_the_argument_allow() {
    use ArgumentRole::{Content, Target, Value};
    let rows = [
        Label::Literal,
        Label::System,
        Label::Located,
        Label::Typed,
        Label::Copied,
        Label::Extracted,
        Label::Computed,
        Label::Filled,
    ];
    let most = |may: &dyn Fn(Label) -> bool| {
        let count = rows.iter().take_while(|label| may(**label)).count();
        assert!(rows[count..].iter().all(|label| !may(*label)), "a worse label is never more welcome");
        rows[count - 1]
    };
    for (role, grave, strict, wanted) in [
        (Content, false, false, Label::Computed),
        (Value, false, true, Label::Computed),
        (Content, true, false, Label::Located),
        (Target, false, false, Label::Typed),
        (Target, false, true, Label::Located),
        (Target, true, false, Label::Located),
    ] {
        assert_eq!(most(&|label| label.may_fill(role, grave, strict)), wanted, "{role} {grave} {strict}");
    }
    assert_eq!(most(&|label| label.may_leave(false)), Label::Extracted);
    assert_eq!(most(&|label| label.may_leave(true)), Label::Located);
}

/// Any data, with the names and texts that expressions below speak of.
fn data() -> impl Strategy<Value = Value> {
    let text =
        prop_oneof!["[a-zA-Z]{0,3}", Just("€1,5 a@b.de https://x.y 2026-05-17".to_owned()), "\\PC{0,12}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let field = prop_oneof![Just("a".to_owned()), Just("b".to_owned())];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(field, inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn expression() -> impl Strategy<Value = Value> {
    use proptest::sample::select;
    let place = || select(vec!["", "/a", "/b", "/0", "/a/0", "x", "/~2"]);
    let member = || prop_oneof![data(), place().prop_map(Value::from)];
    let condition = (place(), select(vec!["equals", "contains", "starts_with", "is"]), data())
        .prop_map(|(field, test, literal)| json!([field, test, literal]));
    let select =
        (proptest::collection::vec(condition, 0..3), place(), select(vec!["largest", "smallest", ""]));
    let kinds = select_kinds();
    let reference =
        (select, member(), kinds, any::<u8>()).prop_map(|((conditions, place, first), take, kind, with)| {
            let all = [
                ("where", json!(conditions)),
                ("order_by", json!(place)),
                ("first", json!(first)),
                ("take", take),
                ("extract", json!(kind)),
                ("in", json!(place)),
            ];
            let kept = all
                .into_iter()
                .enumerate()
                .filter(|(bit, _)| with & (1 << bit) != 0)
                .map(|(_, (name, value))| (name.to_owned(), value));
            let mut reference: serde_json::Map<String, Value> = kept.collect();
            reference.insert("$from".to_owned(), json!("s"));
            Value::Object(reference)
        });
    let formula =
        prop_oneof!["[-+*/(){}0-9. ]{0,12}", Just("{1} * 1.1 + 2".to_owned()), Just("{1}, {{2}}".to_owned())];
    reference.prop_recursive(5, 8, 2, move |inner| {
        (formula.clone(), proptest::collection::vec(inner, 0..3), any::<bool>()).prop_map(
            |(text, with, calc)| json!({if calc { "$calc" } else { "$template" }: text, "with": with}),
        )
    })
}

fn select_kinds() -> impl Strategy<Value = Option<&'static str>> {
    proptest::sample::select(vec![
        None,
        Some("email"),
        Some("url"),
        Some("iban"),
        Some("number"),
        Some("date"),
        Some("amount"),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Claim I9: references are total and pure, and what they take is in what was returned.
    #[test]
    fn evaluation_ends_and_says_the_same_twice(input in expression(), data in data()) {
        let (once, twice) = (evaluate(&input, &data, Some(&mails())), evaluate(&input, &data, Some(&mails())));
        prop_assert_eq!(&once, &twice);
        if let Err(error) = once {
            prop_assert!(["input", "ambiguous", "reference_type"].contains(&error.code) && error.candidates.len() <= 3);
        }
    }

    /// Labels do not depend on what was returned, and never get better by what is added to an input.
    #[test]
    fn a_label_only_gets_worse_by_what_is_added(one in expression(), other in expression(), read in 0..3_usize) {
        let read = [Label::Literal, Label::Copied, Label::Filled][read];
        let tool = mails();
        let label = |input: &Value| {
            let parts = label_input(input, &|_| Some(Origin { tool: Some(&tool), label: read })).ok()?;
            parts.into_iter().map(|part| part.label).max()
        };
        if let (Some(first), Some(second)) = (label(&one), label(&other)) {
            prop_assert_eq!(label(&json!({"a": one, "b": [1, other]})), Some(first.max(second)));
            let together = label(&json!({"$template": "{1}{2}", "with": [one, other]}));
            prop_assert!(together.is_none_or(|label| label >= first.max(second)));
        }
    }

    /// Sums of cents are exact.
    #[test]
    fn arithmetic_is_exact(cents in proptest::collection::vec(-100_000_i64..100_000, 1..8)) {
        let data: Vec<Value> = cents.iter().map(|cents| json!(*cents as f64 / 100.0)).collect();
        let with: Vec<Value> = (0..cents.len()).map(|at| mail(json!({"take": format!("/{at}")}))).collect();
        let formula = (1..=cents.len()).map(|at| format!("{{{at}}}")).collect::<Vec<_>>().join(" + ");
        let sum = evaluate(&json!({"$calc": format!("({formula}) * 100"), "with": with}), &json!(data), None);
        prop_assert_eq!(sum, Ok(json!(cents.iter().sum::<i64>())));
    }
}
