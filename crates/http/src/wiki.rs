//! `wiki` and `lookup`: articles of an encyclopedia that runs on MediaWiki.

use std::time::Instant;

use serde_json::Value;

use planwright::contract::{Source, ToolContract};
use planwright::ports::{Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, first_chars};

use crate::client::{Client, DEFAULT_TIMEOUT, parse_address};

/// Where the articles are unless set; `{lang}` is `ko` or `en`.
const DEFAULT_BASE: &str = "https://{lang}.wikipedia.org/w/api.php";
const MAX_SUMMARY_CHARS: usize = 2000;
const MAX_ARTICLE_CHARS: usize = 4000;

/// An encyclopedia that runs on MediaWiki: Wikipedia, unless it is opened [`at`](MediaWiki::at) another
/// address.
#[derive(Clone, Debug)]
pub struct MediaWiki {
    base: String,
    client: Client,
}

/// Searches an encyclopedia: the summaries of the best three articles.
#[derive(Clone, Debug, Default)]
pub struct Wiki(pub MediaWiki);

/// Returns one article of an encyclopedia by its title.
#[derive(Clone, Debug, Default)]
pub struct Lookup(pub MediaWiki);

/// Wikipedia: in Korean if the input of a call has Hangul, else in English.
impl Default for MediaWiki {
    fn default() -> Self {
        MediaWiki { base: DEFAULT_BASE.to_owned(), client: Client::new() }
    }
}

impl MediaWiki {
    /// Opens another MediaWiki, with or without `/w/api.php`. `{lang}` in the address becomes `ko` if the
    /// input has Hangul, else `en`.
    ///
    /// # Errors
    /// If that is not an HTTP address.
    pub fn at(base: &str) -> Result<Self, ToolError> {
        let base = base.trim().trim_end_matches('/');
        parse_address(&base.replace("{lang}", "en")).map_err(ToolError::input)?;
        let end = match base {
            base if base.ends_with("/api.php") => "",
            base if base.ends_with("/w") => "/api.php",
            _ => "/w/api.php",
        };
        Ok(MediaWiki { base: format!("{base}{end}"), client: Client::new() })
    }

    client_methods!();

    /// The address of the API in the language of `asked`.
    fn address_for(&self, asked: &str) -> String {
        let is_hangul =
            |c| matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}');
        self.base.replace("{lang}", if asked.contains(is_hangul) { "ko" } else { "en" })
    }

    /// Asks the API; `asked` decides the language, `fixed` are parameters that need no escaping.
    fn query(&self, call: &ToolCall<'_>, fixed: &str, name: &str, asked: &str) -> Result<Value, ToolError> {
        let (api, asked) = (self.address_for(asked), escape(asked));
        let url = format!("{api}?action=query&format=json&formatversion=2&utf8=1&{name}={asked}&{fixed}");
        let uri = parse_address(&url).map_err(ToolError::input)?;
        let answer = self.client.ask_for_call(&uri, None, call)?;
        if let Some(error) = answer.get("error") {
            let field = |name: &str| error[name].as_str().unwrap_or("unknown");
            let message = format!("the encyclopedia refused: {} ({})", field("info"), field("code"));
            return Err(ToolError::new("api", first_chars(&message, 500)));
        }
        if !answer.is_object() {
            let found = answer.to_string();
            let problem = format!("expected a JSON object, found {}", first_chars(&found, 80));
            return Err(ToolError::new(ToolErrorKind::Response, problem));
        }
        Ok(answer)
    }

    /// The article as an answer names it; `asked` decides the language, as it did in the request.
    fn cite(&self, asked: &str, title: &str) -> Source {
        let api = self.address_for(asked);
        let host = parse_address(&api).ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
        let name = escape(&title.replace(' ', "_"));
        let scripts = api.strip_suffix("/api.php").unwrap_or(&api);
        let top = scripts.strip_suffix("/w").filter(|_| host.ends_with(".wikipedia.org"));
        // Where articles have their addresses is a setting; the second every installation knows.
        let (document, url) = match top {
            Some(top) => ("Wikipedia".to_owned(), format!("{top}/wiki/{name}")),
            None => (host, format!("{scripts}/index.php?title={name}")),
        };
        Source { title: title.to_owned(), document: Some(document), part: None, url: Some(url) }
    }

    /// Says which titles are near, if the API knows some.
    fn explain_missing(&self, call: &ToolCall<'_>, title: &str) -> ToolError {
        // The titles are a courtesy: without them the answer is the same.
        let fixed = "list=search&srlimit=5&srnamespace=0&srprop=";
        let near = self.query(call, fixed, "srsearch", title).unwrap_or_default();
        let near = near["query"]["search"].as_array().into_iter().flatten();
        let near = near.map(|found| text_of(found, "title")).filter(|title| !title.is_empty()).take(5);
        let near: Vec<String> = near.map(|title| format!("{:?}", first_chars(title, 100))).collect();
        let are = if near.is_empty() { "" } else { "; near it are " };
        let problem = format!("no article has the title {title:?}{are}{}", near.join(", "));
        ToolError::new(ToolErrorKind::NotFound, problem)
    }
}

/// The text as it may stand in the path or the query of an address.
fn escape(text: &str) -> String {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~(),:".contains(&byte);
    let escape = |byte| if stays(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

/// The pages of an answer, best first; older installations send them by number.
fn list_pages(answer: &Value) -> Vec<&Value> {
    let mut pages: Vec<&Value> = match &answer["query"]["pages"] {
        Value::Array(pages) => pages.iter().collect(),
        Value::Object(pages) => pages.values().collect(),
        _ => Vec::new(),
    };
    pages.sort_by_key(|page| page["index"].as_i64().unwrap_or(i64::MAX));
    pages
}

fn text_of<'a>(page: &'a Value, field: &str) -> &'a str {
    page[field].as_str().unwrap_or_default().trim()
}

impl Tool for Wiki {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("wiki").expect("agents/tools.toml holds its contract")
    }

    /// `Page: <title>` and `Summary: <text>` for each article, a blank line between them.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let words = call.nonempty_text("words to look for")?;
        let fixed = "generator=search&gsrlimit=3&gsrnamespace=0&prop=extracts&exintro=1&explaintext=1\
                     &exlimit=3&redirects=1";
        let answer = self.0.query(call, fixed, "gsrsearch", words)?;
        let (mut shown, mut sources) = (String::new(), Vec::new());
        let titled = list_pages(&answer).into_iter().take(3).map(|page| (text_of(page, "title"), page));
        for (title, page) in titled.filter(|(title, _)| !title.is_empty()) {
            let gap = if shown.is_empty() { "" } else { "\n\n" };
            shown.push_str(&format!("{gap}Page: {title}\nSummary: "));
            // What begins behind the cut is not shown, so it is no source.
            if shown.chars().count() <= MAX_SUMMARY_CHARS {
                sources.push(self.0.cite(words, title));
            }
            let lines = text_of(page, "extract").lines().map(str::trim).filter(|line| !line.is_empty());
            shown.push_str(&lines.collect::<Vec<_>>().join("\n"));
        }
        if shown.is_empty() {
            return Ok("No article was found.".into());
        }
        Ok(ToolOutput::from_sources(first_chars(&shown, MAX_SUMMARY_CHARS), sources))
    }
}

impl Tool for Lookup {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("lookup").expect("agents/tools.toml holds its contract")
    }

    /// `Page: <title>`, then the article's text.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let title = call.nonempty_text("the title of an article")?;
        // The API would take it for several titles, or for none.
        if let Some(c) = title.chars().find(|c| "|#<>[]{}\u{1f}".contains(*c)) {
            return Err(ToolError::input(format!("expected a title, found {c:?} in {title:?}")));
        }
        let begun = Instant::now();
        let fixed = "prop=extracts&explaintext=1&exlimit=1&redirects=1";
        let answer = self.0.query(call, fixed, "titles", title)?;
        let pages = list_pages(&answer);
        let Some(page) = pages.first().filter(|page| page.get("missing").is_none()) else {
            // Both questions share the call's time.
            let left = call.timeout.unwrap_or(DEFAULT_TIMEOUT).saturating_sub(begun.elapsed());
            return Err(self.0.explain_missing(&ToolCall { timeout: Some(left), ..*call }, title));
        };
        if page.get("invalid").is_some() {
            let reason = first_chars(text_of(page, "invalidreason"), 200);
            return Err(ToolError::input(format!("expected a title, found {title:?}: {reason}")));
        }
        let article = text_of(page, "extract");
        if article.is_empty() {
            let problem = format!("the encyclopedia has {title:?} but gives no text of it");
            return Err(ToolError::new(ToolErrorKind::Response, problem));
        }
        let source = self.0.cite(title, text_of(page, "title"));
        let shown = format!("Page: {}\n{article}", source.title);
        Ok(ToolOutput::from_sources(first_chars(&shown, MAX_ARTICLE_CHARS), vec![source]))
    }
}

#[test]
fn articles_of_wikipedia_have_their_usual_addresses() {
    let source = MediaWiki::default().cite("유한 상태", "유한 상태 기계");
    assert_eq!((&*source.title, source.document.as_deref()), ("유한 상태 기계", Some("Wikipedia")));
    let name = "%EC%9C%A0%ED%95%9C_%EC%83%81%ED%83%9C_%EA%B8%B0%EA%B3%84";
    assert_eq!(source.url, Some(format!("https://ko.wikipedia.org/wiki/{name}")));
    let url = MediaWiki::default().cite("C++ (language)", "C++ (language)").url;
    assert_eq!(url.as_deref(), Some("https://en.wikipedia.org/wiki/C%2B%2B_(language)"));
}
