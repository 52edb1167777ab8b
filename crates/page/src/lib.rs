//! The page: one look at threads and runs for people, as files that a browser runs as they stand.
//!
//! **Invariant:** no file is built, minified or fetched from elsewhere. What the page shows of a run it puts into
//! text nodes and never into markup.

mod export;
#[cfg(test)]
mod tests;

pub use export::export;

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its path on the service.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// What the served page may do: run and show its own files, and ask the service that it came from.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! modules {
    ($($name:literal),* $(,)?) => {
        [$(File {
            path: concat!("/page/", $name, ".js"),
            media_type: "text/javascript; charset=utf-8",
            text: include_str!(concat!("../assets/", $name, ".js")),
        }),*]
    };
}

/// The modules of the page, each behind those that it imports.
const MODULES: &[File] = &modules![
    "dom", "format", "diff", "list", "api", "stream", "answer", "person", "threads", "front", "chat",
    "graph", "allowed", "plan", "effect", "timeline", "records", "summary", "run", "compare", "main",
];

const STYLE: File = File {
    path: "/page/page.css",
    media_type: "text/css; charset=utf-8",
    text: include_str!("../assets/page.css"),
};

const INDEX: File =
    File { path: "/", media_type: "text/html; charset=utf-8", text: include_str!("../assets/index.html") };

const ICON: File =
    File { path: "/page/icon.svg", media_type: "image/svg+xml", text: include_str!("../assets/icon.svg") };

/// The files of the page.
pub fn files() -> impl Iterator<Item = &'static File> {
    [&INDEX, &STYLE, &ICON].into_iter().chain(MODULES)
}
