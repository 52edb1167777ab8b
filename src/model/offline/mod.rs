//! Offline: the model that answers where there is none.

mod english;
mod korean;
mod terms;
mod text;
