//! Addresses of services: parsed, shown, extended, and compared for redirects.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;
use ureq::http::uri::Authority;

/// Parses the address of a service. An error shows neither password nor query.
pub(crate) fn parse_address(text: &str) -> Result<Uri, String> {
    let text = text.trim();
    let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = |uri: &Uri| uri.host().is_some_and(|host| !host.is_empty());
    let found = match text.parse::<Uri>().ok().filter(|uri| is_http(uri) && has_host(uri)) {
        Some(uri) if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) => {
            "one with a user name; give the key as a key".to_owned()
        }
        // It would be asked at the usual port.
        Some(uri) if uri.port().is_none() && uri.host() != uri.authority().map(Authority::as_str) => {
            format!("{:?}, whose port is none from 1 to 65535", show_address(text))
        }
        Some(uri) => return Ok(uri),
        None if text.is_empty() => "nothing".to_owned(),
        None => format!("{:?}", show_address(text)),
    };
    Err(format!("expected an address such as \"http://localhost:8080/v1\", found {found}"))
}

/// The address that requests go to. Its `Debug` shows no query, which may hold a key.
#[derive(Clone)]
pub(crate) struct Endpoint(pub(crate) Uri);

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show_address(&self.0.to_string()))
    }
}

/// Adds a path to a base address unless that ends with it. A query (`?api-version=…`) is kept. An address without any
/// path stands for the one at `root`.
pub(crate) fn parse_endpoint(base: &str, root: &str, path: &str) -> Result<Endpoint, String> {
    let base = parse_address(base)?;
    let stem = base.path().trim_end_matches('/');
    let stem = if stem.is_empty() { root } else { stem.strip_suffix(path).unwrap_or(stem) };
    let query = base.query().map_or_else(String::new, |query| format!("?{query}"));
    join_origin(&base, &format!("{stem}{path}{query}")).map(Endpoint).ok_or_else(|| {
        let shown = show_address(&base.to_string());
        format!("expected an address that takes the path {path}, found {shown:?}")
    })
}

fn join_origin(uri: &Uri, target: &str) -> Option<Uri> {
    format!("{}://{}{target}", uri.scheme_str()?, uri.authority()?).parse().ok()
}

/// Strips user name, password, query and fragment, any of which may hold a key, from an address.
pub fn show_address(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = address.split_at(address.find("://").map_or(0, |at| at + 3));
    let host_end = rest.find('/').unwrap_or(rest.len());
    let host_start = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}{}", &rest[host_start..])
}

/// Whether an address is on this machine, which no proxy can reach.
pub(super) fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The target of a redirect that stays on its host. From http to https is allowed, back is not.
pub(super) fn resolve_redirect(from: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with('/') && !location.starts_with("//") {
        return join_origin(from, location);
    }
    let to = parse_address(location).ok()?;
    let same = to.scheme() == from.scheme() && to.authority() == from.authority();
    let upgraded = (from.scheme_str(), to.scheme_str()) == (Some("http"), Some("https"))
        && to.host() == from.host()
        && (to.port(), from.port()) == (None, None);
    (same || upgraded).then_some(to)
}

#[test]
fn redirects_stay_on_their_host() {
    let check = |from: &str, location: &str, expected: Option<&str>| {
        let next = resolve_redirect(&from.parse().unwrap(), location).map(|next| next.to_string());
        assert_eq!(next.as_deref(), expected, "{from} -> {location}");
    };
    check("http://a.org/w", "/x?y=1", Some("http://a.org/x?y=1"));
    check("http://a.org:81/w", "http://a.org:81/x", Some("http://a.org:81/x"));
    check("http://a.org/w", "https://a.org/x", Some("https://a.org/x"));
    let elsewhere = ["//b.org/x", "http://b.org/x", "https://a.org:8443/x", "ftp://a.org/x", "x", ""];
    for location in elsewhere.into_iter().chain(["http://u@a.org/", "http://a.org.evil.org/x"]) {
        check("http://a.org/w", location, None);
    }
    check("https://a.org/w", "http://a.org/x", None);
    check("http://a.org:81/w", "https://a.org/x", None);
}
