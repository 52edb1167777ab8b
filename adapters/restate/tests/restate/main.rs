//! Threads on a real Restate server: the stories that the fixtures tell, and what is left of runs whose worker, server
//! or leader is killed.
//!
//! `tests/run` of the adapter installs the server and runs this. Nothing here is skipped.
#![allow(missing_docs, reason = "a test binary")]

mod cast;
mod commands;
mod composed;
mod deadline;
mod echo;
mod killed;
mod many;
mod people;
mod server;
mod stage;
mod stories;
mod world;
