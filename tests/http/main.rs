//! What speaks HTTP, against a real server on loopback.

#[path = "../common/support.rs"]
mod support;
#[path = "../common/tools_server.rs"]
mod tools_server;

mod http;
mod model_embeddings;
mod openai;
mod wiki;
