//! Who asks, and which threads are theirs. A thread `demo` of the key `alice` is stored as `alice:demo`, which is what
//! the command line and an admin see; this file alone turns one name into the other.
//!
//! **Invariant:** a name that a caller sends becomes that of a thread of theirs, and no other; what they are told
//! holds their own names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde_json::{Value, json};

use crate::keys::{Key, Right};
use crate::problem::{Kind, Problem, Result, in_path};
use planwright::journal::ThreadId;
use planwright_app::new_thread_id;

/// Who asks.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    /// What stands before the names of their threads; empty for an admin, and where there are no keys.
    prefix: String,
    /// The name of their key.
    name: String,
    /// What they may not do beside reading.
    lacks: Vec<Right>,
    /// The threads that the request names, as they are stored.
    named: Arc<Mutex<Vec<ThreadId>>>,
}

impl Caller {
    /// Who has this key.
    pub fn of(key: &Key) -> Self {
        let owner = key.threads_of.as_ref().unwrap_or(&key.name);
        let prefix = if key.is_admin() { String::new() } else { format!("{owner}:") };
        let lacks = [Right::Run, Right::Answer].into_iter().filter(|right| !key.may(*right)).collect();
        Caller { prefix, name: key.name.clone(), lacks, ..Caller::default() }
    }

    /// Them, where the service only shows.
    pub fn reading(self) -> Self {
        Caller { lacks: vec![Right::Run, Right::Answer], ..self }
    }

    /// Whether they may do this.
    pub fn may(&self, right: Right) -> bool {
        !self.lacks.contains(&right)
    }

    /// The name of their key; empty where there are none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Refuses what their key may not do, where the path alone does not tell what that is.
    pub fn check_may(&self, right: Right) -> Result<()> {
        let detail = || format!("the key may not {}, which this needs", right.name());
        if self.may(right) { Ok(()) } else { Err(Problem::new(Kind::Forbidden, detail())) }
    }

    /// The thread that they call so. `place` is where the name stands in the request.
    pub fn thread(&self, place: &str, name: &str) -> Result<ThreadId> {
        let wrong = |error| Problem::new(Kind::Input, format!("{place}: {error}"));
        let thread: ThreadId = name.parse().map_err(wrong)?;
        let thread: ThreadId = match self.prefix.len() {
            0 => thread,
            taken => format!("{}{thread}", self.prefix).parse().map_err(|_| {
                let most = 120_usize.saturating_sub(taken);
                wrong(format!("a thread's name has at most {most} bytes with this key, found {}", name.len()))
            })?,
        };
        self.named().push(thread.clone());
        Ok(thread)
    }

    /// A thread that is not there yet.
    pub fn new_thread(&self) -> Result<ThreadId> {
        self.thread("$.thread_id", new_thread_id().as_str())
    }

    /// What the names of their threads begin with that begin so for them.
    pub fn prefix(&self, prefix: &str) -> String {
        format!("{}{prefix}", self.prefix)
    }

    /// The place in a list that they call so, as it is stored: a time, and a thread.
    pub fn cursor(&self, shown: &str) -> String {
        let Some((at, thread)) = shown.split_once(':') else { return shown.to_owned() };
        let stored = self.prefix(thread);
        self.named().extend(stored.parse());
        format!("{at}:{stored}")
    }

    /// Whether their threads have other names for them than in the store.
    pub fn has_own_names(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// The name of a thread of this request, as they know it.
    pub fn show(&self, stored: &ThreadId) -> String {
        self.own(stored.as_str()).unwrap_or_default()
    }

    /// The name of a thread of theirs, as they know it.
    fn own(&self, stored: &str) -> Option<String> {
        stored.strip_prefix(&self.prefix).map(str::to_owned)
    }

    /// A text without the stored names of the threads of this request.
    fn clean(&self, text: &str) -> String {
        let named = self.named().iter().map(ThreadId::to_string).collect::<Vec<_>>();
        named.iter().fold(text.to_owned(), |text, thread| {
            let own = &thread[self.prefix.len()..];
            text.replace(thread, own).replace(&in_path(thread), &in_path(own))
        })
    }

    /// A problem in words, and what to do about it.
    pub fn say(&self, problem: &Problem) -> String {
        let told = self.tell(json!(problem));
        let texts = ["detail", "hint"].into_iter().filter_map(|field| told[field].as_str());
        texts.collect::<Vec<_>>().join("; ")
    }

    /// A reply as they are told it. Only what replies are built of is looked at, never what is in a run.
    pub fn tell(&self, mut reply: Value) -> Value {
        match &mut reply {
            _ if !self.has_own_names() => {}
            Value::Array(items) => items.iter_mut().for_each(|item| *item = self.tell(item.take())),
            Value::Object(fields) => {
                let thread = fields.get("thread").and_then(Value::as_str).and_then(|name| name.parse().ok());
                self.named().extend(thread);
                fields.iter_mut().for_each(|(key, value)| self.tell_field(key, value));
            }
            _ => {}
        }
        reply
    }

    fn tell_field(&self, key: &str, value: &mut Value) {
        let told = match (key, value.as_str()) {
            ("thread" | "thread_id" | "forked_from", Some(stored)) => json!(self.own(stored)),
            ("next", Some(stored)) => json!(stored.replacen(&format!(":{}", self.prefix), ":", 1)),
            // Commands of a terminal are for who has the store.
            ("command", Some(_)) => Value::Null,
            ("commands", _) => json!([]),
            ("detail" | "hint" | "problem" | "name", Some(text)) => json!(self.clean(text)),
            ("unreadable", _) => {
                let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                texts.map(|text| self.clean(text)).collect()
            }
            // A fork may be of a thread that an admin took from another.
            ("origin", _) if self.own(value["thread"].as_str().unwrap_or_default()).is_none() => Value::Null,
            ("threads" | "waiting" | "turns" | "turn" | "open" | "origin" | "lines" | "problem", _)
            | ("pending" | "a" | "b" | "comparison" | "view", _) => self.tell(value.take()),
            _ => return,
        };
        *value = told;
    }

    fn named(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts
            .extensions
            .get()
            .cloned()
            .ok_or_else(|| Problem::new(Kind::Forbidden, "it is not known who asks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_turned_into_the_callers_own_and_back() {
        let mut key = Key::new("helper", vec![Right::Answer]);
        key.threads_of = Some("alice".to_owned());
        let caller = Caller::of(&key);
        for name in ["demo", "bob:demo", "보고서", "a b"] {
            let stored = caller.thread("$.thread_id", name).unwrap();
            assert_eq!(stored.as_str(), format!("alice:{name}"));
            let plan = json!([{"input": {"thread": "alice:x", "command": "ls"}}]);
            let told = caller.tell(json!({
                "thread": stored, "detail": format!("there is no thread {stored}, nor alice:x"), "plan": plan,
                "next": caller.cursor(&format!("17:{name}")), "origin": {"thread": "bob:x"}, "forked_from": stored,
            }));
            let expected = json!({
                "thread": name, "detail": format!("there is no thread {name}, nor alice:x"), "plan": plan,
                "next": format!("17:{name}"), "origin": null, "forked_from": name,
            });
            assert_eq!(told, expected);
        }
        for name in ["", "-x", " x", "a\nb", &"x".repeat(115)] {
            let problem = caller.thread("$.thread_id", name).unwrap_err();
            assert!(problem.detail().starts_with("$.thread_id: a thread's name "), "{}", problem.detail());
            assert!(!problem.detail().contains("alice"), "{}", problem.detail());
        }
        let admin = Caller::of(&Key::new("root", vec![Right::Admin]));
        let demo = json!({"thread": admin.thread("$", "alice:demo").unwrap()});
        assert_eq!(admin.tell(demo.clone()), demo);
    }
}
