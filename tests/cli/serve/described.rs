//! The document of the interface says what is served.

use super::Service;
use crate::cli_support::Home;

#[test]
fn document_of_the_interface_names_every_path_that_is_served() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let described = service.get("/openapi.json", 200);
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = described["paths"].as_object().unwrap();
    assert!(paths.len() >= 13, "{:?}", paths.keys());
    for (path, methods) in paths {
        for (method, about) in methods.as_object().unwrap() {
            assert!(about["summary"].is_string() && about["responses"].is_object(), "{method} {path}");
            let path = path.replace("{thread_id}", "none").replace("{name}", "none");
            let (status, reply) = service.send(&method.to_uppercase(), &path, "", &[]);
            let kind = reply["type"].as_str().unwrap_or_default();
            assert!(!kind.ends_with("no-such-path") && status != 405, "{method} {path}: {status} {reply}");
        }
    }
}
