//! The words of an answer, for a client that can take none back: what was sent is what the answer begins with.

use planwright::driver::{Progress, ProgressKind};
use planwright::spec::{Spec, Validate, ValidateAt};

/// The words of the answer of one turn.
pub(crate) struct Words {
    /// Whether an answer is judged once it is written, so that its words may all be taken back.
    are_judged: bool,
    coming: String,
    sent: String,
}

impl Words {
    /// None yet, of an answer that is written under these rules.
    pub fn of(spec: &Spec) -> Self {
        let policy = &spec.policy;
        let are_judged = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Answer;
        Words { are_judged, coming: String::new(), sent: String::new() }
    }

    /// What can be sent now. Words that begin anew are sent where they go beyond what was sent.
    pub fn hear(&mut self, progress: &Progress) -> Option<String> {
        if progress.kind != ProgressKind::Token || self.are_judged {
            return None;
        }
        match progress.step.as_str() {
            "restarted" => self.coming.clear(),
            _ => self.coming.push_str(progress.content.as_str()?),
        }
        // An answer ends without the white space that its words end with.
        let rest = self.coming.trim_end().strip_prefix(&self.sent)?.to_owned();
        self.sent.push_str(&rest);
        Some(rest).filter(|rest| !rest.is_empty())
    }

    /// What is left of the answer that is on record; nothing if it begins otherwise than what was sent.
    pub fn end(&self, answer: &str) -> Option<String> {
        answer.strip_prefix(&self.sent).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planwright::agents;
    use serde_json::json;

    fn spec() -> Spec {
        agents::shipped("validated").unwrap()
    }

    fn sent(spec: &Spec, pieces: &[&str], answer: &str) -> Option<String> {
        let mut words = Words::of(spec);
        let mut sent = String::new();
        for piece in pieces {
            let (step, text) = if *piece == "!" { ("restarted", "") } else { ("token", *piece) };
            let progress = json!({"type": "token", "step": step, "content": text});
            sent.extend(words.hear(&serde_json::from_value(progress).unwrap()));
        }
        Some(sent.clone() + &words.end(answer)?)
    }

    #[test]
    fn words_that_were_sent_are_the_answer_or_are_told_apart_from_it() {
        let answer = "답은 42.";
        assert_eq!(sent(&spec(), &["답은", " 42", ".\n"], answer).as_deref(), Some(answer));
        assert_eq!(sent(&spec(), &[], answer).as_deref(), Some(answer));
        // Those of a second try go on where the first broke off, if they are the same.
        assert_eq!(sent(&spec(), &["답은", " 4", "!", "답", "은 42."], answer).as_deref(), Some(answer));
        assert_eq!(sent(&spec(), &["It is", "!", "답은 42."], answer), None);
        // An answer that is judged once it is written may be another in the end.
        let mut judged = spec();
        judged.policy.validate_at = ValidateAt::Answer;
        assert_eq!(sent(&judged, &["It is", "!", "답은 42."], answer).as_deref(), Some(answer));
    }
}
