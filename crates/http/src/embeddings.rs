//! Texts into vectors, through any server with an OpenAI-compatible embeddings endpoint: OpenAI,
//! Ollama, llama.cpp, vLLM, LM Studio and their like.
//!
//! **Invariant:** there is one finite vector for each text, in the order of the texts, all of one
//! length; anything else that a server says is an error.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use planwright::ports::{Embedder, Secret, ToolError, ToolErrorKind};

use crate::client::{Client, Endpoint, Request, parse_endpoint};

const MAX_TEXTS: usize = 10_000;
const MAX_TEXT_BYTES: usize = 128 << 10;
const MAX_BATCH_BYTES: usize = 256 << 10;
const MAX_DIMENSIONS: usize = 16_384;
/// Largest response: a batch of the longest vectors in use, with all their digits.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// A client of an OpenAI-compatible embeddings endpoint.
///
/// Rate limits, server errors and broken connections are tried again within the time of a request.
/// A key goes to the configured address and nowhere else: redirects are not followed.
///
/// ```no_run
/// use planwright::ports::{Embedder, Secret};
/// use planwright_http::Embeddings;
///
/// let embeddings = Embeddings::new("http://localhost:11434/v1", "nomic-embed-text", &Secret::new(""))?;
/// let vectors = embeddings.embed(&["비밀유지 의무".into(), "duty of confidence".into()])?;
/// assert_eq!(vectors.len(), 2);
/// # Ok::<(), planwright::ports::ToolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embeddings {
    endpoint: Endpoint,
    model: String,
    client: Client,
    /// How long one request may take, its further tries included. 60 s unless set.
    pub timeout: Duration,
    /// The most texts in one request, at least one. 32 unless set, which every server takes.
    pub batch: usize,
}

impl Embeddings {
    /// Opens a client of a server such as `http://localhost:8080/v1`, to which `/embeddings` is added. The key
    /// is sent as `Authorization: Bearer …`; with an empty one the header is left out. Nothing is sent before
    /// the first text.
    ///
    /// # Errors
    /// If that is not an HTTP address, or the key holds a character that no header can carry.
    pub fn new(base_url: &str, model: impl Into<String>, key: &Secret) -> Result<Self, ToolError> {
        let endpoint = parse_endpoint(base_url, "", "/embeddings").map_err(ToolError::input)?;
        let mut client = Client::with_key(key).map_err(ToolError::input)?;
        client.max_response_bytes = MAX_RESPONSE_BYTES;
        Ok(Embeddings { endpoint, model: model.into(), client, timeout: Duration::from_secs(60), batch: 32 })
    }

    /// Sends one more header with every request: `api-key` for Azure. No error shows its value.
    ///
    /// # Errors
    /// If no header can carry the name or the value.
    pub fn header(mut self, name: &str, value: &Secret) -> Result<Self, ToolError> {
        self.client.add_header(name, value.expose()).map_err(ToolError::input)?;
        Ok(self)
    }

    client_methods!();
}

impl Embedder for Embeddings {
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
        self.embed_until(texts, &|| false)
    }

    fn embed_until(&self, texts: &[String], stop: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, ToolError> {
        check_texts(texts).map_err(ToolError::input)?;
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fitting = rest.iter().take(self.batch).take_while(|text| {
                bytes += text.len();
                bytes <= MAX_BATCH_BYTES
            });
            let (batch, others) = rest.split_at(fitting.count().max(1));
            rest = others;
            let body = json!({"model": self.model, "input": batch}).to_string();
            let body = Some(body.as_bytes());
            let request = Request { uri: &self.endpoint.0, body, idempotency_key: None, trace: None };
            let answer = self.client.ask_json(request, self.timeout, false, stop)?;
            vectors.extend(parse_vectors(&answer, batch.len()).map_err(unfit)?);
        }
        check_vectors(&vectors).map_err(unfit)?;
        Ok(vectors)
    }

    fn secrets(&self) -> Vec<Secret> {
        self.client.secrets().to_vec()
    }
}

fn unfit(problem: String) -> ToolError {
    ToolError::new(ToolErrorKind::Response, problem)
}

/// Refuses what servers refuse, each in its own way, and names the text.
fn check_texts(texts: &[String]) -> Result<(), String> {
    let problem = |(text, nth): (&String, usize)| match text.len() {
        _ if text.trim().is_empty() => Some(format!("expected words in text {nth}, found none")),
        0..=MAX_TEXT_BYTES => None,
        found => Some(format!("expected at most {MAX_TEXT_BYTES} bytes in text {nth}, found {found}")),
    };
    match texts.len() {
        0..=MAX_TEXTS => texts.iter().zip(1..).find_map(problem).map_or(Ok(()), Err),
        found => Err(format!("expected at most {MAX_TEXTS} texts, found {found}")),
    }
}

/// One embedding of an answer. One without an index is that of the text at its own place.
#[derive(Deserialize)]
struct Entry {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The vectors of an answer, in the order of the texts of the batch.
fn parse_vectors(answer: &Value, count: usize) -> Result<Vec<Vec<f32>>, String> {
    let Ok(entries) = Vec::<Entry>::deserialize(&answer["data"]) else {
        return Err("expected a list \"data\" of embeddings of numbers, found something else".to_owned());
    };
    if entries.len() != count {
        return Err(format!("expected {count} embeddings, found {}", entries.len()));
    }
    let mut vectors = vec![None; count];
    for (nth, Entry { index, embedding }) in entries.into_iter().enumerate() {
        let at = index.unwrap_or(nth);
        let Some(place) = vectors.get_mut(at).filter(|place| place.is_none()) else {
            return Err(format!("expected each index below {count} once, found {at} in data[{nth}]"));
        };
        *place = Some(embedding);
    }
    Ok(vectors.into_iter().flatten().collect())
}

fn check_vectors(vectors: &[Vec<f32>]) -> Result<(), String> {
    let length = vectors.first().map_or(0, Vec::len);
    let problem = |(vector, nth): (&Vec<f32>, usize)| match vector.len() {
        found if !(1..=MAX_DIMENSIONS).contains(&found) => {
            Some(format!("expected 1 to {MAX_DIMENSIONS} numbers for text {nth}, found {found}"))
        }
        found if found != length => {
            Some(format!("expected {length} numbers for each text, found {found} for text {nth}"))
        }
        _ if vector.iter().all(|number| number.is_finite()) => None,
        _ => Some(format!("expected finite numbers for text {nth}, found something else")),
    };
    vectors.iter().zip(1..).find_map(problem).map_or(Ok(()), Err)
}
