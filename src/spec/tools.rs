//! The shipped tools and step agents, which a spec may name instead of declaring them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use super::parse::parse_toml;
use crate::contract::ToolContract;

/// One of the lists of what is shipped.
pub(super) fn shipped<T: DeserializeOwned>(list: &str) -> Vec<T> {
    let sound =
        "the tests `every_shipped_tool_contract_is_sound` and `summary_is_a_step_by_its_name` read it";
    let mut file: Value = parse_toml(include_str!("../agents/tools.toml")).expect(sound);
    serde_json::from_value(file[list].take()).expect(sound)
}

/// The contract of a shipped tool.
pub fn tool(name: &str) -> Option<ToolContract> {
    tools().into_iter().find(|tool| tool.name == name)
}

/// The contracts of the shipped tools.
pub fn tools() -> Vec<ToolContract> {
    static TOOLS: LazyLock<Vec<ToolContract>> = LazyLock::new(|| shipped("tools"));
    TOOLS.clone()
}

/// What a spec may name instead of declaring it.
pub(super) trait Shipped: DeserializeOwned {
    const EXPECTED: &'static str;
    fn all() -> Vec<Self>;
    fn name(&self) -> &str;
}

impl Shipped for ToolContract {
    const EXPECTED: &'static str = "a contract";

    fn all() -> Vec<Self> {
        tools()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Deserializes a list of what is declared and of the names of what is shipped.
pub(super) fn deserialize_list<'de, D: Deserializer<'de>, T: Shipped>(source: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::deserialize(source)?.into_iter().map(|ListEntry(entry)| entry).collect())
}

struct ListEntry<T>(T);

impl<'de, T: Shipped> Deserialize<'de> for ListEntry<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(EntryVisitor(PhantomData)).map(ListEntry)
    }
}

struct EntryVisitor<T>(PhantomData<T>);

impl<'de, T: Shipped> Visitor<'de> for EntryVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of what is shipped or {}", T::EXPECTED)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        let shipped = T::all();
        let known: Vec<&str> = shipped.iter().map(T::name).collect();
        let problem = format!("expected {} or one of {}, found {name:?}", T::EXPECTED, known.join(", "));
        shipped.into_iter().find(|known| known.name() == name).ok_or_else(|| E::custom(problem))
    }

    fn visit_map<A: MapAccess<'de>>(self, declared: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(declared))
    }
}
