//! How two texts and two values differ, in words that people read.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use serde::Serialize;
use serde_json::Value;

use super::asked::Asked;
use super::lines::lines_of;
use planwright::contract::excerpt;

/// How many differences are written out, and in how many lines each.
const MOST_DIFFS: usize = 200;
const MOST_LINES: usize = 200;
/// How much of a value is shown beside the other, in characters.
const CHARS: usize = 400;

/// How two values differ.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Difference {
    /// What differs: `question`, `agent`, `answer`, `error`, `status`, `instructions`, `request`, `input`, `reply`,
    /// `planned` or `output`.
    pub what: &'static str,
    /// Whose instructions.
    pub of: Option<String>,
    /// The one, or its beginning; empty where many differences came before.
    pub a: String,
    /// The other.
    pub b: String,
    /// A unified diff of both whole; empty where many came before.
    pub diff: String,
}

/// How many differences were written out.
#[derive(Default)]
pub(super) struct Diffs(usize);

impl Diffs {
    pub fn of_values(&mut self, what: &'static str, a: &Value, b: &Value) -> Option<Difference> {
        (a != b).then(|| self.write(what, || [a, b].map(lines_of)))
    }

    pub fn of_asked(&mut self, what: &'static str, a: &Asked, b: &Asked) -> Option<Difference> {
        (a != b).then(|| self.write(what, || [a, b].map(Asked::text)))
    }

    pub fn of(&mut self, what: &'static str, a: &str, b: &str) -> Option<Difference> {
        (a != b).then(|| self.write(what, || [a, b].map(str::to_owned)))
    }

    fn write(&mut self, what: &'static str, texts: impl FnOnce() -> [String; 2]) -> Difference {
        self.0 += 1;
        if self.0 > MOST_DIFFS {
            let (a, b, diff) = Default::default();
            return Difference { what, of: None, a, b, diff };
        }
        let [a, b] = texts();
        let whole = diff_text(&a, &b, 1);
        let mut diff = whole.lines().take(MOST_LINES).collect::<Vec<_>>().join("\n");
        let more = whole.lines().count().saturating_sub(MOST_LINES);
        diff.push_str(&if more > 0 { format!("\n… {more} more lines") } else { String::new() });
        Difference { what, of: None, a: excerpt(&a, CHARS), b: excerpt(&b, CHARS), diff }
    }
}

/// What is the same in all requests of a role: its system message as it is, and the rest as JSON.
pub(super) fn instructions(frame: &Value) -> String {
    let mut rest = frame.clone();
    let system = rest.as_object_mut().and_then(|fields| fields.shift_remove("system"));
    format!("{}\n{rest:#}", lines_of(&system.unwrap_or_default()))
}

/// How two texts differ, line by line, as a unified diff with so many lines of context.
pub fn diff_text(old: &str, new: &str, context: u32) -> String {
    let (old, new) = (old.to_owned() + "\n", new.to_owned() + "\n");
    let lines = InternedInput::new(old.as_str(), new.as_str());
    let mut changes = Diff::compute(Algorithm::Myers, &lines);
    changes.postprocess_lines(&lines);
    let printer = BasicLineDiffPrinter(&lines.interner);
    let mut config = UnifiedDiffConfig::default();
    config.context_len(context);
    changes.unified_diff(&printer, config, &lines).to_string()
}
