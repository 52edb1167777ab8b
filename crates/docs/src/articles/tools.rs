//! The four tools over the user's contract and the standard one.

use std::fmt;
use std::sync::Arc;

use super::answer::answer;
use super::find::named;
use super::fuse::fused;
use super::meaning::Meaning;
use super::shelf::{Shelf, Whose};
use super::{ArticleNumber, Articles};
use planwright::contract::{ToolContract, ToolEffect};
use planwright::ports::Embedder;
use planwright::ports::first_chars as cut;
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolOutput};

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
        vec![
            Arc::new(HybridSearch { user: Arc::clone(&self.user), meaning: self.meaning.clone() }),
            Arc::new(ByIndex(Arc::clone(&self.user))),
            Arc::new(ByTitle(Arc::clone(&self.user))),
            Arc::new(LookupStandard(Arc::clone(&self.standard))),
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

/// Parts of the user's contract by words and, with an embedder, by meaning.
struct HybridSearch {
    user: Arc<Shelf>,
    meaning: Option<Arc<Meaning>>,
}

impl Tool for HybridSearch {
    /// Without an embedder nothing leaves the machine.
    fn contract(&self) -> ToolContract {
        let contract =
            planwright::agents::tool("hybrid_search").expect("agents/tools.toml holds its contract");
        match self.meaning {
            Some(_) => contract,
            None => ToolContract { effect: ToolEffect::Pure, ..contract },
        }
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let query = call.nonempty_text("words to look for")?;
        let mut notes = Vec::new();
        let by_words = self.user.by_words(query, MAX_RANKED)?;
        let near =
            self.meaning.as_ref().map(|meaning| meaning.nearest(&self.user.articles, query, MAX_RANKED));
        let by_meaning = match near {
            None => Vec::new(),
            Some(Ok(near)) => near,
            Some(Err(error)) => {
                let reason = error.to_string();
                notes.push(format!("searched by words alone: {}", cut(&reason, MAX_REASON_CHARS)));
                Vec::new()
            }
        };
        let mut found = fused(&[&by_words, &by_meaning]);
        found.truncate(MAX_FOUND);
        if found.is_empty() {
            notes.push(format!("nothing was found; there are {}", self.user.holds()));
        }
        Ok(answer(&self.user, &found, notes, call.max_output_bytes))
    }

    fn secrets(&self) -> Vec<Secret> {
        self.meaning.as_ref().map(|meaning| meaning.secrets()).unwrap_or_default()
    }
}

/// Articles of the user's contract by number.
struct ByIndex(Arc<Shelf>);

impl Tool for ByIndex {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("get_article_by_index").expect("agents/tools.toml holds its contract")
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        // Models send the number as a number, too.
        let number = call.input.as_u64().map(|number| number.to_string());
        let input = match &number {
            Some(number) => number.as_str(),
            None => call.nonempty_text("the number of an article")?,
        };
        if let Some(part) = self.0.articles.called(input) {
            return Ok(answer(&self.0, &[part], Vec::new(), call.max_output_bytes));
        }
        let asked = named(input);
        if asked.numbers.is_empty() {
            let found: String = input.chars().take(100).collect();
            let problem = format!(
                "expected the number of an article such as 5, 제5조의2 or Article 5, found {found:?}; there are {}",
                self.0.holds()
            );
            return Err(ToolError::new("input", problem));
        }
        let (found, notes) = numbered(&self.0, &asked.numbers, &asked.before);
        if found.is_empty() {
            return Err(self.0.not_found(input, &[]));
        }
        Ok(answer(&self.0, &found, notes, call.max_output_bytes))
    }
}

/// The places of the articles of these numbers, and what is to be said about them.
fn numbered(shelf: &Shelf, numbers: &[ArticleNumber], before: &str) -> (Vec<usize>, Vec<String>) {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for number in numbers {
        let places = shelf.articles.numbered(*number, before);
        match places.len() {
            0 => notes.push(format!("there is no article {number}")),
            1 => {}
            count => notes.push(format!("there are {count} articles {number}")),
        }
        found.extend(places);
    }
    (found, notes)
}

/// Articles of the user's contract by title.
struct ByTitle(Arc<Shelf>);

impl Tool for ByTitle {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("get_article_by_title").expect("agents/tools.toml holds its contract")
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let input = call.nonempty_text("the title of an article")?;
        let found = by_name(&self.0, input)
            .ok_or_else(|| self.0.not_found(input, &self.0.articles.near(&named(input).words)))?;
        Ok(answer(&self.0, &found, Vec::new(), call.max_output_bytes))
    }
}

/// The places of the parts that an input names: as the outline does, by a title, or by a number alone. A
/// title beside a number goes first: numbers differ from contract to contract.
fn by_name(shelf: &Shelf, input: &str) -> Option<Vec<usize>> {
    let articles = &shelf.articles;
    let asked = named(input);
    let outlined = articles.called(input).map(|part| vec![part]);
    let found = outlined.unwrap_or_else(|| {
        let whole = articles.titled(input);
        if whole.is_empty() { articles.titled(&asked.words) } else { whole }
    });
    if found.is_empty() && !asked.words.chars().any(char::is_alphanumeric) {
        return Some(numbered(shelf, &asked.numbers, "").0).filter(|found| !found.is_empty());
    }
    Some(found).filter(|found| !found.is_empty())
}

/// Articles of the standard contract by number, title or words.
struct LookupStandard(Arc<Shelf>);

impl Tool for LookupStandard {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("lookup_standard_contract").expect("agents/tools.toml holds its contract")
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let input = call.nonempty_text("the number or the title of an article, or words to look for")?;
        let mut notes = Vec::new();
        let found = match by_name(&self.0, input) {
            Some(found) => found,
            None => {
                let asked = named(input);
                let by_words = self.0.by_words(&asked.words, MAX_STANDARD)?;
                if by_words.is_empty() {
                    numbered(&self.0, &asked.numbers, &asked.before).0
                } else {
                    notes.push("found by its words: no article has that number or title".to_owned());
                    by_words
                }
            }
        };
        if found.is_empty() {
            return Err(self.0.not_found(input, &[]));
        }
        Ok(answer(&self.0, &found, notes, call.max_output_bytes))
    }
}
