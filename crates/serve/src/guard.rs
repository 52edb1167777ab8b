//! Who may ask: on loopback no page of another site, elsewhere nobody unless that is said.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::{Kind, Problem};

/// Refuses a request that names another host than this machine: a page that had its own name resolve to loopback
/// would read the answers of every thread.
pub(crate) async fn refuse_other_hosts(request: Request, next: Next) -> Response {
    match foreign(request.headers()) {
        None => next.run(request).await,
        Some(what) => {
            let detail = format!("{what}: expected this machine (localhost or a loopback address)");
            Problem::new(Kind::Forbidden, detail)
                .hint("send it from this machine, or listen on another address with --listen")
                .into_response()
        }
    }
}

/// The header that names another machine, if one does.
fn foreign(headers: &HeaderMap) -> Option<&'static str> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if !text(header::HOST).is_some_and(is_here) {
        return Some("Host");
    }
    let origin = text(header::ORIGIN)?;
    let host = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
    (!host.is_some_and(is_here)).then_some("Origin")
}

/// Whether a host, with or without a port, is this machine.
fn is_here(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}
