//! The offline model.

#[path = "../common/offline_specs/mod.rs"]
mod offline_specs;

mod agents;
mod calls;
mod chain;
mod contracts;
mod holes;
mod intake;
mod planner;
mod validator;
mod words;
mod writer;
