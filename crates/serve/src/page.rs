//! The page and its files. Anybody may read them: they hold nothing of a thread, and ask for a key where one is wanted.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::keys::sha256;
use planwright_page::{CONTENT_SECURITY_POLICY, File, files};

/// The routes of the page.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    files().fold(Router::new(), |router, file| {
        let tag: Arc<str> = format!("\"{}\"", &sha256(file.text)[..32]).into();
        let send = move |headers: HeaderMap| {
            let reply = send(file, &tag, &headers);
            async { reply }
        };
        router.route(file.path, get(send))
    })
}

/// Whether a path is one of the page's.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/" || path.starts_with("/page/")
}

/// Sends a file, unless the browser has what this tag names.
fn send(file: &File, tag: &str, headers: &HeaderMap) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known =
        known.is_some_and(|tags| tags.split(',').any(|one| one.trim().trim_start_matches("W/") == tag));
    let sent = [
        (header::CONTENT_TYPE, file.media_type.to_owned()),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        // A browser asks each time, and is sent what it does not have.
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag.to_owned()),
    ];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, sent).into_response(),
        false => (sent, file.text).into_response(),
    }
}
