//! The page's files: sent to anybody, under a policy that lets nothing else in.

use super::Service;
use super::keys::make_key;
use crate::cli_support::Home;

#[test]
fn files_of_the_page_need_no_key_and_name_all_that_they_load() {
    let home = Home::new();
    make_key(&home, "alice", &["--may", "run"]);
    let service = Service::start(&home, &["--offline"]);
    let host = service.address.replace("http://", "");
    let ask = |path: &str, headers: &str| {
        service.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"))
    };
    assert!(ask("/threads", "").starts_with("HTTP/1.1 401 "), "threads want the key");
    let mut paths = vec!["/".to_owned()];
    let mut seen = 0;
    while let Some(path) = paths.get(seen).cloned() {
        seen += 1;
        let got = ask(&path, "");
        let (head, text) = got.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: ")).unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        for header in
            ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-cache"]
        {
            assert!(head.contains(header), "{path}: {header} in {head}");
        }
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        let again = ask(&path, &format!("If-None-Match: \"old\", {tag}\r\n"));
        assert!(again.starts_with("HTTP/1.1 304 ") && again.ends_with("\r\n\r\n"), "{path}: {again}");
        // What it loads: `src="/page/main.js"`, `from "./dom.js"`.
        let named = text.split('"').skip(1).filter(|name| !name.contains(char::is_whitespace));
        let named = named.filter(|name| name.starts_with("/page/") || name.starts_with("./"));
        for name in
            named.map(|name| format!("/page/{}", name.trim_start_matches("/page/").trim_start_matches("./")))
        {
            if !paths.contains(&name) {
                paths.push(name);
            }
        }
    }
    assert!(paths.len() > 15 && paths.contains(&"/page/page.css".to_owned()), "{paths:?}");
    assert!(ask("/page/none.js", "").starts_with("HTTP/1.1 404 "));
}

#[test]
fn where_the_page_is_is_said_at_the_start_and_no_other_name_reaches_it() {
    let home = Home::new();
    let log = home.path("log");
    let stderr = std::fs::File::create(&log).unwrap();
    let mut service = Service::start_with(home.program(), &["--offline", "--log", "off"], stderr);
    let got = service.raw("GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n");
    assert!(got.starts_with("HTTP/1.1 403 "), "{got}");
    assert_eq!(service.signal("-TERM"), Some(0));
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains(&format!("the page is at  {}/", service.address)), "{said}");
}
