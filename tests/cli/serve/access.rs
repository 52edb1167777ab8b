//! Who may ask.

use super::Service;
use crate::cli_support::{Home, check};

#[test]
fn page_of_another_site_is_refused_and_so_is_an_open_address_unless_that_is_said() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let here = service.address.replace("http://", "");
    let port = here.rsplit(':').next().unwrap();
    for (name, value, status) in [
        ("host", here.clone(), 200),
        ("host", format!("localhost:{port}"), 200),
        ("host", format!("[::1]:{port}"), 200),
        ("host", "rebound.example".to_owned(), 403),
        ("host", format!("127.0.0.1.rebound.example:{port}"), 403),
        ("origin", format!("http://{here}"), 200),
        ("origin", "http://rebound.example".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
    ] {
        let (found, reply) = service.send("GET", "/threads", "", &[(name, &value)]);
        assert_eq!(found, status, "{name}: {value}: {reply}");
    }
    home.refuses(
        &["serve", "--listen", "0.0.0.0:0"],
        &["anybody could ask", "hint: listen on 127.0.0.1, or say --allow-anonymous"],
    );
    let taken = check(home.program().args(["serve", "--offline", "--listen", &here]), "", 2);
    taken.complains(&["cannot be used", "--listen 127.0.0.1:0 for a free port"]);
}
