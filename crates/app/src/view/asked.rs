//! What each effect of a view asks, whole: a request to a model is kept behind what it shares with one before.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::RunView;
use super::lines::lines_of;
use super::timeline::{ShownRequest, without_now};

/// What an effect asks, without what a server wants back unread. Texts are in UTF-16, as shared beginnings are counted.
#[derive(Default, PartialEq)]
pub(super) struct Asked {
    payload: Vec<u16>,
    said: Vec<Value>,
}

impl Asked {
    /// What is asked, as a text of lines.
    pub fn text(&self) -> String {
        let payload = Value::String(String::from_utf16_lossy(&self.payload));
        let whole = Some(&payload).filter(|_| !self.payload.is_empty()).into_iter().chain(&self.said);
        whole.map(lines_of).collect::<Vec<_>>().join("\n")
    }
}

impl Asked {
    /// What is asked, but for the time that a model is told.
    pub fn without(&self, now: Option<&str>) -> Self {
        let payload = without_now(&String::from_utf16_lossy(&self.payload), now);
        let payload =
            payload.map_or_else(|| self.payload.clone(), |payload| payload.encode_utf16().collect());
        Asked { payload, said: self.said.clone() }
    }
}

/// What the effects of a view ask, found from the first to the last.
pub(super) struct WhatWasAsked<'v> {
    view: &'v RunView,
    next: usize,
    found: HashMap<usize, Asked>,
}

impl<'v> WhatWasAsked<'v> {
    pub fn of(view: &'v RunView) -> Self {
        WhatWasAsked { view, next: 0, found: HashMap::new() }
    }

    /// What the effect at this place asks, which is behind the place that was looked for before.
    pub fn find(&mut self, at: usize) -> &Asked {
        while self.next <= at {
            let asked = self.take(self.next);
            self.found.insert(self.next, asked);
            self.next += 1;
        }
        self.found.entry(at).or_default()
    }

    fn take(&mut self, at: usize) -> Asked {
        let said = match &self.view.timeline[at].request {
            ShownRequest::Model { after, payload, messages } => {
                // No other request begins with the same one.
                let before = after.and_then(|after| Some((after, self.found.remove(&after.of)?)));
                let mut asked = before.map_or_else(Asked::default, |(after, mut asked)| {
                    asked.payload.truncate(after.payload);
                    asked.said.truncate(after.messages);
                    asked
                });
                asked.payload.extend(payload.encode_utf16());
                asked.said.extend(messages.iter().map(|message| {
                    let mut message = json!(message);
                    message.as_object_mut().and_then(|fields| fields.shift_remove("reasoning"));
                    message
                }));
                return asked;
            }
            ShownRequest::Tool { input, .. } => input.clone(),
            ShownRequest::Person { question } => json!(question),
            ShownRequest::Wait { delay_ms } => json!(format!("{delay_ms} ms")),
        };
        Asked { payload: Vec::new(), said: vec![said] }
    }
}
