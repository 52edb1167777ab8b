//! The page as one file: its modules, its style and what it shows stand in it, so that it needs no server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::{MODULES, STYLE};

/// Writes the page as one HTML file that shows a document: `{"kind": "run", "view": …}` or
/// `{"kind": "compare", "comparison": …}`. The file asks nobody anything, and its policy lets its own script and style
/// run alone.
pub fn export(title: &str, document: &str) -> String {
    let (script, style) = (bundle(), STYLE.text);
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(style)
    );
    // A `<` in JSON stands in a string, where it may be written so. What a run said closes no element.
    let document = document.replace('<', "\\u003c");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>{style}</style>\n</head>\n\
         <body>\n<script type=\"application/json\" id=\"document\">{document}</script>\n\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n"
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// All modules as one script, each in a scope of its own that gives what it exports.
pub(crate) fn bundle() -> String {
    MODULES.iter().map(|file| scope(file.path, file.text)).collect()
}

fn scope(path: &str, text: &str) -> String {
    let (mut body, mut exports) = (String::new(), Vec::new());
    for line in text.lines() {
        // `import { a, b } from "./dom.js";` stands on one line, at the top.
        if let Some((names, from)) =
            line.strip_prefix("import ").and_then(|rest| rest.split_once(" from \"./"))
        {
            let from = variable(from.trim_end_matches("\";"));
            body.push_str(&format!("const {} = {from};\n", names.replace(" as ", ": ")));
            continue;
        }
        let declared = line.strip_prefix("export ");
        if let Some(declared) = declared {
            exports.extend(declared_name(declared));
        }
        body.push_str(declared.unwrap_or(line));
        body.push('\n');
    }
    let (name, exports) = (variable(path.rsplit('/').next().unwrap_or(path)), exports.join(", "));
    format!("const {name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n")
}

/// `export async function show(` declares `show`.
pub(crate) fn declared_name(declared: &str) -> Option<&str> {
    let words = declared.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words.into_iter().find(|word| !["async", "function", "const", "class", ""].contains(word))
}

/// The name of a module's scope in the script.
fn variable(file: &str) -> String {
    format!("module_{}", file.trim_end_matches(".js"))
}
