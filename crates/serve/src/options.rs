//! What a service bears, and who may ask.

use std::net::SocketAddr;
use std::time::Duration;

/// What a service bears.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether anybody may ask who reaches an address that is not loopback.
    pub allow_anonymous: bool,
    /// The most runs at once.
    pub max_runs: u32,
    /// The most runs that wait in line.
    pub max_waiting: usize,
    /// The most bytes of a request's body.
    pub max_body_bytes: usize,
    /// Whether every answer must name the token of what it answers, that of a step too.
    pub require_tokens: bool,
    /// Whether turns whose process was killed go on at the start.
    pub resume: bool,
    /// How long the reader of a stream may take for what there is, before it is cut off.
    pub reader_patience: Duration,
}
