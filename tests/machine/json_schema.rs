//! JSON schemas are checked as the drafts say and as the crate `jsonschema` does, and no schema or value makes a
//! check take long.

use planwright::contract::schema::{Schema, is_strict};
use planwright::contract::{Before, PlanContract, PlanPolicy, ToolContract, ToolEffect};
use proptest::prelude::*;
use serde_json::{Value, json};

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let compiled = Schema::new(schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
    compiled.check(value).map_err(|error| error.to_string())
}

/// What the crate says.
fn theirs(schema: &Value) -> jsonschema::Validator {
    let options = jsonschema::options().offline().should_validate_formats(false);
    options.build(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[test]
fn a_mismatch_says_where_what_and_what_came() {
    let number = json!({"type": "number", "minimum": 1.5, "maximum": 3});
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
            "name": {"type": "string", "pattern": "^[a-z]+$"},
            "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        }}},
    });
    let shape = json!({"oneOf": [
        {"properties": {"kind": {"const": "round"}, "radius": {"exclusiveMinimum": 0}}, "required": ["radius"]},
        {"properties": {"kind": {"const": "square"}, "side": {"multipleOf": 0.5}}, "required": ["side"]},
    ]});
    let card = json!({"if": {"required": ["card"]}, "then": {"required": ["holder"]}, "else": {"required": ["cash"]}});
    let rest = json!({
        "allOf": [{"properties": {"a": {"type": "integer"}}}], "patternProperties": {"^x-": true},
        "unevaluatedProperties": false,
    });
    for (schema, good, bad, problem) in [
        (json!({"const": "eur"}), json!("eur"), json!("usd"), "$: expected \"eur\", found \"usd\""),
        (json!({"const": null}), json!(null), json!(0), "$: expected null, found 0"),
        (json!({"enum": [1, "a"]}), json!(1.0), json!(2), "$: expected one of 1, \"a\", found 2"),
        (number.clone(), json!(1.5), json!(1.49), "$: expected at least 1.5, found 1.49"),
        (number.clone(), json!(3), json!(4), "$: expected at most 3, found 4"),
        (
            json!({"type": "array", "items": {"type": "integer", "minimum": 0}}),
            json!([0, 7]),
            json!([0, -1]),
            "$[1]: expected at least 0, found -1",
        ),
        (
            json!({"anyOf": [{"type": "string", "minLength": 2}, number]}),
            json!("가나"),
            json!("가"),
            "$: expected one of 2 forms, found \"가\"",
        ),
        (
            tree.clone(),
            json!({"name": "a", "next": {"name": "b", "next": null}}),
            json!({"name": "a", "next": {"name": "b", "next": {"name": "C"}}}),
            "$.next.next.name: expected a text that matches \"^[a-z]+$\", found \"C\"",
        ),
        (tree, json!({"name": "a"}), json!({"name": "a", "nxt": 1}), "$.nxt: unexpected field"),
        (shape.clone(), json!({"radius": 1}), json!({}), "$: expected one of 2 forms, found {}"),
        (
            shape,
            json!({"side": 1.5}),
            json!({"radius": 1, "side": 1}),
            "$: expected exactly one of 2 forms, found {\"radius\":1,\"side\":1}",
        ),
        (json!({"not": {"type": "null"}}), json!(1), json!(null), "$: expected another value, found null"),
        (
            card.clone(),
            json!({"card": 1, "holder": 2}),
            json!({"card": 1}),
            "$: expected a field \"holder\", found none",
        ),
        (card, json!({"cash": 1}), json!({}), "$: expected a field \"cash\", found none"),
        (rest, json!({"a": 1, "x-b": 2}), json!({"a": 1, "b": 2}), "$.b: unexpected field"),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
            json!(["a", 1]),
            json!(["a", "b"]),
            "$[1]: expected integer, found \"b\"",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 2]),
            json!([1, 1.0]),
            "$: expected each item once, found 1.0",
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 1}),
            json!([0, 1]),
            json!([1, 1]),
            "$: expected 1 to 1 items of the form of `contains`, found 2",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}, "minProperties": 1}),
            json!({"a": 1}),
            json!({"ab": 1}),
            "$.ab: expected at most 1 characters, found 2",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"b": 1}),
            json!({"a": 1}),
            "$: expected a field \"b\" beside \"a\", found none",
        ),
        (
            json!({"pattern": "^(?=.*\\d)(?!.*\\s)[\\w\\-\\/]{4,}$"}),
            json!("ab/1"),
            json!("ab 12"),
            "$: expected a text that matches \"^(?=.*\\\\d)(?!.*\\\\s)[\\\\w\\\\-\\\\/]{4,}$\", found \"ab 12\"",
        ),
    ] {
        assert_eq!(check(&schema, &good), Ok(()), "{schema}");
        assert_eq!(check(&schema, &bad).expect_err("bad"), problem);
        let theirs = theirs(&schema);
        assert!(theirs.is_valid(&good) && !theirs.is_valid(&bad), "{schema}");
    }
}

#[test]
fn a_schema_that_is_not_checked_whole_is_refused_by_its_place() {
    for (schema, problem) in [
        (json!({"properties": {"a": {"type": "strng"}}}), "$.properties.a.type: ill-formed value \"strng\""),
        (json!({"minimum": "1"}), "$.minimum: ill-formed value \"1\""),
        (json!({"anyOf": []}), "$.anyOf: ill-formed value []"),
        (json!({"items": 7}), "$.items: expected a JSON schema (an object)"),
        (json!({"minLenght": 1}), "$.minLenght: unknown keyword; is \"minLength\" meant?"),
        (json!({"$dynamicRef": "#x"}), "$.$dynamicRef: unsupported keyword"),
        (
            json!({"$ref": "https://example.com/city.json"}),
            "$.$ref: expected a reference into this schema (\"#/…\"), found \"https://example.com/city.json\"",
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "$.$ref: expected a reference into this schema (\"#/…\"), found \"file:///etc/passwd\"",
        ),
        (json!({"$ref": "#/default", "default": {"type": 1}}), "#/default.type: ill-formed value 1"),
    ] {
        assert_eq!(Schema::new(&schema).expect_err("refused").to_string(), problem);
        let tool = ToolContract::json("t", "d", ToolEffect::Pure).input(schema);
        assert_eq!(tool.check().expect_err("refused").path().split('.').next(), Some("input"));
    }
    for pattern in ["(", "a(?=b)", "(.)\\1", "\\p{L}", "(?:a{900}){900}"] {
        let error = Schema::new(&json!({"pattern": pattern})).expect_err(pattern).to_string();
        assert!(error.starts_with("$.pattern: expected a regular expression"), "{error}");
    }
    let ahead = format!("^{}", "(?=a)".repeat(9));
    for (pattern, said) in [(ahead, "at most 8 looks ahead"), ("a".repeat(4_097), "at most 4096 bytes")] {
        let error = Schema::new(&json!({"pattern": pattern})).expect_err("too much").to_string();
        assert!(error.contains(said), "{error}");
    }
    // What the drafts leave to others asserts nothing.
    check(&json!({"format": "email", "x-mine": 1, "nullable": true, "$schema": "…"}), &json!("no"))
        .expect("fits");
}

/// A schema and a value that take long in other hands: the work doubles at each of many levels.
fn hostile() -> [(Value, Value); 5] {
    let mut defs: serde_json::Map<String, Value> = (0..60)
        .map(|at| format!("#/$defs/{}", at + 1))
        .map(|to| json!({"allOf": [{"$ref": to}, {"$ref": to}]}))
        .enumerate()
        .map(|(at, part)| (at.to_string(), part))
        .collect();
    defs.insert("60".into(), json!({"type": "integer"}));
    let doubling = json!({"$ref": "#/$defs/0", "$defs": defs});
    let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner}));
    let twice = json!({"properties": {"a": {"anyOf": [{"allOf": [{"$ref": "#"}, {"type": "string"}]}, {"$ref": "#"}]}}});
    let circle = json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"not": {"$ref": "#/$defs/b"}}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]},
    }});
    let slow = json!({"items": {"pattern": "^(a|aa|a*a*a*)*$"}});
    let listed = json!({"items": {"enum": (0..2_000).collect::<Value>()}});
    let slow_values = vec!["a".repeat(9_999); 200].into();
    let many = vec![1_999; 1_000].into();
    [(doubling, json!(1)), (twice, deep), (circle, json!(1)), (slow, slow_values), (listed, many)]
}

#[test]
fn a_check_that_would_not_end_soon_fails_and_says_so() {
    for (schema, value) in hostile() {
        let error = check(&schema, &value).expect_err("too much");
        assert!(error.contains("1000000 steps and 300 levels"), "{error}");
    }
    // A long chain of references is neither read nor followed on the stack.
    let parts =
        (0..20_000).map(|at| (at.to_string(), json!({"$ref": format!("#/$defs/{}", (at + 1) % 20_000)})));
    let chain = json!({"$ref": "#/$defs/0", "$defs": parts.collect::<Value>()});
    assert!(check(&chain, &json!(1)).is_err());
}

#[test]
fn a_plan_refers_to_the_parts_of_a_tool_s_schema_where_they_stand_in_its_own() {
    let city = json!({
        "$id": "https://example.com/book.json",
        "type": "object", "required": ["to"],
        "properties": {"to": {"$ref": "#/$defs/city"}, "note": {"const": {"$ref": "#/$defs/city"}}},
        "$defs": {"city": {"type": "string", "enum": ["Seoul", "Busan"]}},
    });
    let book = ToolContract::json("book", "Books.", ToolEffect::Read).input(city);
    let list = ToolContract::json("list", "Lists.", ToolEffect::Read).input(
        json!({"type": "array", "items": {"$ref": "#/$defs/id"}, "$defs": {"id": {"type": "integer"}}}),
    );
    let arguments = Schema::new(&list.parameters()).expect("a schema");
    assert!(
        arguments.check(&json!({"input": [1]})).is_ok() && arguments.check(&json!({"input": ["a"]})).is_err()
    );
    let contract = PlanContract::new(vec![book, list], Vec::new(), PlanPolicy::default(), false, 1_000);
    let sent = contract.schema();
    assert!(!is_strict(&sent), "strict-mode servers take no object that is open");
    let moved = &sent["$defs"]["book"];
    assert_eq!(moved["properties"]["to"], json!({"$ref": "#/$defs/book/$defs/city"}));
    assert_eq!(moved["properties"]["note"]["const"], json!({"$ref": "#/$defs/city"}), "a value is no schema");
    assert!(moved.get("$id").is_none(), "which would be another place");
    let sent = Schema::new(&sent).expect("a schema");
    let plan = |to: &str| {
        let steps = json!([{"tool": "book", "input": {"to": to}}, {"tool": "final_answer", "input": ""}]);
        json!({"goal": "g", "steps": steps})
    };
    for (to, fits) in [("Seoul", true), ("Paris", false)] {
        let plan = plan(to);
        assert_eq!(sent.check(&plan).is_ok(), fits, "{plan}");
        assert_eq!(contract.parse(Before::NOTHING, &plan.to_string(), 10_000).is_ok(), fits, "{plan}");
    }
}

#[test]
fn a_tool_s_schema_that_no_sample_fits_is_walked_all_the_same() {
    let mut spec = planwright::agents::shipped("plan-then-execute").expect("shipped").with_tools(|_| false);
    let coded = |pattern: &str| json!({"type": "object", "properties": {"code": {"type": "string", "pattern": pattern}}, "required": ["code"]});
    spec.tools = vec![ToolContract::json("book", "Books.", ToolEffect::Read).input(coded("^[A-Z]{3}$"))];
    let report = planwright::machine::explore::explore(&spec.clone().check().expect("a spec"));
    assert!(report.holds());
    assert_eq!(report.explored_as.last().map(String::as_str), Some("input of book explored as any object"));
    spec.tools[0].input = json!({"type": "object"});
    let any = planwright::machine::explore::explore(&spec.check().expect("a spec"));
    assert_eq!(report.states, any.states);
}

/// Schemas over all keywords, with two parts to refer to.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"$ref": "#/$defs/p"})),
        Just(json!({"$ref": "#/$defs/q"})),
        prop::sample::subsequence(
            vec!["string", "integer", "number", "null", "object", "array", "boolean"],
            1..4
        )
        .prop_map(|kinds| json!({"type": kinds})),
        (0..4u64, 0..4u64)
            .prop_map(|(least, most)| json!({"minLength": least, "maxLength": most, "pattern": "^a|b$"})),
        (-2..3i32, -2..3i32).prop_map(|(least, most)| json!({"minimum": least, "exclusiveMaximum": most})),
        (1..4u32)
            .prop_map(|of| json!({"multipleOf": f64::from(of) / 2.0, "exclusiveMinimum": -1, "maximum": 2})),
        values().prop_map(|value| json!({"const": value})),
        prop::collection::vec(values(), 1..3).prop_map(|values| json!({"enum": values})),
        (0..3u64, 0..3u64)
            .prop_map(|(least, most)| json!({"minItems": least, "maxItems": most, "uniqueItems": true})),
        (0..3u64, 0..3u64).prop_map(|(least, most)| json!({"minProperties": least, "maxProperties": most})),
        Just(json!({"required": ["a"], "propertyNames": {"pattern": "^[ab]"}})),
        Just(json!({"dependentRequired": {"a": ["b"]}})),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let one = inner.clone();
        let some = prop::collection::vec(inner.clone(), 1..4);
        let applied = (one.clone(), one.clone(), one.clone(), 0..2u64);
        prop_oneof![
            (prop::sample::select(vec!["anyOf", "allOf", "oneOf"]), some.clone())
                .prop_map(|(keyword, all)| json!({keyword: all})),
            one.clone().prop_map(|one| json!({"not": one})),
            (one.clone(), one.clone(), one.clone()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (one.clone(), one.clone(), one.clone()).prop_map(|(a, b, c)| {
                json!({"properties": {"a": a}, "patternProperties": {"b$": b}, "additionalProperties": c})
            }),
            (some.clone(), one.clone()).prop_map(|(first, rest)| json!({"prefixItems": first, "items": rest})),
            applied.clone().prop_map(|(a, b, c, least)| json!({
                "contains": a, "minContains": least, "unevaluatedItems": b, "allOf": [{"prefixItems": [c]}],
            })),
            (some, one).prop_map(|(all, rest)| json!({"anyOf": all, "unevaluatedProperties": rest})),
            applied.prop_map(|(a, b, c, _)| json!({
                "if": a, "then": {"properties": {"a": b}}, "dependentSchemas": {"b": c}, "unevaluatedProperties": false,
            })),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-2..4i32).prop_map(Value::from),
        (-4..6i32).prop_map(|n| json!(f64::from(n) / 2.0)),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab]{1,2}", inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_value_conforms_here_as_it_does_elsewhere(
        (schema, p, q) in (schemas(), schemas(), schemas()),
        values in prop::collection::vec(values(), 8),
    ) {
        let whole = json!({"allOf": [schema], "$defs": {"p": p, "q": {"items": q, "properties": {"a": {"$ref": "#/$defs/q"}}}}});
        let Ok(ours) = Schema::new(&whole) else { return Err(TestCaseError::reject("too deep")) };
        let theirs = theirs(&whole);
        for value in values {
            match ours.check(&value) {
                Err(error) if error.problem().contains("steps and") => {}
                ours => prop_assert_eq!(ours.is_ok(), theirs.is_valid(&value), "{} {}: {:?}", whole, value, ours),
            }
        }
    }
}
