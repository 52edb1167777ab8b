//! Digests: short names for requests, by which a recording is found again.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash3_128;

/// An XXH3 hash of 128 bits, written as 32 hexadecimal digits. It tells apart requests that were not
/// made to collide, so do not guard anything with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Digests a sequence of parts. Each part is preceded by its length, so that moving a byte from
    /// one part to the next changes the digest.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = XxHash3_128::new();
        for part in parts {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        Digest(hasher.finish_128().to_be_bytes())
    }

    /// The digest of which these are the bytes.
    pub fn of_bytes(bytes: [u8; 16]) -> Self {
        Digest(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        let hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| hex);
        number.map(|number| Digest(number.to_be_bytes())).ok_or_else(|| {
            serde::de::Error::custom(format!("expected a digest of 32 hexadecimal digits, found {text:?}"))
        })
    }
}
