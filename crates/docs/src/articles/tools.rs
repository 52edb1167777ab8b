//! The four tools over the user's contract and the standard one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Articles;
use super::contract::{Contract, Meaning};
use super::find::{Reference, parse_reference};
use planwright::contract::{ToolContract, ToolEffect};
use planwright::ports::{Embedder, Secret, Tool, ToolCall, ToolError, ToolOutput, first_chars};

const MAX_FOUND: usize = 5;
/// Most articles of the standard contract that words find.
const MAX_STANDARD: usize = 3;
/// How far down each ranking goes that is fused.
const MAX_RANKED: usize = 50;
const MAX_REASON_CHARS: usize = 200;

/// The tools that read a contract and the standard contract it is compared with.
///
/// ```
/// use planwright::ports::{Tool, ToolCall};
/// use planwright_docs::{Articles, ContractTools};
/// use serde_json::json;
///
/// let contracts = ContractTools::new(Articles::example(), Articles::example_standard(), None);
/// let input = json!("제1조");
/// let call = ToolCall::new(&input, "run/1");
/// let tools = contracts.tools();
/// let by_index = tools.iter().find(|tool| tool.contract().name == "get_article_by_index").unwrap();
/// let found = by_index.call(&call)?;
/// assert_eq!(found.sources[0].part, Some(contracts.outline()[1].clone()));
/// # Ok::<(), planwright::ports::ToolError>(())
/// ```
#[derive(Clone)]
pub struct ContractTools {
    user: Arc<Contract>,
    standard: Arc<Contract>,
    meaning: Option<Arc<Meaning>>,
}

impl ContractTools {
    /// The tools over these contracts. With an embedder `hybrid_search` finds parts by meaning as well as
    /// by words, and the texts of the user's contract go to that embedder.
    pub fn new(user: Articles, standard: Articles, embedder: Option<Arc<dyn Embedder>>) -> Self {
        ContractTools {
            user: Arc::new(Contract::of(true, user)),
            standard: Arc::new(Contract::of(false, standard)),
            meaning: embedder.map(|embedder| Arc::new(Meaning::of(embedder))),
        }
    }

    /// What there is to be read of the user's contract; see [`Articles::outline`].
    pub fn outline(&self) -> Vec<String> {
        self.user.articles.outline()
    }

    /// `hybrid_search`, `get_article_by_index`, `get_article_by_title` and `lookup_standard_contract`.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |name, find: Find, contract: &Arc<Contract>, meaning| -> Arc<dyn Tool> {
            Arc::new(ContractTool { name, find, contract: Arc::clone(contract), meaning })
        };
        vec![
            tool("hybrid_search", ContractTool::search, &self.user, self.meaning.clone()),
            tool("get_article_by_index", ContractTool::find_numbers, &self.user, None),
            tool("get_article_by_title", ContractTool::find_title, &self.user, None),
            tool("lookup_standard_contract", ContractTool::look_up, &self.standard, None),
        ]
    }
}

impl fmt::Debug for ContractTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, standard) = (&self.user.articles, &self.standard.articles);
        let mut shown = f.debug_struct("ContractTools");
        shown.field("user", user).field("standard", standard).finish_non_exhaustive()
    }
}

struct ContractTool {
    name: &'static str,
    find: Find,
    contract: Arc<Contract>,
    meaning: Option<Arc<Meaning>>,
}

type Find = fn(&ContractTool, &ToolCall<'_>) -> Result<Found, ToolError>;

/// The places of parts, and what is to be said about them.
type Found = (Vec<usize>, Vec<String>);

impl Tool for ContractTool {
    /// Without an embedder nothing leaves the machine.
    fn contract(&self) -> ToolContract {
        let contract = planwright::agents::tool(self.name).expect("agents/tools.toml holds its contract");
        let effect = if self.meaning.is_some() { contract.effect } else { ToolEffect::Pure };
        ToolContract { effect, ..contract }
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let (found, notes) = (self.find)(self, call)?;
        Ok(self.contract.answer(&found, &notes, call.max_output_bytes))
    }

    fn secrets(&self) -> Vec<Secret> {
        self.meaning.as_ref().map(|meaning| meaning.embedder.secrets()).unwrap_or_default()
    }
}

impl ContractTool {
    fn search(&self, call: &ToolCall<'_>) -> Result<Found, ToolError> {
        let query = call.nonempty_text("words to look for")?;
        let mut notes = Vec::new();
        let by_words = self.contract.search(query, MAX_RANKED)?;
        let stop = || call.is_abandoned();
        let nearest =
            |meaning: &Arc<Meaning>| meaning.nearest(&self.contract.articles, query, MAX_RANKED, &stop);
        let by_meaning = self.meaning.as_ref().map_or(Ok(Vec::new()), nearest).unwrap_or_else(|error| {
            let reason = error.to_string();
            notes.push(format!("searched by words alone: {}", first_chars(&reason, MAX_REASON_CHARS)));
            Vec::new()
        });
        let mut found = fuse_rankings(&[&by_words, &by_meaning]);
        found.truncate(MAX_FOUND);
        if found.is_empty() {
            notes.push(format!("nothing was found; there are {}", self.contract.list_parts()));
        }
        Ok((found, notes))
    }

    fn find_numbers(&self, call: &ToolCall<'_>) -> Result<Found, ToolError> {
        // Models send the number as a number, too.
        let number = call.input.as_u64().map(|number| number.to_string());
        let input = number.as_deref().map_or_else(|| call.nonempty_text("the number of an article"), Ok)?;
        if let Some(part) = self.contract.articles.find_by_name(input) {
            return Ok((vec![part], Vec::new()));
        }
        let asked = parse_reference(input);
        if asked.numbers.is_empty() {
            let expected = "expected the number of an article such as 5, 제5조의2 or Article 5";
            let (found, parts) = (first_chars(input, 100), self.contract.list_parts());
            return Err(ToolError::input(format!("{expected}, found {found:?}; there are {parts}")));
        }
        self.find_articles(&asked, input)
    }

    fn find_title(&self, call: &ToolCall<'_>) -> Result<Found, ToolError> {
        let input = call.nonempty_text("the title of an article")?;
        let similar = || self.contract.articles.similar_titles(&parse_reference(input).words);
        let found = self.find_named(input).ok_or_else(|| self.contract.not_found(input, &similar()))?;
        Ok((found, Vec::new()))
    }

    fn look_up(&self, call: &ToolCall<'_>) -> Result<Found, ToolError> {
        let input = call.nonempty_text("the number or the title of an article, or words to look for")?;
        if let Some(found) = self.find_named(input) {
            return Ok((found, Vec::new()));
        }
        let asked = parse_reference(input);
        let by_words = self.contract.search(&asked.words, MAX_STANDARD)?;
        if by_words.is_empty() {
            return Ok((self.find_articles(&asked, input)?.0, Vec::new()));
        }
        Ok((by_words, vec!["found by its words: no article has that number or title".to_owned()]))
    }

    /// The articles of the numbers in a reference, of which at least one must be there.
    fn find_articles(&self, asked: &Reference, input: &str) -> Result<Found, ToolError> {
        let (mut found, mut notes) = (Vec::new(), Vec::new());
        for number in &asked.numbers {
            let places = self.contract.articles.find_by_number(*number, &asked.before);
            match places.len() {
                0 => notes.push(format!("there is no article {number}")),
                1 => {}
                count => notes.push(format!("there are {count} articles {number}")),
            }
            found.extend(places);
        }
        if found.is_empty() { Err(self.contract.not_found(input, &[])) } else { Ok((found, notes)) }
    }

    /// The parts that an input names: as the outline does, by a title, or by a number alone.
    fn find_named(&self, input: &str) -> Option<Vec<usize>> {
        let articles = &self.contract.articles;
        if let Some(part) = articles.find_by_name(input) {
            return Some(vec![part]);
        }
        let asked = parse_reference(input);
        let titled = [input, &asked.words].into_iter().map(|title| articles.find_by_title(title));
        if let Some(found) = titled.into_iter().find(|found| !found.is_empty()) {
            return Some(found);
        }
        if asked.words.chars().any(char::is_alphanumeric) {
            return None;
        }
        let asked = Reference { before: String::new(), ..asked };
        Some(self.find_articles(&asked, input).ok()?.0)
    }
}

/// Ranks count less the further down they are; this softens the first ones (Cormack et al., 2009).
const SOFTENING: f64 = 60.0;

/// The places in the order of their summed reciprocal ranks; equal sums in the order of the places.
fn fuse_rankings(rankings: &[&[usize]]) -> Vec<usize> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for (rank, place) in rankings.iter().flat_map(|ranking| (1_u32..).zip(*ranking)) {
        *sums.entry(*place).or_default() += 1.0 / (SOFTENING + f64::from(rank));
    }
    let mut places: Vec<(usize, f64)> = sums.into_iter().collect();
    // Stable, and the places come in order.
    places.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    places.into_iter().map(|(place, _)| place).collect()
}
