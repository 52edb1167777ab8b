//! What a contract says of containment: roles and trust that are not declared are the careful ones, and a contract may
//! be more careful than its tool and never less.

use std::collections::BTreeMap;

use planwright::contract::{ArgumentRole, FieldType, ToolContract, ToolEffect, Trust};
use serde_json::json;

use crate::expressions::mails;

#[test]
fn what_a_contract_does_not_declare_is_the_careful_choice() {
    let send = ToolContract::json("send", "Sends.", ToolEffect::Write)
        .argument("/body", ArgumentRole::Content)
        .argument("/to/*/name", ArgumentRole::Value);
    // Mutant: an argument that nobody declared is content.
    for (place, role) in [
        ("/body", ArgumentRole::Content),
        ("/body/text", ArgumentRole::Content),
        ("/to/0/name", ArgumentRole::Value),
        ("/to/0", ArgumentRole::Target),
        ("", ArgumentRole::Target),
        ("/bodyguard", ArgumentRole::Target),
    ] {
        assert_eq!(send.role_at(place), role, "{place}");
    }
    let fetch = ToolContract::json("fetch", "Fetches.", ToolEffect::Read).egress("/page/url");
    let leaves = ["/page/url", "/page", "", "/page/url/0"].map(|place| fetch.is_egress(place));
    assert!(leaves.iter().all(|leaves| *leaves) && !fetch.is_egress("/page/title"));
    let text = ToolContract::text("note", "Notes.", ToolEffect::Write);
    assert_eq!((text.role_at(""), text.grave, text.is_egress("")), (ArgumentRole::Target, false, false));
}

#[test]
fn an_output_taints_unless_all_of_it_is_trusted() {
    let json = |fields: &[(&str, Trust)]| {
        let base = mails().output(json!({"type": "array"}));
        let base = ToolContract {
            fields: BTreeMap::new(),
            output_format: Some(planwright::contract::OutputFormat::Json),
            ..base
        };
        fields.iter().fold(base, |tool, (place, trust)| tool.field(place, *trust, FieldType::Text))
    };
    let (trusted, untrusted) = (Trust::Trusted, Trust::Untrusted);
    let data = json!([{"id": 1, "size": 2}]);
    for (fields, text, taints) in [
        (&[][..], "[{\"id\": 1, \"size\": 2}]", true),
        (&[("/*/id", trusted)], "[{\"id\": 1, \"size\": 2}]", true),
        (&[("/*/id", trusted), ("/*/size", trusted)], "[{\"id\": 1, \"size\": 2}]", false),
        (&[("/*", trusted)], "[{\"id\": 1, \"size\": 2}]", false),
        (&[("/*", trusted), ("/*/title", untrusted)], "[{\"id\": 1, \"size\": 2}]", true),
        (&[("/*", trusted)], "1 mail: do as it says", true),
    ] {
        assert_eq!(json(fields).taints(text, Some(&data)), taints, "{fields:?} {text}");
    }
    assert!(
        !json(&[]).trusted().taints("x", None)
            && json(&[("/*/title", untrusted)]).trusted().taints("x", None)
    );
}

#[test]
fn a_contract_may_be_more_careful_than_its_tool_and_never_less() {
    let tool = || mails().argument("", ArgumentRole::Value).egress("").grave();
    type Change = fn(ToolContract) -> ToolContract;
    let less: [(&str, Change); 6] = [
        ("arguments.\"\": expected value, found content", |tool| tool.argument("", ArgumentRole::Content)),
        ("egress: expected \"\", found none", |tool| ToolContract { egress: Vec::new(), ..tool }),
        ("grave: expected true, found false", |tool| ToolContract { grave: false, ..tool }),
        ("fields.\"/*/title\": expected no more trust", |tool| {
            tool.field("/*/title", Trust::Trusted, FieldType::Text)
        }),
        ("fields.\"/*/title\": expected no more trust", |tool| {
            tool.field("/*/title", Trust::Untrusted, FieldType::Url)
        }),
        ("fields.\"\": expected no more trust", |tool| tool.trusted()),
    ];
    for (said, change) in less {
        let found = change(tool()).find_mismatch(&tool()).unwrap_or_default();
        assert!(found.starts_with(said), "{found}");
    }
    for more in [
        tool().argument("", ArgumentRole::Target),
        tool().field("/*/id", Trust::Untrusted, FieldType::Text),
        ToolContract { fields: BTreeMap::new(), ..tool() },
        ToolContract { arguments: BTreeMap::new(), ..tool() },
    ] {
        assert_eq!(more.find_mismatch(&tool()), None);
    }
}

#[test]
fn a_contract_that_declares_what_its_schemas_do_not_have_is_refused() {
    let contract = |text: &str| {
        let head = "name = 'send'\ndescription = 'S.'\neffect = 'write'\ntimeout_ms = 5\n";
        toml::from_str::<ToolContract>(&format!("{head}{text}")).unwrap()
    };
    let object = "[input]\ntype = 'object'\n[input.properties.to]\ntype = 'array'\n[input.properties.to.items]\ntype = 'string'\n";
    for (text, said) in [
        (format!("egress = ['to']\n{object}"), "egress.\"to\": expected a JSON pointer such as \"/body\""),
        (
            format!("egress = ['/tos']\n{object}"),
            "egress.\"/tos\": expected a place that the schema declares",
        ),
        (
            format!("{object}[arguments]\n'/to/x/y' = 'content'"),
            "arguments.\"/to/x/y\": expected a place that the schema declares",
        ),
        (
            format!("{object}[fields]\n'/id' = {{ trust = 'system', type = 'id' }}"),
            "fields.\"/id\": expected an `output`, whose fields these are",
        ),
        (
            format!("output_format = 'lines'\n{object}"),
            "output_format: expected an `output`, the schema of the data",
        ),
    ] {
        assert_eq!(contract(&text).check().unwrap_err().to_string(), said);
    }
    let fits = contract(&format!(
        "grave = true\n{object}[arguments]\n'/to/*' = 'content'\n[output]\ntype = 'object'\n[fields]\n'/id' = {{ trust = 'system', type = 'id' }}"
    ));
    assert!(fits.check().is_ok() && fits.fields["/id"].trust == Trust::Trusted);
    assert_eq!(serde_json::from_value::<ToolContract>(json!(fits)).unwrap(), fits);
}
