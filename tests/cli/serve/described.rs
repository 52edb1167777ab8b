//! The description of the interface says what is served: each path and method, and nothing else.

use std::collections::BTreeSet;

use super::Service;
use crate::cli_support::Home;

#[test]
fn description_of_the_interface_and_what_is_served_agree() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let described = service.get("/openapi.json", 200);
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(described["components"]["securitySchemes"]["key"]["scheme"], "bearer");
    let paths = described["paths"].as_object().unwrap();
    for (path, methods) in paths {
        let sent = path.replace("{thread_id}", "none").replace("{name}", "none").replace("{turn}", "1");
        for (method, about) in methods.as_object().unwrap() {
            assert!(about["summary"].is_string(), "{method} {path}");
            let is_guarded = !matches!(path.as_str(), "/healthz" | "/readyz");
            assert_eq!(about["security"].is_array(), is_guarded, "{method} {path}");
            for status in ["401", "429"] {
                assert_eq!(about["responses"][status].is_object(), is_guarded, "{method} {path} {status}");
            }
            for status in ["403", "408", "413"] {
                assert!(about["responses"][status].is_object(), "{method} {path} {status}");
            }
            assert_eq!(about["responses"]["503"].is_object(), path != "/healthz", "{method} {path}");
            let (status, reply) = service.send(&method.to_uppercase(), &sent, "", &[]);
            let kind = reply["type"].as_str().unwrap_or_default();
            assert!(!kind.ends_with("no-such-path") && status != 405, "{method} {path}: {status} {reply}");
            let posts_nothing = ["/threads/{thread_id}/resume"].contains(&path.as_str());
            assert_eq!(about["requestBody"].is_null(), method != "post" || posts_nothing, "{method} {path}");
            for (status, response) in about["responses"].as_object().unwrap() {
                assert!(response.get("content").is_none_or(serde_json::Value::is_object), "{status} {path}");
                let media_types = response["content"].as_object();
                assert_eq!(media_types.is_none(), ["202", "204"].contains(&&**status), "{status} {path}");
                for (media_type, described) in media_types.into_iter().flatten() {
                    let place = format!("{method} {path} {status} {media_type}");
                    assert!(described["schema"].is_object(), "{place}: no schema");
                    let has_example = !described["example"].is_null() || described["examples"].is_object();
                    assert!(
                        has_example,
                        "{place}: no example; crates/serve/src/examples.json has those of replies"
                    );
                }
            }
        }
        // No method is taken that is not described.
        let taken: BTreeSet<String> =
            methods.as_object().unwrap().keys().map(|name| name.to_uppercase()).collect();
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request =
            ureq::http::Request::builder().method("PATCH").uri(format!("{}{sent}", service.address));
        let refused = agent.run(request.body(String::new()).unwrap()).unwrap();
        let allowed = refused.headers().get("allow").map(|methods| methods.to_str().unwrap().to_owned());
        let allowed = allowed.unwrap_or_default();
        let allowed: BTreeSet<String> =
            allowed.split(',').filter(|name| *name != "HEAD").map(str::to_owned).collect();
        assert_eq!((refused.status().as_u16(), allowed), (405, taken), "{path}");
    }
    // Whatever is routed is described: no route is made beside `routes!`, but for the files of the page.
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/src");
    let folders = [source.to_owned(), format!("{source}/mcp")].into_iter();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
    for path in files.filter(|path| !path.ends_with("page.rs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(".route(") && !text.contains(".nest("), "{}", path.display());
    }
    let bare = |value: &serde_json::Value| value.as_object().is_some_and(|shape| shape.len() == 1);
    let shapes = described["components"]["schemas"].as_object().unwrap();
    let bare: Vec<&String> = shapes.iter().filter(|(_, shape)| bare(shape)).map(|(name, _)| name).collect();
    assert!(bare.is_empty(), "nothing is said of {bare:?}");
}
