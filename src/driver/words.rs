//! Words: shows an answer while it is written. Thoughts, keys and JSON are no words of it.

use crate::contract::WordsIn;
use crate::ports::{Observer, Signal};

use super::redact::Redactor;

/// The words of one reply, on their way to an observer.
pub(super) struct Words<'a> {
    place: WordsIn,
    observer: &'a dyn Observer,
    redactor: &'a Redactor,
    /// The reply so far.
    reply: String,
    /// The words in it that were shown, but for those in `held`.
    shown: String,
    held: String,
}

impl<'a> Words<'a> {
    pub fn new(place: WordsIn, observer: &'a dyn Observer, redactor: &'a Redactor) -> Self {
        let (reply, shown, held) = Default::default();
        Words { place, observer, redactor, reply, shown, held }
    }

    pub fn add(&mut self, piece: &str) {
        self.reply.push_str(piece);
        self.show(self.place.find(&self.reply, false));
    }

    /// Forgets what came: the reply begins anew, and so does what is shown of it.
    pub fn forget(&mut self) {
        if !self.shown.is_empty() {
            self.observer.notice(Signal::Restarted);
        }
        [&mut self.reply, &mut self.shown, &mut self.held].into_iter().for_each(String::clear);
    }

    /// Shows the rest of a reply that has come. Whether anything is shown of it then.
    pub fn end(mut self, is_answer: bool) -> bool {
        let is_void = !is_answer && self.place == WordsIn::ReplyWithoutCalls;
        self.show(if is_void { String::new() } else { self.place.find(&self.reply, true) });
        if !self.held.is_empty() {
            self.observer.notice(Signal::Token(&self.held));
        }
        !self.shown.is_empty()
    }

    fn show(&mut self, words: String) {
        if !words.starts_with(&self.shown) {
            self.held.clear();
            self.shown.clear();
            self.observer.notice(Signal::Restarted);
        }
        let piece = self.redactor.piece(&mut self.held, &words[self.shown.len()..]);
        if !piece.is_empty() {
            self.observer.notice(Signal::Token(&piece));
        }
        self.shown = words;
    }
}
