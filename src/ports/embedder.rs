//! The port through which a tool turns texts into vectors. A test may answer by
//! rule.

use super::secret::Secret;
use super::tool_error::ToolError;

/// Turns texts into vectors whose nearness is nearness of meaning. Blocking; retries of transport
/// failures are its own affair, and bounded.
///
/// ```
/// use planwright::ports::ToolError;
/// use planwright::ports::Embedder;
///
/// /// Counts vowels. Near enough for a test.
/// struct Vowels;
///
/// impl Embedder for Vowels {
///     fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
///         let count = |text: &str, vowel| text.matches(vowel).count() as f32;
///         Ok(texts.iter().map(|text| vec![count(text, 'a'), count(text, 'e')]).collect())
///     }
/// }
///
/// assert_eq!(Vowels.embed(&["a tree".into()]).unwrap(), [[1.0, 2.0]]);
/// ```
pub trait Embedder: Send + Sync {
    /// One vector for each text, in the order of the texts, all of one length.
    ///
    /// # Errors
    /// Where there is no whole answer, or one that does not fit the texts.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError>;

    /// The keys this embedder is configured with; a tool that uses it passes them on as its own
    /// [`secrets`](crate::ports::Tool::secrets).
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}
