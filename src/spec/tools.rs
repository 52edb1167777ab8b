//! The contracts of the shipped tools, by which a spec may name a tool instead of declaring it.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::contract::ToolContract;

/// The contract of a shipped tool.
pub fn tool(name: &str) -> Option<ToolContract> {
    tools().into_iter().find(|tool| tool.name == name)
}

/// The contracts of the shipped tools.
pub fn tools() -> Vec<ToolContract> {
    #[derive(Deserialize)]
    struct ToolsFile {
        tools: Vec<ToolContract>,
    }
    let file: ToolsFile = toml::from_str(include_str!("../agents/tools.toml"))
        .expect("the test `every_shipped_tool_contract_is_sound` reads it");
    file.tools
}

/// Reads a list of tool contracts and names of shipped tools.
pub(super) fn deserialize_tools<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<ToolContract>, D::Error> {
    Ok(Vec::deserialize(source)?.into_iter().map(|ToolEntry(tool)| tool).collect())
}

struct ToolEntry(ToolContract);

impl<'de> Deserialize<'de> for ToolEntry {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ToolEntryVisitor).map(ToolEntry)
    }
}

struct ToolEntryVisitor;

impl<'de> Visitor<'de> for ToolEntryVisitor {
    type Value = ToolContract;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a shipped tool or a tool contract")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<ToolContract, E> {
        tool(name).ok_or_else(|| {
            let known: Vec<String> = tools().into_iter().map(|tool| tool.name).collect();
            E::custom(format!("expected a contract or one of {}, found {name:?}", known.join(", ")))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, contract: A) -> Result<ToolContract, A::Error> {
        ToolContract::deserialize(MapAccessDeserializer::new(contract))
    }
}
