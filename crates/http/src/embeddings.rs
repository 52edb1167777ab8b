//! Texts into vectors, through any server with an OpenAI-compatible embeddings endpoint: OpenAI,
//! Ollama, llama.cpp, vLLM, LM Studio and their like.
//!
//! It stands here and not beside the chat models because tools use it, and the two doors do not
//! open into each other.
//!
//! **Invariant:** what comes out has one finite vector for each text, in their order, all of one
//! length; anything else that a server says is an error.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use planwright::ports::{Secret, ToolError};

use super::http::{Client, Request, address};
use super::retry::Retry;
use planwright::ports::Embedder;

const PATH: &str = "/embeddings";
/// Most texts of one call.
const MAX_TEXTS: usize = 10_000;
/// Longest text.
const MAX_TEXT_BYTES: usize = 128 << 10;
/// Most bytes of text in one request.
const MAX_BATCH_BYTES: usize = 256 << 10;
/// Most texts in one request, unless set.
const BATCH: usize = 32;
/// Longest vector.
const MAX_DIMENSIONS: usize = 16_384;
/// Largest response: a batch of the longest vectors in use, with all their digits.
const MAX_RESPONSE_BYTES: u64 = 8 << 20;
/// How long one request may take, its further tries included, unless set.
const TIMEOUT: Duration = Duration::from_secs(60);

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
#[derive(Clone)]
pub struct Embeddings {
    url: String,
    model: String,
    key: Option<Secret>,
    client: Client,
    timeout: Duration,
    batch: usize,
}

impl Embeddings {
    /// A client of a server such as `http://localhost:8080/v1`; `/embeddings` is added to it. Nothing
    /// is sent before the first text.
    ///
    /// # Errors
    /// Where that is no http or https address.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, ToolError> {
        let mut client = Client::new();
        client.max_response_bytes = MAX_RESPONSE_BYTES;
        let url = endpoint(base_url)?;
        Ok(Embeddings { url, model: model.into(), key: None, client, timeout: TIMEOUT, batch: BATCH })
    }

    /// The key to send as `Authorization: Bearer …`. With an empty one the header is left out.
    ///
    /// # Errors
    /// Where it holds a character that no header can carry.
    pub fn key(mut self, key: Secret) -> Result<Self, ToolError> {
        // A key from a file or a shell often ends in a line break.
        let key = Secret::new(key.expose().trim());
        if !key.expose().chars().all(|c| c.is_ascii_graphic()) {
            let problem =
                "expected a key of visible ASCII characters for the embeddings, found another character";
            return Err(ToolError::new("input", problem));
        }
        self.key = Some(key).filter(|key| !key.expose().is_empty());
        Ok(self)
    }

    /// How often and how patiently a failed request is made again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.client.retry = retry;
        self
    }

    /// How long one request may take, its further tries included. 60 s unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Most texts in one request, at least one. 32 unless set, which every server takes.
    #[must_use]
    pub fn batch(mut self, texts: usize) -> Self {
        self.batch = texts.max(1);
        self
    }

    /// The vectors of one batch, which begins with text number `first` of the call.
    fn ask(&self, texts: &[String], first: usize) -> Result<Vec<Vec<f32>>, ToolError> {
        let body = json!({"model": self.model, "input": texts});
        let (url, key) = (self.url.as_str(), self.key.as_ref());
        let request = Request { url, query: &[], body: Some(&body), key, idempotency_key: None };
        let answer = self.client.json(&request, Some(self.timeout), false)?;
        read(&answer, texts.len(), first)
    }
}

impl Embedder for Embeddings {
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
        check(texts)?;
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for batch in batches(texts, self.batch) {
            let first = batch.start;
            vectors.extend(self.ask(&texts[batch], first)?);
        }
        let length = vectors.first().map_or(0, Vec::len);
        match vectors.iter().position(|vector| vector.len() != length) {
            None => Ok(vectors),
            Some(at) => unfit(format!(
                "expected vectors of one length, found {length} numbers for text 1 and {} for text {}",
                vectors[at].len(),
                at + 1
            )),
        }
    }

    fn secrets(&self) -> Vec<Secret> {
        self.key.iter().cloned().collect()
    }
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("Embeddings")
            .field("url", &url)
            .field("model", &self.model)
            .field("timeout", &self.timeout)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

fn unfit<T>(problem: String) -> Result<T, ToolError> {
    Err(ToolError::new("response", problem))
}

/// Where the embeddings of a server are. A query (`?api-version=…`) is kept.
fn endpoint(base_url: &str) -> Result<String, ToolError> {
    let base_url = base_url.trim();
    let (base, query) = match base_url.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (base_url, String::new()),
    };
    // Without the query, which may hold a key that an error would show.
    address(base)?;
    let base = base.trim_end_matches('/');
    let path = if base.ends_with(PATH) { "" } else { PATH };
    let url = format!("{base}{path}{query}");
    match address(&url) {
        Ok(_) => Ok(url),
        Err(_) => {
            Err(ToolError::new("input", format!("expected an address, found an unfit query in {base}?…")))
        }
    }
}

/// Servers refuse texts without words, each in its own way; here it is said which text it is.
fn check(texts: &[String]) -> Result<(), ToolError> {
    let refuse = |problem: String| Err(ToolError::new("input", problem));
    if texts.len() > MAX_TEXTS {
        return refuse(format!("expected at most {MAX_TEXTS} texts, found {}", texts.len()));
    }
    for (at, text) in texts.iter().enumerate() {
        let nth = at + 1;
        if text.trim().is_empty() {
            return refuse(format!("expected words in text {nth}, found none"));
        }
        if text.len() > MAX_TEXT_BYTES {
            let found = text.len();
            return refuse(format!("expected at most {MAX_TEXT_BYTES} bytes in text {nth}, found {found}"));
        }
    }
    Ok(())
}

/// The texts in batches: at most so many, and not too many bytes.
fn batches(texts: &[String], most: usize) -> Vec<Range<usize>> {
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

/// The vectors of an answer, in the order of the texts that were asked for.
fn read(answer: &Value, count: usize, first: usize) -> Result<Vec<Vec<f32>>, ToolError> {
    let Some(data) = answer["data"].as_array() else {
        return unfit("expected a list \"data\" of embeddings, found none".to_owned());
    };
    if data.len() != count {
        return unfit(format!("expected {count} embeddings, found {}", data.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (nth, entry) in data.iter().enumerate() {
        let at = match &entry["index"] {
            Value::Null => nth,
            index => index.as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(count),
        };
        let Some(place) = vectors.get_mut(at).filter(|place| place.is_none()) else {
            let index = &entry["index"];
            return unfit(format!("expected each index below {count} once, found {index} in data[{nth}]"));
        };
        *place = Some(vector(&entry["embedding"], first + at + 1)?);
    }
    Ok(vectors.into_iter().flatten().collect())
}

/// The vector of text number `nth`.
fn vector(value: &Value, nth: usize) -> Result<Vec<f32>, ToolError> {
    let numbers = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if numbers.is_empty() || numbers.len() > MAX_DIMENSIONS {
        let found = numbers.len();
        return unfit(format!("expected 1 to {MAX_DIMENSIONS} numbers for text {nth}, found {found}"));
    }
    let number =
        |value: &Value| value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
    let vector: Option<Vec<f32>> = numbers.iter().map(number).collect();
    vector.map_or_else(|| unfit(format!("expected finite numbers for text {nth}, found something else")), Ok)
}
