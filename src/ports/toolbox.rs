//! The tools that a run may call, by name.

use std::fmt;
use std::sync::Arc;

use super::secret::Secret;
use super::tool::Tool;
use crate::contract::ToolContract;

/// The tools that a run may call, in the order in which they were put in.
///
/// A tool's name is its contract's, read once when the tool is put in. Cloning shares the tools.
///
/// ```
/// use planwright::contract::{ToolContract, ToolEffect};
/// use planwright::ports::{FnTool, ToolBox};
///
/// let contract = ToolContract::text("shout", "Says it louder.", ToolEffect::Pure);
/// let tools = ToolBox::new().with(FnTool::new(contract, |call| Ok(call.text()?.to_uppercase())));
///
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["shout"]);
/// assert!(tools.get("shout").is_some());
/// assert!(tools.get("whisper").is_none());
/// ```
#[derive(Clone, Default)]
pub struct ToolBox {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    contract: ToolContract,
    tool: Arc<dyn Tool>,
}

impl ToolBox {
    /// An empty box.
    pub fn new() -> Self {
        ToolBox::default()
    }

    /// The box with one more tool in it; see [`insert`](ToolBox::insert).
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.insert(Arc::new(tool));
        self
    }

    /// Puts a tool in. One of the same name is replaced where it stands and handed back. This may be
    /// done at any time; a run that has begun keeps the contracts it began with.
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let contract = tool.contract();
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.contract.name == contract.name) {
            entry.contract = contract;
            return Some(std::mem::replace(&mut entry.tool, tool));
        }
        self.entries.push(Entry { contract, tool });
        None
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entries.iter().find(|entry| entry.contract.name == name).map(|entry| &entry.tool)
    }

    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.contract.name.as_str())
    }

    /// The contracts of the tools.
    pub fn contracts(&self) -> Vec<ToolContract> {
        self.entries.iter().map(|entry| entry.contract.clone()).collect()
    }

    /// The keys that the tools are configured with.
    pub fn secrets(&self) -> Vec<Secret> {
        self.entries.iter().flat_map(|entry| entry.tool.secrets()).collect()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl fmt::Debug for ToolBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
