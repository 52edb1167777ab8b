//! Promises of the tool `docs`.

use std::fs;
use std::path::Path;

use planwright::ports::ToolError;
use planwright_docs::Docs;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::call;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn of(documents: &[(&str, &str)]) -> Docs {
    Docs::of(documents.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

fn ask(docs: &Docs, query: &str, max_output_bytes: usize) -> Result<String, ToolError> {
    call(docs, &json!(query), max_output_bytes).map(|output| output.text)
}

/// The sources of what is found, best first.
fn sources(docs: &Docs, query: &str) -> Vec<String> {
    docs.search(query, 5).unwrap().iter().map(|passage| passage.source()).collect()
}

#[track_caller]
fn check(docs: &Docs, query: &str, expected: &[&str]) {
    assert_eq!(sources(docs, query), expected, "{query:?}");
}

#[track_caller]
fn check_refused(path: &Path, expected: &str) {
    let error = Docs::folder(path).unwrap_err();
    assert_eq!(error.kind, "input");
    assert!(error.message.contains(expected), "{error}");
    assert!(error.message.contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn documents_of_every_kind_are_found_with_path_and_headings() {
    let folder = folder(&[
        ("guide/intro.md", b"# Guide\nHello.\n## Replans\nA replan follows a rejection."),
        ("notes.TXT", b"The ledger is append-only."),
        ("page.html", "<html><head><title>t</title><style>.ledgers{}</style></head><body><h1>환불</h1><p>영수증이 <b>필요</b>합니다.</p><script>secretword()</script></body></html>".as_bytes()),
        ("old.rst", b"Top\n===\n\nQuorum matters."),
        ("manual.adoc", b"= Manual\n== Valves\nTurn the spigot."),
        ("picture.png", b"quorum"),
    ]);
    let docs = Docs::folder(folder.path()).unwrap();
    check(&docs, "replans", &["guide/intro.md#Guide > Replans"]);
    check(&docs, "ledger", &["notes.TXT"]);
    check(&docs, "영수증", &["page.html#환불"]);
    check(&docs, "secretword", &[]);
    check(&docs, "quorum", &["old.rst#Top"]);
    check(&docs, "spigot", &["manual.adoc#Manual > Valves"]);
    let counted = "not searched: 1 .png (documents are .md .markdown .txt .html .htm .rst .adoc)";
    assert_eq!(docs.skipped().unwrap(), [counted]);
}

#[test]
fn korean_is_found_whatever_follows_the_word() {
    let docs = of(&[
        ("machine.md", "이 프로그램은 상태기계를 실행합니다."),
        ("weather.md", "오늘 서울의 날씨는 맑음."),
    ]);
    for query in ["상태기계", "상태 기계는", "기계를", "기계", "상태기계가 뭐야?"] {
        check(&docs, query, &["machine.md"]);
    }
    check(&docs, "서울 날씨", &["weather.md"]);
    check(&docs, "고양이", &[]);
}

#[test]
fn decomposed_names_and_texts_are_found_and_shown_composed() {
    let (name, text) = ("\u{1100}\u{1175}\u{1100}\u{1168}.md", "cafe\u{301} 열림");
    let folder = folder(&[(name, text.as_bytes())]);
    let docs = Docs::folder(folder.path()).unwrap();
    check(&docs, "기계", &["기계.md"]);
    check(&docs, "café", &["기계.md"]);
    check(&docs, "CAFE\u{301}", &["기계.md"]);
    assert_eq!(docs.search("café", 1).unwrap()[0].text, "café 열림");
}

#[test]
fn forms_of_a_word_are_found() {
    for (text, query, found) in [
        ("contributing", "contribute", true),
        ("The Plans, max_replans: 3!", "plan", true),
        ("policies", "policy", true),
        ("install", "installation", true),
        ("configure", "configuration", true),
        ("planning", "plans", true),
        ("validate", "validation", true),
        ("ＡＢＣ", "abc", true),
        ("bus", "bu", false),
        ("the plan", "what is the weather", false),
        ("who", "who is who", true),
    ] {
        assert_eq!(!sources(&of(&[("a.md", text)]), query).is_empty(), found, "{text}: {query}");
    }
}

/// The passages of a document, with the headings above them.
#[track_caller]
fn check_passages(name: &str, text: &str, expected: &[(&str, &str)]) {
    let mut found = of(&[(name, text)]).search(text, 99).unwrap();
    found.sort_by_key(|passage| passage.position);
    let found: Vec<(String, &str)> =
        found.iter().map(|passage| (passage.headings.join(" > "), passage.text.as_str())).collect();
    let expected: Vec<(String, &str)> =
        expected.iter().map(|(headings, text)| ((*headings).to_owned(), *text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_document_is_cut_at_its_headings_and_behind_sentences() {
    let text = "top\n\n# A\none\n\ntwo\n## B ##\nthree\n# C\nfour";
    check_passages("a.md", text, &[("", "top"), ("A", "one\n\ntwo"), ("A > B", "three"), ("C", "four")]);
    let titled = [("Title", "x"), ("Title > Part", "y")];
    check_passages("a.txt", "Title\n=====\nx\n\nPart\n----\ny", &titled);
    check_passages("a.adoc", "= Title\nx\n== Part\ny", &titled);
    check_passages("a.rst", "Title\n=====\n\nPart\n~~~~\ny", &[("Title > Part", "y")]);
    // Code and front matter hold no headings.
    check_passages("a.md", "```sh\n# no heading\n```\n", &[("", "```sh\n# no heading\n```")]);
    check_passages("a.md", "---\ntitle: x\n---\n# A\ny", &[("", "---\ntitle: x\n---"), ("A", "y")]);
    // A heading with nothing below it is its own passage.
    check_passages("a.md", "# A\n## B\n", &[("A > B", "B")]);
    check_passages("a.md", "# Q\n# B\nx", &[("Q", "Q"), ("B", "x")]);
    let text = "상태 기계는 순수하다. ".repeat(200);
    let mut found = of(&[("a.md", &text)]).search("상태", 99).unwrap();
    found.sort_by_key(|passage| passage.position);
    let texts: Vec<&str> = found.iter().map(|passage| passage.text.as_str()).collect();
    assert!(texts.len() > 2 && texts.iter().all(|text| text.ends_with('.') && text.chars().count() <= 900));
    assert_eq!(texts.join(" "), text.trim_end());
}

#[test]
fn the_tool_answers_with_compact_json_best_first_and_leaves_out_whole_what_does_not_fit() {
    let docs = of(&[("b.md", "# Plan\nA plan."), ("a.md", "# Other\nThe plan is \"frozen\".")]);
    assert_eq!(
        ask(&docs, "plan", 16_000).unwrap(),
        r#"[{"source":"b.md#Plan","text":"A plan."},{"source":"a.md#Other","text":"The plan is \"frozen\"."}]"#
    );
    assert_eq!(ask(&docs, "nothing-of-this", 16_000).unwrap(), "[]");
    assert_eq!(ask(&docs, " \n", 16_000).unwrap_err().kind, "input");

    let docs = of(&[("a.md", &"상태 기계 ".repeat(1000))]);
    let whole: Vec<Value> = serde_json::from_str(&ask(&docs, "상태", 16_000).unwrap()).unwrap();
    assert_eq!(whole.len(), 5);
    let cut = ask(&docs, "상태", 5_000).unwrap();
    assert!(cut.len() <= 5_000);
    let cut: Vec<Value> = serde_json::from_str(&cut).unwrap();
    assert_eq!(cut[..], whole[..cut.len()]);
    assert_eq!(ask(&docs, "상태", 10).unwrap(), "[]");
}

#[test]
fn each_section_that_is_shown_is_a_source_once() {
    use planwright::contract::Source;
    let long = format!("# Guide\n## Plan\n{}", "a plan of it. ".repeat(100));
    let docs = of(&[("a.md", &long), ("notes.txt", "plan")]);
    let source = |title: &str, document: &str, part: Option<&str>| Source {
        document: Some(document.to_owned()),
        part: part.map(str::to_owned),
        ..Source::titled(title)
    };
    let mut sources = call(&docs, &json!("plan"), 16_000).unwrap().sources;
    sources.sort();
    let expected = [source("Plan", "a.md", Some("Guide > Plan")), source("notes.txt", "notes.txt", None)];
    assert_eq!(sources, expected);
    assert_eq!(call(&docs, &json!("plan"), 10).unwrap().sources, []);
}

#[test]
fn equal_scores_are_ordered_by_path_then_position() {
    let docs = of(&[
        ("c.md", "# Z\nsame words"),
        ("a.md", "# X\nsame words\n# Y\nsame words"),
        ("b.md", "# Z\nsame words"),
    ]);
    let found = docs.search("same", 9).unwrap();
    let order: Vec<(&str, usize)> = found.iter().map(|p| (p.path.as_str(), p.position)).collect();
    assert_eq!(order, [("a.md", 0), ("a.md", 1), ("b.md", 0), ("c.md", 0)]);
    let scores: Vec<u64> = found.iter().map(|p| p.score.to_bits()).collect();
    assert!(scores.iter().all(|score| *score == scores[0]));
}

#[test]
fn a_word_in_a_heading_or_file_name_counts_more() {
    let docs = of(&[
        ("a.md", "# Intro\nrefunds are mentioned here once"),
        ("b.md", "# Refunds\nthey are explained at this place"),
        ("c/shipping.md", "# Costs\nit depends"),
    ]);
    check(&docs, "refund", &["b.md#Refunds", "a.md#Intro"]);
    check(&docs, "shipping", &["c/shipping.md#Costs"]);
}

#[test]
fn hidden_ignored_and_linked_files_are_left_out() {
    let outside = folder(&[("secret.md", b"needle outside")]);
    let folder = folder(&[
        (".hidden.md", b"needle"),
        (".git/config.md", b"needle"),
        (
            ".gitignore",
            b"# no words\nbuild/\n*.log.md\n!told.log.md\n/top.md\nin/one.md\ndeep/**\n[ab].md \n{c}.md\n",
        ),
        ("build/out.md", b"needle"),
        ("in/build/out.md", b"needle"),
        ("in/of.log.md", b"needle"),
        ("in/told.log.md", b"needle"),
        ("in/one.md", b"needle"),
        ("in/top.md", b"needle"),
        ("in/in/one.md", b"needle"),
        ("in/b.md", b"needle"),
        ("in/{c}.md", b"needle"),
        ("in/d.md", b"needle"),
        ("in/.gitignore", b"!b.md\nin\nd.md"),
        ("deep/in/it.md", b"needle"),
        ("top.md", b"needle"),
        ("c.md", b"needle"),
        ("kept.md", b"needle"),
    ]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.path().join("link.md")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    }
    let kept = ["c.md", "kept.md", "in/b.md", "in/top.md", "in/told.log.md"];
    check(&Docs::folder(folder.path()).unwrap(), "needle", &kept);
    drop(outside);
}

#[test]
fn large_files_are_skipped_and_said() {
    let large = vec![b'x'; (2 << 20) + 1];
    let folder = folder(&[("large.md", &large), ("small.md", b"needle")]);
    let docs = Docs::folder(folder.path()).unwrap();
    check(&docs, "needle", &["small.md"]);
    assert_eq!(docs.skipped().unwrap(), ["not searched: large.md: larger than 2097152 bytes"]);
}

#[test]
fn a_limit_is_said_in_full() {
    let folder = folder(&[]);
    for number in 0..10_003 {
        fs::write(folder.path().join(format!("{number:05}.md")), format!("needle {number}")).unwrap();
    }
    let docs = Docs::folder(folder.path()).unwrap();
    check(&docs, "10002", &[]);
    check(&docs, "9999", &["09999.md"]);
    let limit = "3 of 10,003 files not searched: at most 10,000 files of 128 MiB in all are";
    assert_eq!(docs.skipped().unwrap(), [limit]);
    let found: Vec<Value> = serde_json::from_str(&ask(&docs, "7", 16_000).unwrap()).unwrap();
    assert_eq!(found[1], json!({ "note": limit }));
}

#[test]
fn other_encodings_are_read_as_far_as_they_go() {
    let utf16: Vec<u8> = "\u{feff}기계 notes".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let folder = folder(&[
        ("bom.md", b"\xef\xbb\xbf# Top\nneedle"),
        ("latin.md", b"na\xefve needle"),
        ("u16.txt", &utf16),
    ]);
    let docs = Docs::folder(folder.path()).unwrap();
    check(&docs, "기계", &["u16.txt"]);
    let mut found = sources(&docs, "needle");
    found.sort();
    assert_eq!(found, ["bom.md#Top", "latin.md"]);
}

#[test]
fn a_folder_without_documents_is_refused_with_its_path() {
    let empty = folder(&[("picture.png", b"x"), (".hidden.md", b"x")]);
    check_refused(empty.path(), "expected documents (.md");
    check_refused(&empty.path().join("nowhere"), "expected a folder");
    check_refused(&empty.path().join("picture.png"), "not searched: 1 .png");
}

#[test]
fn a_document_that_vanishes_before_the_first_search_is_said() {
    let folder = folder(&[("a.md", b"needle"), ("b.md", b"needle")]);
    let docs = Docs::folder(folder.path()).unwrap();
    fs::remove_file(folder.path().join("a.md")).unwrap();
    check(&docs, "needle", &["b.md"]);
    assert!(docs.skipped().unwrap()[0].starts_with("not searched: a.md: "));
}

#[test]
fn query_syntax_is_only_text() {
    let docs = of(&[("a.md", "alpha beta"), ("b.md", "gamma")]);
    check(&docs, "body:alpha AND (NOT \"beta\" -gamma^2 [a TO b] *", &["b.md", "a.md"]);
    check(&docs, "\"'(){}[]^~*?:\\/+-!|&", &[]);
    let long = "alpha ".repeat(100_000) + &"나".repeat(100_000) + " gamma";
    assert!(!sources(&docs, &long).is_empty());
    assert_eq!(docs.search("alpha", 0).unwrap(), []);
    assert_eq!(docs.search("alpha", usize::MAX).unwrap().len(), 1);
}

#[test]
fn html_that_is_nested_without_end_is_skipped_and_said() {
    for (open, times) in [
        ("<div>", 100_000),
        ("<table><tr><td>", 2_000),
        ("<ul><li>", 20_000),
        ("<blockquote>", 20_000),
        ("<b><a href=x>", 50_000),
    ] {
        let docs = of(&[("a.html", &(open.repeat(times) + "needle")), ("b.md", "needle")]);
        check(&docs, "needle", &["b.md"]);
        assert!(docs.skipped().unwrap()[0].ends_with(": HTML that leaves more than 1000 elements open"));
    }
    let closed = "<div>".repeat(300) + "needle" + &"</div>".repeat(300);
    let docs = of(&[("a.html", &closed), ("b.md", "needle")]);
    check(&docs, "needle", &["b.md"]);
    assert!(docs.skipped().unwrap()[0].ends_with(": HTML nested deeper than 200 elements"));
    let script = format!("<script>{}</SCRIPT><p>needle", "if (a<b) x='<div>';".repeat(2_000));
    check(&of(&[("a.html", &script)]), "needle", &["a.html"]);
    let attributes = format!("<p {}>needle", "a=b ".repeat(100_000));
    check(&of(&[("a.html", &attributes)]), "needle", &["a.html"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_query_is_an_error(query in "\\PC{0,200}|[a-z가-힣 ():\"*~^+-]{0,100}") {
        let docs = of(&[("a.md", "# 가나다\nalpha beta 상태기계"), ("b.html", "<h1>x</h1>y")]);
        prop_assert!(docs.search(&query, 5).is_ok());
    }

    #[test]
    fn no_document_is_an_error(text in "([#=~\\-`<>/hp1 \n]|\\PC){0,300}", form in 0usize..5) {
        let name = ["a.md", "a.html", "a.rst", "a.adoc", "a"][form];
        prop_assert!(of(&[(name, &text)]).search("a", 5).is_ok());
    }
}
