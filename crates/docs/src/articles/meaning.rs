//! Search by meaning: the vectors of a contract's parts, and the parts nearest to a question. Vectors are
//! asked for on the first search and kept; a failure is not, so the next search tries again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Article, Articles};
use planwright::ports::{Embedder, ToolError, ToolErrorKind, first_chars};

/// A contract of more parts is searched by words alone.
const MAX_EMBEDDED: usize = 2_000;
/// What of one part becomes its vector, in characters.
const MAX_EMBEDDED_CHARS: usize = 2_000;
/// Most texts that are handed over at once.
const BATCH: usize = 64;

pub(super) struct Meaning {
    pub embedder: Arc<dyn Embedder>,
    vectors: Mutex<Option<Arc<Vec<Vec<f32>>>>>,
}

impl Meaning {
    pub fn of(embedder: Arc<dyn Embedder>) -> Self {
        Meaning { embedder, vectors: Mutex::default() }
    }

    /// The places of the parts nearest to a question, nearest first, equally near ones in their order.
    pub fn nearest(&self, articles: &Articles, question: &str, most: usize) -> Result<Vec<usize>, ToolError> {
        let vectors = self.vectors(articles.parts())?;
        let asked = self.embed(&[first_chars(question, MAX_EMBEDDED_CHARS).to_owned()])?;
        check_lengths(asked.iter().chain(vectors.first()))?;
        let near = asked.iter().flat_map(|asked| vectors.iter().map(|vector| cosine(asked, vector)));
        let mut near: Vec<(usize, f64)> = near.enumerate().filter(|(_, near)| *near > 0.0).collect();
        near.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Ok(near.into_iter().take(most).map(|(at, _)| at).collect())
    }

    /// The vectors of the parts. Searches that run side by side wait for the one that asks.
    fn vectors(&self, parts: &[Article]) -> Result<Arc<Vec<Vec<f32>>>, ToolError> {
        let mut kept = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vectors) = &*kept {
            return Ok(Arc::clone(vectors));
        }
        if parts.len() > MAX_EMBEDDED {
            let found = parts.len();
            let problem = format!("expected a contract of at most {MAX_EMBEDDED} parts, found {found}");
            return Err(ToolError::new(ToolErrorKind::Limit, problem));
        }
        let text = |part: &Article| {
            first_chars(&format!("{}\n{}", part.part(), part.text), MAX_EMBEDDED_CHARS).to_owned()
        };
        let texts: Vec<String> = parts.iter().map(text).collect();
        let mut vectors = Vec::with_capacity(parts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.embed(batch)?);
        }
        check_lengths(vectors.iter())?;
        Ok(Arc::clone(kept.insert(Arc::new(vectors))))
    }

    /// Asks, and checks what comes.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
        let vectors = self.embedder.embed(texts)?;
        if vectors.len() != texts.len() {
            return Err(unfit(format!("expected {} vectors, found {}", texts.len(), vectors.len())));
        }
        if vectors.iter().any(|vector| vector.is_empty() || vector.iter().any(|number| !number.is_finite())) {
            return Err(unfit("expected vectors of finite numbers, found another one"));
        }
        Ok(vectors)
    }
}

fn unfit(problem: impl Into<String>) -> ToolError {
    ToolError::new(ToolErrorKind::Response, problem)
}

fn check_lengths<'a>(vectors: impl Iterator<Item = &'a Vec<f32>>) -> Result<(), ToolError> {
    let lengths: BTreeSet<usize> = vectors.map(Vec::len).collect();
    if lengths.len() > 1 {
        Err(unfit(format!("expected vectors of one length, found {lengths:?}")))
    } else {
        Ok(())
    }
}

/// From -1 to 1; nothing is near a vector without direction.
fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let product = |one: &[f32], other: &[f32]| -> f64 {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
    };
    let lengths = (product(one, one) * product(other, other)).sqrt();
    if lengths > 0.0 { product(one, other) / lengths } else { 0.0 }
}
