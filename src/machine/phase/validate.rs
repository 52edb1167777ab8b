//! Validate: asks whether the results, or the written answer, will do. This phase never mends anything
//! itself; a rejection leaves as an exit, and `route.rs` decides what follows.

use crate::contract::Verdict;
use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::{Asking, Feedback};
use crate::machine::vocabulary::TraceLine;
use crate::spec::{Horizon, ValidateAt};

impl Run<'_> {
    pub(in crate::machine) fn on_validate(&mut self, asking: &mut Asking) {
        let form = self.compiled.policy().validate;
        let most = self.compiled.max_reply_bytes();
        let read = self.read_reply(asking, |_, _, reply| form.parse(&reply.text, most));
        let Some((verdict, _)) = read else { return };
        let policy = self.compiled.policy();
        if !verdict.ok {
            let judges_answer = policy.validate_at == ValidateAt::Answer;
            let answer = self.task.artifacts.final_answer.take_if(|_| judges_answer);
            let Verdict { reason, fix_hint, verdict: what, steps, .. } = verdict.clone();
            // Positions of the plan's own steps, each once: nothing else can be said with them.
            let known = self.task.progress.iter().flat_map(|progress| 0..progress.steps.len() as u32);
            let about = known.filter(|at| steps.contains(at)).collect();
            let judged = Some((what.unwrap_or_default(), about));
            let feedback = Feedback { reason, fix_hint, judged, answer, ..Feedback::default() };
            self.task.feedback = Some(feedback.into());
        }
        // A conversation that goes on is told why.
        self.task.current().verdict = (policy.horizon == Horizon::Next).then(|| Box::new(verdict.clone()));
        let exit = if verdict.ok { Exit::Accepted } else { Exit::Rejected };
        self.line(TraceLine::Validate { ok: true, verdict: Some(verdict), error: None });
        self.leave(exit);
    }
}
