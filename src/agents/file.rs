//! Reading a spec from a file: the one place of the pure half of the house that touches a disk.

use std::path::Path;

use crate::spec::{Spec, SpecError};

/// Largest spec that is read from a file, in bytes.
const MAX_BYTES: u64 = 4 << 20;

impl Spec {
    /// Parses and checks a spec in a TOML file; see [`Spec::from_toml`].
    ///
    /// ```no_run
    /// let spec = planwright::spec::Spec::from_file("agents/clerk.toml")?;
    /// # Ok::<(), planwright::spec::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// The file's name with what is wrong: it cannot be read, is too large, or is not a sound spec.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SpecError> {
        let path = path.as_ref();
        let refuse = |problem: String| SpecError::at(path.display().to_string(), problem);
        let size = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?.len();
        if size > MAX_BYTES {
            return Err(refuse(format!("expected at most {MAX_BYTES} bytes, found {size}")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        Spec::from_toml(&text).map_err(|error| refuse(error.to_string()))
    }
}
