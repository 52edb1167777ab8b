//! The claims about a step: each compares what came out with what was fed in, and never with what the
//! machine says of itself.

mod authority;
mod counts;
mod hints;
mod lines;
mod people;
mod references;
mod routes;
mod taint;
mod writes;

use super::seen::{Claimed, Seen};

/// A claim about every step of a walk.
pub(super) struct Claim {
    pub name: &'static str,
    pub says: &'static str,
    pub check: fn(&Seen<'_>) -> Claimed,
}

pub(super) const CLAIMS: [Claim; 12] = [
    Claim {
        name: "judged",
        says: "accepted and rejected are what the verdict that came in said",
        check: routes::check_verdict,
    },
    Claim {
        name: "planned",
        says: "what runs is the plan that came in, and nothing is planned that needs no plan",
        check: routes::check_plan,
    },
    Claim {
        name: "executed",
        says: "EXECUTE is left with a result for every step, and a failed one counts as the policy says",
        check: routes::check_results,
    },
    Claim {
        name: "counted",
        says: "calls, tokens, costs, tries and added steps are counted as they come, and stay within the budgets",
        check: counts::check,
    },
    Claim {
        name: "people",
        says: "silence and a no are never a yes, nothing moves beside a question, and an edit is what runs",
        check: people::check,
    },
    Claim {
        name: "writes",
        says: "nothing is asked for twice; a write runs beside nothing and is not made again once it is made",
        check: writes::check,
    },
    Claim {
        name: "trace",
        says: "every visit, replan, repair, decision and answer of a person leaves its line, in order",
        check: lines::check,
    },
    Claim {
        name: "hints",
        says: "a hint reaches the re-planner in its own field and in no other, and is followed where there is one",
        check: hints::check,
    },
    Claim {
        name: "taint",
        says: "what is untrusted taints the run that reads it, the runs nested in it and the run around it",
        check: taint::check,
    },
    Claim {
        name: "authority",
        says: "every write takes authority that a clean plan or a person gave, and a refusal says the same of any call",
        check: authority::check_calls,
    },
    Claim {
        name: "containment",
        says: "authority only shrinks, but by a plan of a run that was not tainted and by a person",
        check: authority::check_growth,
    },
    Claim {
        name: "references",
        says: "no step starts that refers to a failed one, and each is given the very output that it refers to",
        check: references::check,
    },
];
