//! `search`: the web, through Tavily's search or a service that speaks the same.

use serde_json::{Value, json};

use planwright::contract::{Source, ToolContract};
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, first_chars};

use crate::client::{Client, Endpoint, parse_endpoint};

const DEFAULT_BASE: &str = "https://api.tavily.com";
const MAX_RESULTS: usize = 5;
const MAX_CONTENT_CHARS: usize = 1500;
/// Most characters of a title or an address.
const MAX_NAME_CHARS: usize = 500;

/// Searches the web.
///
/// The key goes to the configured address and nowhere else: redirects are not followed.
#[derive(Clone, Debug)]
pub struct Search {
    endpoint: Endpoint,
    client: Client,
}

impl Search {
    /// Opens the tool for Tavily, with its key.
    ///
    /// # Errors
    /// If the key is empty or cannot be a key.
    pub fn new(key: Secret) -> Result<Self, ToolError> {
        let client = Client::with_key(&key).map_err(ToolError::input)?;
        if client.secrets().is_empty() {
            return Err(ToolError::input("expected a key for the search service, found an empty text"));
        }
        let endpoint = parse_endpoint(DEFAULT_BASE, "", "/search").map_err(ToolError::input)?;
        Ok(Search { endpoint, client })
    }

    /// Asks a service at another address, to which `/search` is added.
    ///
    /// # Errors
    /// If that is not an HTTP address.
    pub fn at(self, base: &str) -> Result<Self, ToolError> {
        let endpoint = parse_endpoint(base, "", "/search").map_err(ToolError::input)?;
        Ok(Search { endpoint, ..self })
    }

    client_methods!();
}

impl Tool for Search {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("search").expect("agents/tools.toml holds its contract")
    }

    /// A JSON array of at most five results: `[{"title":"…","url":"…","content":"…"}]`. Results that
    /// would not fit the call's output are left out whole.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let words = call.nonempty_text("words to look for")?;
        let body = json!({"query": words, "max_results": MAX_RESULTS}).to_string();
        let answer = self.client.ask_for_call(&self.endpoint.0, Some(body.as_bytes()), call)?;
        let Some(results) = answer["results"].as_array() else {
            let answer = answer.to_string();
            let found = self.client.redact(&answer);
            let found = first_chars(&found, 200);
            let problem = format!("expected a list \"results\" from the search service, found {found}");
            return Err(ToolError::new(ToolErrorKind::Response, problem));
        };
        let field = |result: &Value, name: &str, most| {
            let text = self.client.redact(result[name].as_str().unwrap_or_default()).into_owned();
            first_chars(text.trim(), most).to_owned()
        };
        let results = results.iter().take(MAX_RESULTS).map(|result| {
            json!({
                "title": field(result, "title", MAX_NAME_CHARS),
                "url": field(result, "url", MAX_NAME_CHARS),
                "content": field(result, "content", MAX_CONTENT_CHARS),
            })
        });
        let mut results: Vec<Value> = results.collect();
        let text = call.fit_json(&mut results)?;
        // A page with neither title nor address cannot be named.
        let sources = results.iter().filter_map(|result| {
            let text = |name: &str| result[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            let title = text("title").or_else(|| text("url"))?;
            Some(Source { title, url: text("url"), ..Source::default() })
        });
        Ok(ToolOutput::from_sources(text, sources.collect()))
    }

    fn secrets(&self) -> Vec<Secret> {
        self.client.secrets().to_vec()
    }
}
