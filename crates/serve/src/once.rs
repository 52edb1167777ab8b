//! What a client asks for under an `Idempotency-Key` is done once: asked again, it is told what it was told.
//!
//! **Invariant:** the key is on record with what it began, in one append. So there is no moment at which a server
//! that ends has begun something and forgotten for which key.

use axum::http::HeaderMap;
use serde::Serialize;
use serde_json::json;

use crate::caller::Caller;
use crate::keys::sha256;
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::{Service, Under};
use planwright::driver::{AskedAt, find_asked};
use planwright::journal::{Asked, ThreadId};
use planwright_app::{ShownTurn, StoredThread};

/// Most bytes of a key.
const MOST_KEY: usize = 255;

/// What a request asks for under its key; nothing where it has none. Two callers may have the same key.
pub(crate) fn asked_once(
    caller: &Caller,
    headers: &HeaderMap,
    body: &impl Serialize,
) -> Result<Option<Asked>> {
    let mut keys = headers.get_all("idempotency-key").into_iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let key = key.to_str().unwrap_or_default();
    let is_key = (1..=MOST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_key || keys.next().is_some() {
        let problem = format!("Idempotency-Key: expected one of 1 to {MOST_KEY} visible ASCII characters");
        return Err(Problem::new(Kind::Input, problem).hint("a UUID is one"));
    }
    Ok(Some(Asked {
        key: sha256(&format!("{} {key}", caller.name())),
        body: sha256(&json!(body).to_string()),
    }))
}

/// The thread that a question without one begins: it follows from the key.
pub(crate) fn thread_of(caller: &Caller, asked: &Asked) -> Result<ThreadId> {
    caller.thread("Idempotency-Key", &format!("run-{}", &asked.key[..32]))
}

impl Service {
    /// What was told to the first request of this key, or comes of it now; nothing where this is the first.
    pub fn tell_again(
        &self,
        stored: &StoredThread,
        asked: Option<&Asked>,
        under: &Under<'_>,
    ) -> Result<Option<ChatReply>> {
        let Some(asked) = asked else { return Ok(None) };
        let Some(found) = find_asked(self.threads().store(), &stored.thread, asked)? else { return Ok(None) };
        let AskedAt { turn, until, asked: before } = found;
        if before.body != asked.body {
            let problem = "the Idempotency-Key was sent before with another body";
            return Err(Problem::new(Kind::Reused, problem).hint("take a new key for what is new"));
        }
        let shown = match until {
            Some(until) => ShownTurn::load_until(stored, turn, until)?,
            None => {
                let (turns, running) = self.turns_of(stored)?;
                ShownTurn::load(stored, turn, running && turn + 1 == turns, None)?
            }
        };
        match shown.status {
            "running" => {
                let problem = "the first request of this Idempotency-Key is under way";
                Err(Problem::new(Kind::Busy, problem).hint("send it again later"))
            }
            "in_doubt" => {
                let doubt = shown.open.map(|open| open.text()).unwrap_or_default();
                let hint = "POST /threads/{thread_id}/resolve says what became of it";
                Err(Problem::new(Kind::InDoubt, doubt).hint(hint))
            }
            "unfinished" => {
                let turn = self.go_on(stored, under, |handle, agent| handle.resume(agent))?;
                ChatReply::of(stored, turn).map(Some)
            }
            _ => ChatReply::of(stored, shown).map(Some),
        }
    }
}
