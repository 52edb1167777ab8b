//! From HTML to text. Borrowed libraries do the work; this file keeps hostile pages away from them.

/// Wider than any line, so that no word is torn.
const HTML_WIDTH: usize = 4000;
/// Deeper nesting is no document. Rendering it takes time that grows with the square of the depth.
const MAX_HTML_DEPTH: usize = 200;
/// Parsing time grows with the square of unclosed tags as well, so they are counted before.
const MAX_UNCLOSED: usize = 1000;

/// The text of a page, its headings marked as in Markdown.
pub(super) fn render_text(html: &str) -> Result<String, String> {
    let unreadable = |error| format!("HTML that cannot be read: {error}");
    let config =
        html2text::config::plain_no_decorate().raw_mode(true).no_table_borders().allow_width_overflow();
    if !closes_what_it_opens(html) {
        return Err(format!("HTML that leaves more than {MAX_UNCLOSED} elements open"));
    }
    let tree = config.parse_html(html.as_bytes()).map_err(unreadable)?;
    let mut left = vec![(tree.document.clone(), 0)];
    while let Some((node, depth)) = left.pop() {
        if depth > MAX_HTML_DEPTH {
            return Err(format!("HTML nested deeper than {MAX_HTML_DEPTH} elements"));
        }
        left.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    let rendered = config.dom_to_render_tree(&tree).map_err(unreadable)?;
    config.render_to_string(rendered, HTML_WIDTH).map_err(unreadable)
}

/// Elements without content, and those that the next one of their kind closes.
const NEVER_OPEN: [&str; 30] = [
    "area", "base", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody", "td",
    "tfoot", "th", "thead", "tr", "wbr",
];
/// Elements whose content is no markup.
const RAW: [&str; 5] = ["script", "style", "textarea", "title", "xmp"];

/// Whether few elements are left open. A closing tag counts only for the innermost open element:
/// what is badly nested is taken for open, never the other way round.
fn closes_what_it_opens(html: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end..]);
            continue;
        }
        let closing = rest.starts_with('/');
        let tag = rest.trim_start_matches('/');
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).take(32).collect();
        let name = name.to_ascii_lowercase();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || NEVER_OPEN.contains(&name.as_str()) {
            continue;
        }
        if closing {
            open.pop_if(|innermost| *innermost == name);
        } else if RAW.contains(&name.as_str()) {
            rest = after_raw(rest, &name);
        } else {
            open.push(name);
            if open.len() > MAX_UNCLOSED {
                return false;
            }
        }
    }
    true
}

/// What follows the raw content of this element.
fn after_raw<'a>(text: &'a str, name: &str) -> &'a str {
    for (at, _) in text.match_indices("</") {
        let tag = &text.as_bytes()[at + 2..];
        if tag.len() >= name.len() && tag[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            return &text[at + 2 + name.len()..];
        }
    }
    ""
}
