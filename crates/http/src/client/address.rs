//! Addresses of services: parsed, shown, extended, and compared for redirects.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

/// Parses the address of a service. An error shows neither password nor query.
pub(crate) fn parse_address(text: &str) -> Result<Uri, String> {
    let text = text.trim();
    let expected = |found: String| {
        Err(format!("expected an address such as \"http://localhost:8080/v1\", found {found}"))
    };
    if text.is_empty() {
        return expected("nothing".to_owned());
    }
    let uri = text.parse::<Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    match uri {
        None => expected(format!("{:?}", show_address(text))),
        Some(uri) if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) => {
            expected("one with a user name; give the key as a key".to_owned())
        }
        Some(uri) => Ok(uri),
    }
}

/// The address that requests go to. Its `Debug` shows no query, which may hold a key.
#[derive(Clone)]
pub(crate) struct Endpoint(pub(crate) Uri);

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show_address(&self.0.to_string()))
    }
}

/// Parses a base address and adds a path, unless the address ends with it. A query
/// (`?api-version=…`) is kept.
pub(crate) fn parse_endpoint(base: &str, path: &str) -> Result<Endpoint, String> {
    let base = parse_address(base)?;
    let mut target = base.path().trim_end_matches('/').to_owned();
    if !target.ends_with(path) {
        target.push_str(path);
    }
    if let Some(query) = base.query() {
        target = format!("{target}?{query}");
    }
    let mut parts = base.into_parts();
    let unfit = |_| format!("expected a path and a query, found {:?}", show_address(&target));
    parts.path_and_query = Some(target.parse().map_err(unfit)?);
    Uri::from_parts(parts).map(Endpoint).map_err(|error| error.to_string())
}

/// An address without user name, password, query and fragment, any of which may hold a key.
pub(crate) fn show_address(address: &str) -> String {
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
    let authority = from.authority()?;
    if location.starts_with('/') && !location.starts_with("//") {
        return format!("{}://{authority}{location}", from.scheme_str()?).parse().ok();
    }
    let to = parse_address(location).ok()?;
    let same = to.scheme() == from.scheme() && to.authority() == Some(authority);
    let upgraded = (from.scheme_str(), to.scheme_str()) == (Some("http"), Some("https"))
        && to.host() == from.host()
        && (to.port(), from.port()) == (None, None);
    (same || upgraded).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, location: &str, expected: Option<&str>) {
        let next = resolve_redirect(&from.parse().unwrap(), location);
        assert_eq!(next.map(|next| next.to_string()).as_deref(), expected, "{from} -> {location}");
    }

    #[test]
    fn redirects_stay_on_their_host() {
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
}
