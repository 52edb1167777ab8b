//! Promises of how a legal contract is read: which lines are headings of articles, and what each part is
//! called.

use planwright_docs::Articles;
use proptest::prelude::*;

fn of(text: &str) -> Articles {
    Articles::parse("contract.md", text).unwrap()
}

/// The outline of a contract.
#[track_caller]
fn check(text: &str, outline: &[&str]) {
    assert_eq!(of(text).outline(), outline, "{text}");
}

/// A contract in the language of a line, with the line between two others.
fn around(line: &str) -> (Articles, &str, &str) {
    let korean = ("제4조 (앞)\n앞의 내용이다.", "제4조 (앞)", "뒤의 내용이다.");
    let english = ("Article 4 (Before)\nWhat is before.", "Article 4 (Before)", "What is behind.");
    let is_english = line.to_lowercase().contains("article");
    let (before, first, behind) = if is_english { english } else { korean };
    (of(&format!("{before}\n{line}\n{behind}\n")), first, behind)
}

/// One line among others is a heading, with this outline and this text.
#[track_caller]
fn check_heading(line: &str, part: &str, text: &str) {
    let (contract, first, behind) = around(line);
    assert_eq!(contract.outline(), [first, part], "{line}");
    assert_eq!(contract.parts()[1].text, format!("{text}{behind}"), "{line}");
}

/// One line among others is text.
#[track_caller]
fn check_text(line: &str) {
    let (contract, first, _) = around(line);
    assert_eq!(contract.outline(), [first], "{line}");
    assert!(contract.parts()[0].text.contains(line.trim()), "{line}");
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = Articles::parse("letter.txt", text).unwrap_err();
    assert_eq!(error.kind, "input");
    assert!(error.message.starts_with("letter.txt: ") && error.message.contains(expected), "{error}");
}

#[test]
fn headings_of_articles_have_many_forms() {
    let lines = "제5조 (비밀유지) / 제5조(비밀유지) / 제 5 조 (비밀유지) / 제5조【비밀유지】 / \
        제5조 [비밀유지] / 제5조 〔비밀유지〕 / 제５조（비밀유지） / 第5條 (비밀유지) / \
        제5조 비밀유지 / 제5조. 비밀유지 / 제5조 - 비밀유지 / 제5조: 비밀유지 / \
        ## 제5조 (비밀유지) /   제5조 (비밀유지)   / ###### 제5조 비밀유지 ## / \
        **제5조 (비밀유지)** / **제5조** (비밀유지) / __제5조 비밀유지__ / 제5조\n(비밀유지) / \
        제5조\n\n【비밀유지】 / 제5조 (비밀유지)\n---";
    for line in lines.split(" / ") {
        check_heading(line, "제5조 (비밀유지)", "");
    }
    check_heading("제5조", "제5조", "");
    check_heading("제5조의2 (정의)", "제5조의2 (정의)", "");
    check_heading("제 5 조의 2【정의】", "제5조의2 (정의)", "");
    check_heading("제5조 (권리(저작권)의 귀속)", "제5조 (권리(저작권)의 귀속)", "");
}

#[test]
fn a_sentence_may_follow_its_heading_on_the_line() {
    check_heading("제5조(비밀유지) 당사자는 비밀을 지킨다.", "제5조 (비밀유지)", "당사자는 비밀을 지킨다.\n");
    check_heading("제5조(비밀유지)① 당사자는 지킨다.", "제5조 (비밀유지)", "① 당사자는 지킨다.\n");
    check_heading("제5조【비밀】: １항은 그대로 둔다.", "제5조 (비밀)", "１항은 그대로 둔다.\n");
    // Without a title, where the number follows the last one.
    let sentence = "당사자는 이 계약에 관하여 알게 된 비밀을 지킨다.";
    check_heading(&format!("제5조 {sentence}"), "제5조", &format!("{sentence}\n"));
    check_heading("제5조 ① 당사자는 지킨다.", "제5조", "① 당사자는 지킨다.\n");
    check_text(&format!("제9조 {sentence}"));
}

#[test]
fn references_at_the_start_of_a_line_are_text() {
    let lines = "제5조에 따라 비밀을 지킨다. / 제5조의 규정에도 불구하고 그러하다. / \
        제5조를 위반한 때에는 배상한다. / 제5조(비밀유지)에 따른 의무 / \
        제5조(비밀유지)제1항의 의무 / 제5조(비밀유지) 제1항에 따른 의무 / \
        제5조 (비밀유지) 및 제6조 (해지)에 따른다 / 제5조, 제6조 및 제7조 / 제5조 및 제6조 / \
        제5조 내지 제7조 / 제5조~제7조 / 제5조-제7조 / 제5조 제2항 단서 / \
        제5조 제2항에 따라 당사자는 이 계약을 해지할 수 있다. / - 제5조 (비밀유지) / \
        > 제5조 (비밀유지) / | 제5조 (비밀유지) | 내용 | / 1. 제5조 (비밀유지) / \
        이 계약 제5조 (비밀유지) / 제5항 (비밀유지) / 제12345조 (비밀유지) / 제조 (비밀유지)";
    for line in lines.split(" / ") {
        check_text(line);
    }
}

#[test]
fn a_title_without_brackets_needs_an_end_before_it() {
    // A sentence that was broken where a reference stands.
    let text = "제4조 (앞)\n당사자는 비밀을 지키고\n제5조 위반 시의 책임\n을 진다.\n";
    check(text, &["제4조 (앞)"]);
    check(&text.replace("지키고", "지킨다."), &["제4조 (앞)", "제5조 (위반 시의 책임)"]);
    check(&text.replace("지키고", "지키고\n"), &["제4조 (앞)", "제5조 (위반 시의 책임)"]);
}

#[test]
fn english_headings_are_read_too_beside_korean_ones() {
    let lines = "Article 5 (Term of Contract) / Article 5. Term of Contract / Article 5: Term of Contract / \
        Article 5 - Term of Contract / Article 5 — Term of Contract / \
        ## Article 5 — Term of Contract / **Article 5. Term of Contract** / \
        Article 5 Term of Contract / ARTICLE 5. Term of Contract / Article V. Term of Contract / \
        Article 5.\n(Term of Contract) / # Article 5 Term of Contract";
    for line in lines.split(" / ") {
        check_heading(line, "Article 5 (Term of Contract)", "");
    }
    check_heading("Article 5", "Article 5", "");
    check_heading("ARTICLE XIV - FEES", "Article 14 (FEES)", "");
    check_heading("Article 5-2 (Data)", "Article 5-2 (Data)", "");
    check_heading("## Article 5 — the term", "Article 5 (the term)", "");
    check_heading("Article 5. Term. It is a year.", "Article 5 (Term)", "It is a year.\n");
    let sentence = "The term is one year, and then another.";
    check_heading(&format!("Article 5. {sentence}"), "Article 5", &format!("{sentence}\n"));
    check_heading("Article 5 (Term) It is a year.", "Article 5 (Term)", "It is a year.\n");
    // Two languages in one contract are two series of articles.
    let text =
        "제1조 (목적)\n목적이다.\nArticle 1 (Purpose)\nA purpose.\n제2조 (기간) Article 2 (Term)\n1년이다.";
    check(text, &["제1조 (목적)", "Article 1 (Purpose)", "제2조 (기간)"]);
    assert_eq!(of(text).parts()[2].text, "Article 2 (Term)\n1년이다.");
}

#[test]
fn english_references_at_the_start_of_a_line_are_text() {
    let lines = "Article 5 shall apply to them. / Article 5 and Article 6 / Article 5.2 says so. / \
        Article 5 (Term) shall apply. / Article 5 of this Agreement / article 5 / Article five / \
        Articles 5 and 6 / Article 5, paragraph 2 / \
        Article 9. The term is one year and may be extended by agreement.";
    for line in lines.split(" / ") {
        check_text(line);
    }
}

#[test]
fn the_preamble_chapters_annexes_and_supplementary_provisions_are_kept_apart() {
    let text = "용역계약서\n갑과 을은 다음과 같이 계약한다.\n\n제1장 총칙\n\n제1조 (목적)\n목적이다.\n\
                제2장 의무\n제2절 을의 의무\n제2조 (의무)\n의무이다. 별지 1에 따른다.\n별지 1과 같다.\n\n\
                부 칙 <2025. 1. 1.>\n제1조 (시행일)\n서명한 날부터 시행한다.\n\n[별지 제01호 서식] 명세\n표이다.\n\n별첨\n끝이다.";
    check(text, &["전문", "제1조 (목적)", "제2조 (의무)", "부칙 제1조 (시행일)", "별지 1 (명세)", "별첨"]);
    let contract = of(text);
    let chapters: Vec<Option<&str>> = contract.parts().iter().map(|part| part.chapter.as_deref()).collect();
    assert_eq!(chapters, [None, Some("제1장 총칙"), Some("제2절 을의 의무"), None, None, None]);
    assert_eq!(contract.parts()[0].text, "용역계약서\n갑과 을은 다음과 같이 계약한다.");
    assert_eq!(contract.parts()[2].text, "의무이다. 별지 1에 따른다.\n별지 1과 같다.");
    let text = "Between us.\nPART I. GENERAL\nArticle 1. Term\nOne year.\nSchedule of fees follows.\n\nAnnex A (Fees)\n100.\nExhibit 2\nA plan.";
    check(text, &["Preamble", "Article 1 (Term)", "Annex A (Fees)", "Exhibit 2"]);
}

#[test]
fn a_markdown_heading_below_an_article_belongs_to_it_and_one_beside_it_does_not() {
    let text = "# 계약서\n## 제1조 (목적)\n### 범위\n안이다.\n## 서명\n갑 (인)\n";
    check(text, &["전문", "제1조 (목적)", "서명"]);
    assert_eq!(of(text).parts()[1].text, "### 범위\n안이다.");
    check("제1조 (목적)\n목적이다.\n# 서명\n갑", &["제1조 (목적)", "서명"]);
}

#[test]
fn no_name_of_a_part_is_longer_than_a_line() {
    let long = "가나".repeat(5_000);
    for heading in
        ["# ", "# 제2조 ", "# 별지 1 ", "# 제2장 ", "# Annex A ", "# Article 2 — ", "제2조 (", "별지 1 "]
    {
        let contract = of(&format!("# 제1조 (목적)\n목적이다.\n\n{heading}{long}\n내용이다."));
        for line in contract.outline() {
            assert!(line.chars().count() < 200, "{heading}");
        }
    }
}

#[test]
fn no_two_parts_have_the_same_name() {
    let text = "제1조 (목적)\n하나.\n제1조 (목적)\n둘.\n제1조\n셋.\n부칙\n제1조 (시행일)\n넷.\n부칙\n제1조 (시행일)\n다섯.";
    check(
        text,
        &["제1조 (목적)", "제1조 [2] (목적)", "제1조 [3]", "부칙 제1조 (시행일)", "부칙 [2] 제1조 (시행일)"],
    );
}

#[test]
fn a_table_of_contents_is_no_part() {
    let body = "제1조 (목적)\n목적이다.\n제2조 (정의)\n정의이다.\n부칙\n제1조 (시행일)\n오늘이다.\n별지 1 (명세)\n표이다.";
    let expected = ["전문", "제1조 (목적)", "제2조 (정의)", "부칙 제1조 (시행일)", "별지 1 (명세)"];
    check(&format!("목차\n제1조 (목적)\n제2조 (정의)\n별지 1 (명세)\n\n갑과 을의 계약\n\n{body}"), &expected);
    check(
        &format!("목차\n제1조 (목적) ........ 1\n제2조 (정의) ··· 2\n\n갑과 을의 계약\n\n{body}"),
        &expected,
    );
    let contract = of(&format!("목차\n제1조 (목적) …… 1\n제2조 (정의) …… 12\n갑과 을의 계약\n{body}"));
    assert_eq!(contract.outline(), expected);
    assert_eq!(contract.parts()[0].text, "목차\n\n갑과 을의 계약");
}

#[test]
fn line_ends_marks_and_decomposed_letters_do_not_matter() {
    use unicode_normalization::UnicodeNormalization;
    let plain = "전제이다.\n제1조 (목적)\n목적이다.\n제2조의2 (정의)\n정의이다.";
    let expected = of(plain);
    let decomposed: String = plain.nfd().collect();
    assert_ne!(decomposed, plain);
    for text in [plain.replace('\n', "\r\n"), format!("\u{feff}{plain}"), decomposed] {
        assert_eq!(of(&text).parts(), expected.parts(), "{text:?}");
    }
}

#[test]
fn a_text_without_articles_or_with_too_many_is_refused_with_what_was_expected() {
    check_refused("", "expected articles with headings such as");
    check_refused("친애하는 귀하께\n제5조에 따라 알린다.", "none");
    check_refused("# Notes\n## Annex A\ntext", "none");
    check_refused(&"x".repeat((8 << 20) + 1), "expected at most 8388608 bytes, found 8388609");
    let many: String = (0..10_001).map(|at| format!("제{}조 (가)\n나\n", at % 9_000)).collect();
    check_refused(&many, "expected at most 10000 articles and other parts");
    let same = "제1조 (가)\n나\n".repeat(9_000);
    assert_eq!(of(&same).parts()[8_999].label, "제1조 [9000]");
    // One line of any length is text.
    let long = format!("제1조 (가)\n{}", "제2조 가 ".repeat(500_000));
    assert_eq!(of(&long).parts().len(), 1);
}

#[test]
fn files_are_read_as_text_or_refused_with_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let text = "제1조 (목적)\n목적이다.";
    let utf16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf8 = Articles::open(write("계약서.md", text.as_bytes())).unwrap();
    assert_eq!((utf8.name(), utf8.outline()), ("계약서.md", vec!["제1조 (목적)".to_owned()]));
    assert_eq!(Articles::open(write("u16.txt", &utf16)).unwrap().parts(), utf8.parts());
    for (name, bytes, expected) in [
        ("a.pdf", &b"%PDF-1.7\n\0\xff"[..], "expected Markdown or plain text in UTF-8"),
        ("euc-kr.txt", b"\xc1\xa61\xc1\xb6", "expected Markdown or plain text in UTF-8"),
        ("empty.md", b"", "expected articles"),
    ] {
        let error = Articles::open(write(name, bytes)).unwrap_err();
        assert!(error.message.contains(name) && error.message.contains(expected), "{error}");
    }
    let error = Articles::open(folder.path().join("missing.md")).unwrap_err();
    assert!(error.message.contains("missing.md: the contract cannot be read"), "{error}");
    let error = Articles::open(write("large.md", &vec![b'x'; (8 << 20) + 1])).unwrap_err();
    assert!(error.message.contains("expected at most 8388608 bytes"), "{error}");
}

#[test]
fn the_shipped_contracts_are_read_whole() {
    let user = Articles::example();
    let labels: Vec<&str> = user.parts().iter().map(|part| part.label.as_str()).collect();
    assert_eq!(labels[..3], ["전문", "제1조", "제2조"]);
    assert_eq!(labels[labels.len() - 4..], ["제13조", "제14조", "부칙 제1조", "별지 1"]);
    assert!(labels.contains(&"제10조의2"));
    assert_eq!(labels.len(), 18);
    assert!(user.parts().iter().all(|part| !part.text.is_empty()));
    assert_eq!(user.parts()[1].chapter.as_deref(), Some("제1장 총칙"));
    let standard = Articles::example_standard();
    assert_eq!(standard.parts().len(), 17);
    // They are about the same things and say something else.
    for title in ["비밀유지", "손해배상", "계약의 해지", "이용 요금"] {
        let of = |contract: &Articles| {
            let part = contract.parts().iter().find(|part| part.title.as_deref() == Some(title));
            part.unwrap().text.clone()
        };
        assert_ne!(of(&user), of(&standard));
    }
    let english = Articles::parse("service.en.md", include_str!("../data/service.en.md")).unwrap();
    let outline = "Preamble | Article 1 (Purpose) | Article 2 (Definitions) | Article 3 (Term) | Article 4 (Fees) | \
         Article 5 (Confidentiality) | Article 5-2 (Personal Data) | Article 6 (Termination) | \
         Annex A (Service levels)";
    assert_eq!(english.outline().join(" | "), outline);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_a_panic_and_no_two_parts_share_a_label(
        lines in prop::collection::vec("(#{0,3} ?|\\*\\*)?(제 ?[0-9]{1,3} ?[조장]|Article [0-9IVX]{1,3}|부칙|별지 1)?(의[0-9])?[ .:(【]{0,2}[가-하a-cA-C①다]{0,4}[)】]?[ .]{0,2}[가-하A-C]{0,3}|\\PC{0,20}", 0..20)
    ) {
        let text = format!("{}\n제1조 (끝)\n끝이다.", lines.join("\n"));
        let contract = Articles::parse("a.md", &text).unwrap();
        let outline = contract.outline();
        let labels: std::collections::BTreeSet<&str> = contract.parts().iter().map(|part| part.label.as_str()).collect();
        prop_assert_eq!(labels.len(), outline.len());
        prop_assert_eq!(contract.parts().last().map(|part| part.text.as_str()), Some("끝이다."));
    }
}
