//! Offline: the model that answers where there is none.

mod arithmetic;
mod english;
mod evidence;
mod korean;
mod markdown;
mod question;
mod terms;
mod text;
