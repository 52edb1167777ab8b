//! Failures of typed tools: any error, with its sources.

use std::any::Any;
use std::error::Error;

use planwright::ports::{ToolError, ToolErrorKind};

/// Why a typed tool failed. Every error becomes one by `?`, with all its sources in the text; a [`ToolError`] among
/// them says the kind, and whether the call may have happened.
///
/// ```
/// use planwright::ports::ToolError;
/// use planwright_typed::{DidNotHappen, Failure};
///
/// fn send(address: &str) -> Result<u32, Failure> {
///     let number = address.parse::<u32>().did_not_happen()?;
///     if number == 0 { Err(Failure::new("no zero").kind("address").did_not_happen()) } else { Ok(number) }
/// }
/// let error: ToolError = send("x").unwrap_err().into();
/// assert_eq!(error.to_string(), "internal: invalid digit found in string");
/// assert!(!error.may_have_happened());
/// ```
#[derive(Clone, Debug)]
pub struct Failure(ToolError);

impl Failure {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Self {
        Failure(ToolError::new(ToolErrorKind::Internal, message))
    }

    /// The failure that an error is, whatever holds it: `Failure::of(error.as_ref())` of a box.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let chain = || std::iter::successors(Some(error), |&error| error.source());
        let mut message = String::new();
        for text in chain().map(|error| tool_error(error).map_or(error.to_string(), |it| it.message.clone()))
        {
            // Many errors say what their source says.
            if !message.ends_with(&text) {
                message = if message.is_empty() { text } else { format!("{message}: {text}") };
            }
        }
        match chain().find_map(tool_error) {
            Some(known) => {
                let mut known = known.clone();
                known.message = message;
                Failure(known)
            }
            None => Failure::new(message),
        }
    }

    /// Sets the kind: one of [`ToolErrorKind`], or a word of your own.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<ToolErrorKind>) -> Self {
        self.0.kind = kind.into();
        self
    }

    /// Says that the call had no effect: a write is not in doubt.
    #[must_use]
    pub fn did_not_happen(self) -> Self {
        Failure(self.0.did_not_happen())
    }
}

fn tool_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e ToolError> {
    error.downcast_ref()
}

impl<E: Error + Any> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::of(&error)
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

/// Says of an error that the call had no effect.
pub trait DidNotHappen<T> {
    /// The result, whose error says that the call had no effect.
    ///
    /// # Errors
    /// The error that there was.
    fn did_not_happen(self) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> DidNotHappen<T> for Result<T, E> {
    fn did_not_happen(self) -> Result<T, Failure> {
        self.map_err(|error| error.into().did_not_happen())
    }
}
