//! Texts into vectors, through any server with an OpenAI-compatible embeddings endpoint: OpenAI,
//! Ollama, llama.cpp, vLLM, LM Studio and their like.
//!
//! **Invariant:** there is one finite vector for each text, in the order of the texts, all of one
//! length; anything else that a server says is an error.

use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use planwright::ports::{Embedder, Secret, ToolError, ToolErrorKind};

use crate::client::{Client, Endpoint, Request, Retry, parse_endpoint};

/// Most texts of one call.
const MAX_TEXTS: usize = 10_000;
/// Longest text.
const MAX_TEXT_BYTES: usize = 128 << 10;
/// Most bytes of text in one request.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// Longest vector.
const MAX_DIMENSIONS: usize = 16_384;
/// Largest response: a batch of the longest vectors in use, with all their digits.
const MAX_RESPONSE_BYTES: usize = 8 << 20;

/// A client of an OpenAI-compatible embeddings endpoint.
///
/// Rate limits, server errors and broken connections are tried again within the time of a request.
/// A key goes to the configured address and nowhere else: redirects are not followed.
///
/// ```no_run
/// use planwright::ports::Embedder;
/// use planwright_http::Embeddings;
///
/// let embeddings = Embeddings::new("http://localhost:11434/v1", "nomic-embed-text")?;
/// let vectors = embeddings.embed(&["비밀유지 의무".into(), "duty of confidence".into()])?;
/// assert_eq!(vectors.len(), 2);
/// # Ok::<(), planwright::ports::ToolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embeddings {
    endpoint: Endpoint,
    model: String,
    client: Client,
    timeout: Duration,
    batch: usize,
}

impl Embeddings {
    /// Opens a client of a server such as `http://localhost:8080/v1`; `/embeddings` is added to it.
    /// Nothing is sent before the first text.
    ///
    /// # Errors
    /// If that is not an HTTP address.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, ToolError> {
        let endpoint = parse_endpoint(base_url, "/embeddings").map_err(ToolError::input)?;
        let mut client = Client::new();
        client.max_response_bytes = MAX_RESPONSE_BYTES;
        let timeout = Duration::from_secs(60);
        Ok(Embeddings { endpoint, model: model.into(), client, timeout, batch: 32 })
    }

    /// Sets the key to send as `Authorization: Bearer …`. With an empty one the header is left out.
    ///
    /// # Errors
    /// If it holds a character that no header can carry.
    pub fn key(mut self, key: Secret) -> Result<Self, ToolError> {
        self.client.set_key(&key).map_err(ToolError::input)?;
        Ok(self)
    }

    /// Sets how often and how patiently a failed request is made again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.client.retry = retry;
        self
    }

    /// Sets how long one request may take, its further tries included. 60 s unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the most texts in one request, at least one. 32 unless set, which every server takes.
    #[must_use]
    pub fn batch(mut self, texts: usize) -> Self {
        self.batch = texts.max(1);
        self
    }
}

impl Embedder for Embeddings {
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
        check_texts(texts)?;
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for batch in split_batches(texts, self.batch) {
            let body = json!({"model": self.model, "input": texts[batch.clone()]}).to_string();
            let body = Some(body.as_bytes());
            let request = Request { uri: &self.endpoint.0, body, idempotency_key: None };
            vectors.extend(parse_vectors(&self.client.ask_json(request, self.timeout, false)?, &batch)?);
        }
        let length = vectors.first().map_or(0, Vec::len);
        let Some(at) = vectors.iter().position(|vector| vector.len() != length) else { return Ok(vectors) };
        let other = format!("{} for text {}", vectors[at].len(), at + 1);
        unfit(format!("expected vectors of one length, found {length} numbers for text 1 and {other}"))
    }

    fn secrets(&self) -> Vec<Secret> {
        self.client.secrets().to_vec()
    }
}

fn unfit<T>(problem: String) -> Result<T, ToolError> {
    Err(ToolError::new(ToolErrorKind::Response, problem))
}

/// Checks what servers refuse, each in its own way, and names the text.
fn check_texts(texts: &[String]) -> Result<(), ToolError> {
    let count = texts.len();
    let too_many = (count > MAX_TEXTS).then(|| format!("expected at most {MAX_TEXTS} texts, found {count}"));
    let find_unfit = |(text, nth): (&String, usize)| match text.len() {
        _ if text.trim().is_empty() => Some(format!("expected words in text {nth}, found none")),
        bytes if bytes > MAX_TEXT_BYTES => {
            Some(format!("expected at most {MAX_TEXT_BYTES} bytes in text {nth}, found {bytes}"))
        }
        _ => None,
    };
    let problem = too_many.or_else(|| texts.iter().zip(1..).find_map(find_unfit));
    problem.map_or(Ok(()), |problem| Err(ToolError::input(problem)))
}

/// Splits texts into batches of at most so many texts and not too many bytes.
fn split_batches(texts: &[String], most: usize) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (at, text) in texts.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if batch.len() < most && bytes + text.len() <= MAX_BATCH_BYTES => {
                batch.end = at + 1;
                bytes += text.len();
            }
            _ => {
                batches.push(at..at + 1);
                bytes = text.len();
            }
        }
    }
    batches
}

/// The vectors of an answer, in the order of the texts of the batch.
fn parse_vectors(answer: &Value, batch: &Range<usize>) -> Result<Vec<Vec<f32>>, ToolError> {
    let (count, first) = (batch.len(), batch.start);
    let Some(data) = answer["data"].as_array() else {
        return unfit("expected a list \"data\" of embeddings, found none".to_owned());
    };
    if data.len() != count {
        return unfit(format!("expected {count} embeddings, found {}", data.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (nth, entry) in data.iter().enumerate() {
        let index = &entry["index"];
        let asked = || index.as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(count);
        let at = if index.is_null() { nth } else { asked() };
        let Some(place) = vectors.get_mut(at).filter(|place| place.is_none()) else {
            return unfit(format!("expected each index below {count} once, found {index} in data[{nth}]"));
        };
        *place = Some(parse_vector(&entry["embedding"], first + at + 1)?);
    }
    Ok(vectors.into_iter().flatten().collect())
}

/// The vector of text number `nth`.
fn parse_vector(value: &Value, nth: usize) -> Result<Vec<f32>, ToolError> {
    let numbers = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if !(1..=MAX_DIMENSIONS).contains(&numbers.len()) {
        let found = numbers.len();
        return unfit(format!("expected 1 to {MAX_DIMENSIONS} numbers for text {nth}, found {found}"));
    }
    let finite = |value: &Value| value.as_f64().map(|number| number as f32).filter(|n| n.is_finite());
    let vector: Option<Vec<f32>> = numbers.iter().map(finite).collect();
    vector.map_or_else(|| unfit(format!("expected finite numbers for text {nth}, found something else")), Ok)
}
