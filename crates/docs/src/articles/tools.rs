//! The four tools over the user's contract and the standard one.

use std::fmt;
use std::sync::Arc;

use super::Articles;
use super::answer::answer;
use super::find::{Reference, parse_reference};
use super::meaning::{Meaning, fuse_rankings};
use super::shelf::{Shelf, Whose};
use planwright::contract::{ToolContract, ToolEffect};
use planwright::ports::Embedder;
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolOutput, first_chars};

/// Most parts that a search returns.
const MAX_FOUND: usize = 5;
/// Most articles of the standard contract that words find.
const MAX_STANDARD: usize = 3;
/// How far down each ranking goes that is fused.
const MAX_RANKED: usize = 50;
/// Most characters of what an embedder says about its failure.
const MAX_REASON_CHARS: usize = 200;

/// The tools that read a contract and the standard contract it is compared with.
///
/// ```
/// use planwright::ports::{Tool, ToolCall};
/// use planwright_docs::{Articles, ContractTools};
/// use planwright::ports::ToolBox;
/// use serde_json::json;
///
/// let contracts = ContractTools::new(Articles::example(), Articles::example_standard(), None);
/// let mut tools = ToolBox::new();
/// for tool in contracts.tools() {
///     tools.insert(tool);
/// }
///
/// let input = json!("제1조");
/// let call = ToolCall { input: &input, idempotency_key: "run/1", timeout: None, max_output_bytes: 16_000, once: false };
/// let found = tools.get("get_article_by_index").unwrap().call(&call)?;
/// assert_eq!(found.sources[0].part, Some(contracts.outline()[1].clone()));
/// # Ok::<(), planwright::ports::ToolError>(())
/// ```
#[derive(Clone)]
pub struct ContractTools {
    user: Arc<Shelf>,
    standard: Arc<Shelf>,
    meaning: Option<Arc<Meaning>>,
}

impl ContractTools {
    /// The tools over these contracts. With an embedder `hybrid_search` finds parts by meaning as well as
    /// by words, and the texts of the user's contract go to that embedder.
    pub fn new(user: Articles, standard: Articles, embedder: Option<Arc<dyn Embedder>>) -> Self {
        ContractTools {
            user: Arc::new(Shelf::of(Whose::User, user)),
            standard: Arc::new(Shelf::of(Whose::Standard, standard)),
            meaning: embedder.map(|embedder| Arc::new(Meaning::of(embedder))),
        }
    }

    /// What there is to be read of the user's contract; see [`Articles::outline`].
    pub fn outline(&self) -> Vec<String> {
        self.user.articles.outline()
    }

    /// The user's contract.
    pub fn user(&self) -> &Articles {
        &self.user.articles
    }

    /// The contract it is compared with.
    pub fn standard(&self) -> &Articles {
        &self.standard.articles
    }

    /// `hybrid_search`, `get_article_by_index`, `get_article_by_title` and `lookup_standard_contract`.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |kind, shelf: &Arc<Shelf>| -> Arc<dyn Tool> {
            let meaning = self.meaning.clone().filter(|_| kind == Kind::HybridSearch);
            Arc::new(ContractTool { kind, shelf: Arc::clone(shelf), meaning })
        };
        vec![
            tool(Kind::HybridSearch, &self.user),
            tool(Kind::ByIndex, &self.user),
            tool(Kind::ByTitle, &self.user),
            tool(Kind::LookupStandard, &self.standard),
        ]
    }
}

impl fmt::Debug for ContractTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, standard) = (self.user(), self.standard());
        f.debug_struct("ContractTools")
            .field("user", user)
            .field("standard", standard)
            .finish_non_exhaustive()
    }
}

/// What a tool looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Parts by words and, with an embedder, by meaning.
    HybridSearch,
    /// Articles by number.
    ByIndex,
    /// Articles by title.
    ByTitle,
    /// Articles of the standard contract by number, title or words.
    LookupStandard,
}

struct ContractTool {
    kind: Kind,
    shelf: Arc<Shelf>,
    meaning: Option<Arc<Meaning>>,
}

/// The places of parts, and what is to be said about them.
type Found = (Vec<usize>, Vec<String>);

impl Tool for ContractTool {
    /// Without an embedder nothing leaves the machine.
    fn contract(&self) -> ToolContract {
        let name = match self.kind {
            Kind::HybridSearch => "hybrid_search",
            Kind::ByIndex => "get_article_by_index",
            Kind::ByTitle => "get_article_by_title",
            Kind::LookupStandard => "lookup_standard_contract",
        };
        let contract = planwright::agents::tool(name).expect("agents/tools.toml holds its contract");
        let effect = if self.meaning.is_some() { contract.effect } else { ToolEffect::Pure };
        ToolContract { effect, ..contract }
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let (found, notes) = match self.kind {
            Kind::HybridSearch => self.search(call.nonempty_text("words to look for")?),
            // Models send the number as a number, too.
            Kind::ByIndex => match call.input.as_u64() {
                Some(number) => self.find_numbers(&number.to_string()),
                None => self.find_numbers(call.nonempty_text("the number of an article")?),
            },
            Kind::ByTitle => self.find_title(call.nonempty_text("the title of an article")?),
            Kind::LookupStandard => self
                .look_up(call.nonempty_text("the number or the title of an article, or words to look for")?),
        }?;
        Ok(answer(&self.shelf, &found, &notes, call.max_output_bytes))
    }

    fn secrets(&self) -> Vec<Secret> {
        self.meaning.as_ref().map(|meaning| meaning.secrets()).unwrap_or_default()
    }
}

impl ContractTool {
    fn search(&self, query: &str) -> Result<Found, ToolError> {
        let mut notes = Vec::new();
        let by_words = self.shelf.by_words(query, MAX_RANKED)?;
        let near =
            self.meaning.as_ref().map(|meaning| meaning.nearest(&self.shelf.articles, query, MAX_RANKED));
        let by_meaning = near.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
            let reason = error.to_string();
            notes.push(format!("searched by words alone: {}", first_chars(&reason, MAX_REASON_CHARS)));
            Vec::new()
        });
        let mut found = fuse_rankings(&[&by_words, &by_meaning]);
        found.truncate(MAX_FOUND);
        if found.is_empty() {
            notes.push(format!("nothing was found; there are {}", self.shelf.holds()));
        }
        Ok((found, notes))
    }

    fn find_numbers(&self, input: &str) -> Result<Found, ToolError> {
        if let Some(part) = self.shelf.articles.called(input) {
            return Ok((vec![part], Vec::new()));
        }
        let asked = parse_reference(input);
        if asked.numbers.is_empty() {
            return Err(ToolError::input(format!(
                "expected the number of an article such as 5, 제5조의2 or Article 5, found {:?}; there are {}",
                first_chars(input, 100),
                self.shelf.holds()
            )));
        }
        let found = self.numbered(&asked);
        if found.0.is_empty() { Err(self.shelf.not_found(input, &[])) } else { Ok(found) }
    }

    fn find_title(&self, input: &str) -> Result<Found, ToolError> {
        let near = || self.shelf.articles.near(&parse_reference(input).words);
        let found = self.by_name(input).ok_or_else(|| self.shelf.not_found(input, &near()))?;
        Ok((found, Vec::new()))
    }

    fn look_up(&self, input: &str) -> Result<Found, ToolError> {
        if let Some(found) = self.by_name(input) {
            return Ok((found, Vec::new()));
        }
        let asked = parse_reference(input);
        let by_words = self.shelf.by_words(&asked.words, MAX_STANDARD)?;
        if !by_words.is_empty() {
            return Ok((
                by_words,
                vec!["found by its words: no article has that number or title".to_owned()],
            ));
        }
        let (found, _) = self.numbered(&asked);
        if found.is_empty() { Err(self.shelf.not_found(input, &[])) } else { Ok((found, Vec::new())) }
    }

    /// The articles of the numbers in a reference.
    fn numbered(&self, asked: &Reference) -> Found {
        let (mut found, mut notes) = (Vec::new(), Vec::new());
        for number in &asked.numbers {
            let places = self.shelf.articles.numbered(*number, &asked.before);
            match places.len() {
                0 => notes.push(format!("there is no article {number}")),
                1 => {}
                count => notes.push(format!("there are {count} articles {number}")),
            }
            found.extend(places);
        }
        (found, notes)
    }

    /// The parts that an input names: as the outline does, by a title, or by a number alone. A title beside
    /// a number goes first: numbers differ from contract to contract.
    fn by_name(&self, input: &str) -> Option<Vec<usize>> {
        let articles = &self.shelf.articles;
        if let Some(part) = articles.called(input) {
            return Some(vec![part]);
        }
        let asked = parse_reference(input);
        let titled = || articles.titled(&asked.words);
        let mut found = Some(articles.titled(input)).filter(|found| !found.is_empty()).unwrap_or_else(titled);
        if found.is_empty() && !asked.words.chars().any(char::is_alphanumeric) {
            found = self.numbered(&Reference { before: String::new(), ..asked }).0;
        }
        Some(found).filter(|found| !found.is_empty())
    }
}
