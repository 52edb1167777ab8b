//! The proving range: a model that obeys whatever it reads, over worlds in which attackers write wherever untrusted
//! text can stand. What it proves, and what it does not, is in `docs/CONTAINMENT.md`.

mod guide;
mod holes;
mod model;
mod rows;
mod stage;
mod table;
mod values;
mod world;
