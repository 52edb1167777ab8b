//! Where a run stands in a distributed trace, as the header `traceparent` of W3C says it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::spec::Digest;

/// A span of a trace: what calls on its behalf are told, so that their spans hang under it.
///
/// ```
/// use planwright::prompt::TraceContext;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let parent: TraceContext = header.parse()?;
/// assert_eq!(parent.to_string(), header);
/// let run = TraceContext::of_run("5f1c", Some(&parent));
/// assert_eq!(run.trace_id, parent.trace_id);
/// assert_eq!(run, TraceContext::of_run("5f1c", Some(&parent)), "the ids follow from the run");
/// assert_ne!(run.child("5f1c", "plan.1.1").span_id, run.span_id);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The span in it.
    pub span_id: [u8; 8],
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl TraceContext {
    /// The span of a whole run: in the trace of the request that began it, or in one of its own.
    pub fn of_run(run: &str, parent: Option<&TraceContext>) -> Self {
        let own = || make_id(&Digest::of([b"planwright-trace".as_slice(), run.as_bytes()]));
        TraceContext {
            trace_id: parent.map_or_else(own, |parent| parent.trace_id),
            span_id: make_span_id(run, ""),
            sampled: parent.is_none_or(|parent| parent.sampled),
        }
    }

    /// A span of the run's, by the id of the effect or the step that it is of.
    #[must_use]
    pub fn child(&self, run: &str, of: &str) -> Self {
        TraceContext { span_id: make_span_id(run, of), ..*self }
    }
}

fn make_span_id(run: &str, of: &str) -> [u8; 8] {
    let digest = Digest::of([b"planwright-span".as_slice(), run.as_bytes(), of.as_bytes()]);
    make_id(&digest)
}

/// The beginning of a digest. An id of nothing but zeros is none.
fn make_id<const N: usize>(digest: &Digest) -> [u8; N] {
    let mut id = std::array::from_fn(|at| digest.bytes()[at]);
    id[N - 1] |= u8::from(id == [0; N]);
    id
}

/// The value of the header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-")?;
        self.span_id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-{:02x}", u8::from(self.sampled))
    }
}

impl FromStr for TraceContext {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let mut parts = text.splitn(5, '-');
            let [version] = parse_hex::<1>(parts.next()?)?;
            let (trace_id, span_id) = (parse_hex::<16>(parts.next()?)?, parse_hex::<8>(parts.next()?)?);
            let [flags] = parse_hex::<1>(parts.next()?)?;
            // A later version may say more behind its flags.
            let fits = version != 0xff && (version > 0 || parts.next().is_none());
            let is_one = trace_id != [0; 16] && span_id != [0; 8];
            (fits && is_one).then_some(TraceContext { trace_id, span_id, sampled: flags & 1 == 1 })
        };
        parse().ok_or_else(|| format!("expected a traceparent like \"00-…-…-01\", found {text:?}"))
    }
}

/// Bytes in lower-case hexadecimal digits.
fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.bytes().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

impl Serialize for TraceContext {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceContext {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}
