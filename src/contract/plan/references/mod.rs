//! References: values of a step's input that are taken from what earlier steps returned. An expression is pure, total
//! and part of the frozen plan: no model reads what it takes. It is checked against the declarations when the plan is
//! read (`check.rs`), evaluated when the step is due (`evaluate.rs`), and its [label](Label) follows from the plan and
//! the contracts alone (`label.rs`). A hole is the one value that a model writes; it is shown a view that is part of the
//! plan.
//!
//! **Invariant:** an expression stands for exactly one value. Where none or several fit, nothing is chosen.

mod check;
mod dates;
mod decimal;
mod evaluate;
mod expression;
mod extract;
mod label;
mod offer;
mod select;

pub(super) use check::check;
pub use evaluate::{Returned, Unresolved, resolve_input};
pub(crate) use expression::{FILL, Hole, is_expression};
pub(super) use expression::{find, find_holes};
pub use label::{LabelledPart, Origin, label_input};
pub(super) use offer::{DEFINITION, define, open_input};
