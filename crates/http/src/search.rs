//! `search`: the web, through Tavily's search or a service that speaks the same.

use std::{fmt, slice};

use serde::Serialize;
use serde_json::{Value, json};

use planwright::contract::{Source, ToolContract};
use planwright::driver::redact;
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolOutput};

use super::http::{Client, Request, address};
use super::retry::Retry;
use planwright::ports::first_chars as cut;

const DEFAULT_BASE: &str = "https://api.tavily.com";
/// Most results.
const MAX_RESULTS: usize = 5;
/// Most characters of one result's content.
const MAX_CONTENT_CHARS: usize = 1500;
/// Most characters of a title or an address.
const MAX_NAME_CHARS: usize = 500;

/// Searches the web.
///
/// The key goes to the configured address and nowhere else: redirects are not followed.
///
/// ```
/// use planwright::ports::Secret;
/// use planwright_http::Search;
///
/// let search = Search::new(Secret::new("tvly-key")).unwrap();
/// assert!(!format!("{search:?}").contains("tvly-key"));
/// assert!(Search::new(Secret::new(" ")).is_err());
/// ```
#[derive(Clone)]
pub struct Search {
    base: String,
    key: Secret,
    client: Client,
}

impl Search {
    /// The tool for Tavily, with its key.
    ///
    /// # Errors
    /// Where the key is empty or could not be a key.
    pub fn new(key: Secret) -> Result<Self, ToolError> {
        // A key from a file or a shell often ends in a line break.
        let key = Secret::new(key.expose().trim());
        if key.expose().is_empty() {
            return Err(ToolError::new(
                "input",
                "expected a key for the search service, found an empty text",
            ));
        }
        if !key.expose().chars().all(|c| c.is_ascii_graphic()) {
            let problem =
                "expected a key of visible ASCII characters for the search service, found another character";
            return Err(ToolError::new("input", problem));
        }
        Ok(Search { base: DEFAULT_BASE.to_owned(), key, client: Client::new() })
    }

    /// The tool for a service at another address; `/search` is added to it.
    ///
    /// # Errors
    /// Where that is no http or https address.
    pub fn at(mut self, base: &str) -> Result<Self, ToolError> {
        let base = base.trim().trim_end_matches('/');
        address(base)?;
        self.base = base.to_owned();
        Ok(self)
    }

    /// How often and how patiently a failed request is made again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.client.retry = retry;
        self
    }
}

/// One result as it is written, its fields in this order.
#[derive(Serialize)]
struct Written {
    title: String,
    url: String,
    content: String,
}

impl Written {
    /// The page as an answer names it; one with neither title nor address cannot be named.
    fn cited(self) -> Option<Source> {
        let title = [&self.title, &self.url].into_iter().find(|name| !name.is_empty())?.clone();
        Some(Source { title, url: Some(self.url).filter(|url| !url.is_empty()), ..Source::default() })
    }
}

impl Tool for Search {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("search").expect("agents/tools.toml holds its contract")
    }

    /// A JSON array of at most five results: `[{"title":"…","url":"…","content":"…"}]`. Results that
    /// would not fit the call's output are left out whole.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let words = call.nonempty_text("words to look for")?;
        let url = format!("{}/search", self.base);
        let body = json!({"query": words, "max_results": MAX_RESULTS});
        let (key, idempotency_key) = (Some(&self.key), Some(call.idempotency_key));
        let request = Request { url: &url, query: &[], body: Some(&body), key, idempotency_key };
        let answer = self.client.json(&request, call.timeout, call.once)?;
        let Some(found) = answer.get("results").and_then(Value::as_array) else {
            let found = redact(&answer.to_string(), slice::from_ref(&self.key)).into_owned();
            let problem =
                format!("expected a list \"results\" from the search service, found {}", cut(&found, 200));
            return Err(ToolError::new("response", problem));
        };
        let field = |result: &Value, name: &str, most| {
            let text = redact(
                result.get(name).and_then(Value::as_str).unwrap_or_default(),
                slice::from_ref(&self.key),
            );
            cut(text.trim(), most).to_owned()
        };
        let mut results: Vec<Written> = found
            .iter()
            .take(MAX_RESULTS)
            .map(|result| Written {
                title: field(result, "title", MAX_NAME_CHARS),
                url: field(result, "url", MAX_NAME_CHARS),
                content: field(result, "content", MAX_CONTENT_CHARS),
            })
            .collect();
        let text = call.fit_json(&mut results)?;
        let sources = results.into_iter().filter_map(Written::cited).collect();
        Ok(ToolOutput::from_sources(text, sources))
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![self.key.clone()]
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("base", &self.base).finish_non_exhaustive()
    }
}
