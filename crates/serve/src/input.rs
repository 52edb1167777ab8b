//! What a request brings: JSON that reads whole, or an error with the place.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::problem::{Kind, Problem};
use planwright::journal::ThreadId;

/// The body of a request, as JSON.
pub(crate) struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(|refused| {
            let kind = match refused.status() {
                StatusCode::PAYLOAD_TOO_LARGE => Kind::TooLarge,
                _ => Kind::Input,
            };
            Problem::new(kind, refused.body_text())
        })?;
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            let place = if path == "." { "$".to_owned() } else { format!("$.{path}") };
            (place, error.into_inner())
        });
        let read = read.and_then(|read| json.end().map(|()| read).map_err(|error| ("$".to_owned(), error)));
        read.map(Body).map_err(|(place, error)| {
            Problem::new(Kind::Input, format!("{place}: {error}"))
                .hint("GET /openapi.json describes every body")
        })
    }
}

/// The thread that a path names.
pub(crate) struct Thread(pub ThreadId);

impl<S: Send + Sync> FromRequestParts<S> for Thread {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Named {
            thread_id: String,
        }
        let named = Path::<Named>::from_request_parts(parts, state).await;
        let Path(named) = named.map_err(|refused| Problem::new(Kind::Input, refused.body_text()))?;
        named
            .thread_id
            .parse()
            .map(Thread)
            .map_err(|error| Problem::new(Kind::Input, format!("thread_id: {error}")))
    }
}
