//! How the offline model reads words, arithmetic, Markdown and the shapes of results, seen from outside.

use crate::offline_specs;

use offline_specs::{ask, result, shipped};
use planwright::agents;
use planwright::contract::Before;
use planwright::ports::{Tool, ToolCall};
use planwright::spec::RoleName;
use planwright_docs::Calc;
use serde_json::json;

/// The rows `question => expected` of a table.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.split(['|', '\n']).filter_map(|row| row.split_once("=>"));
    rows.map(|(question, expected)| (question.trim(), expected.trim()))
}

/// What the documents and `calc` are asked for a question, with `/` between.
fn asked(question: &str) -> (String, Vec<String>) {
    let mut spec = agents::shipped("validated").unwrap();
    spec.tools = ["docs", "calc"].map(|name| agents::tool(name).unwrap()).to_vec();
    let compiled = spec.check().unwrap();
    let reply =
        ask(&offline_specs::frame(&compiled, RoleName::Planner), &json!({"user_question": question}), &[]);
    let plan = compiled.plan().parse(Before::NOTHING, &reply.text, 100_000).unwrap().plan;
    let of = |tool: &str| -> Vec<String> {
        let steps = plan.steps.iter().filter(|step| step.tool == tool);
        steps.map(|step| step.input.as_ref().unwrap().as_str().unwrap().to_owned()).collect()
    };
    (of("docs").join(" / "), of("calc"))
}

#[test]
fn a_question_is_about_its_content_words_in_its_parts() {
    for (question, expected) in rows("What is a finite state machine? => finite state machine | What does max_replans do? => max_replans
        Who wrote Cargo.toml? => wrote Cargo.toml | Is C++ faster than C#? => C++ faster C#
        Explain the plan-then-execute agent, please. => plan-then-execute agent
        Which HTTP status is 404? => HTTP status 404 | Please help me => | hello =>
        What is `std::fs::read`? => std::fs::read | plan plans planning => plan | 유한 상태 기계가 뭐야? => 유한 상태 기계
        max_replans는 무엇이고 어떻게 쓰나요? => max_replans | 사과와 도로에 대해 알려줘 => 사과 도로
        LLM은 왜 계획을 먼저 세우나요? => LLM 계획 먼저 세우 | 설명서는 어디에 있나요? => 설명서
        재계획은 몇 번까지 가능한가요? => 재계획 가능 | 안녕 => | 문서까지만 검색하려면 어떻게 해야 하나요? => 문서 검색
        상태기계에서는 => 상태기계 | 검색으로 => 검색 | 서울에게도 => 서울 | 나이 => 나이 | 회의에서 => 회의 | 고양이 => 고양이
        고속도로 => 고속도로 | 무제한 => 무제한 | 전문가 => 전문가 | 파일들을 => 파일 | 화면 => 화면 | 신청받으려면 => 신청 | 신청했는데 => 신청
        How does the journal survive a crash? => journal survive crash
        Who sang with Simon and Garfunkel? => sang Simon / Garfunkel | What is salt and pepper? => salt pepper
        What is a journal? What is a fixture? => journal / fixture
        What is a journal and how does replay work? => journal / replay work
        What do max_replans and max_repairs mean? => max_replans / max_repairs
        planner vs replanner => planner / replanner | 저널과 픽스처의 차이는? => 저널 / 픽스처
        환불 기한과 교환 기한을 알려줘 => 환불 기한 / 교환 기한 | 저널은 뭐고 픽스처는 뭐야? => 저널 / 픽스처
        What is the journal, and where is it stored? => journal / journal stored
        저널이 뭐야? 그것은 어디에 저장되나요? => 저널 / 저널 저장 | What is 3*4? =>
        3*4는 얼마고 저널은 뭐야? => 저널 | If I have 3 + 4 apples, what is a journal? => apples / journal") {
        assert_eq!(asked(question).0, expected, "{question}");
    }
}

/// Questions and their expressions.
const EXPRESSIONS: &str = "What is 345*872? => 345*872 | 12/4+9 은 얼마야? => 12/4+9 | 1,234 * 2 = ? => 1234 * 2
    calculate (3 + 4) * 5 please => (3 + 4) * 5 | 2**10 => 2^10 | 3 × 4 ÷ 6 => 3 * 4 / 6
    Compute 10-3. => 10-3 | 24/7 = ? => 24/7 | sqrt(16)+2 => sqrt(16)+2 | What is -3 + 4? => -3 + 4
    5! 은? => 5! | How much is $12.50 * 3? => 12.50 * 3 | 3 km + 200 m => 3 km + 200 m
    3킬로미터 + 200미터 => 3 km + 200 m | What is 3x4? => 3*4 | 2*pi => 2*pi | log(1000)*2 => ln(1000)*2 | log10(1000)*2 => log10(1000)*2 | 7//2 => floor(7/2)
    twenty percent of 50 => 20% of 50 | half of 90 => 90 / 2 | twice 21 => 2 * 21 | 20 C in F => 20 celsius in fahrenheit
    5천 원의 20%는 얼마야? => 20% of 5000 | 1만 5천 원의 10%는? => 10% of 15000
    3 plus 4 plus 5 => 3 + 4 + 5 | 13 divided by 4 plus nine => 13 / 4 + 9
    What is 2 to the power of 8? => 2 ^ 8 | the square root of 144 => sqrt(144)
    the cube root of 27 => cbrt(27) | 9 squared => 9^2 | 15% of 80 => 15% of 80
    what is 15 percent of 80 => 15% of 80 | What percent of 80 is 20? => 20/80 in %
    20 is what percent of 80? => 20/80 in % | What is the sum of 3 and 4? => 3 + 4
    difference between 10 and 3 => 10 - 3 | 3 더하기 4 => 3 + 4 | 10 빼기 3은 얼마인가요? => 10 - 3 | 6곱하기7은? => 6 * 7
    2의 10제곱 => 2^10 | 5의 제곱은? => 5^2 | 144의 제곱근은 얼마야? => sqrt(144) | 80의 15%는? => 15% of 80
    80의 15퍼센트를 계산해줘 => 15% of 80 | 20은 80의 몇 퍼센트야? => 20/80 in % | 3에 4를 더하면 얼마야? => 3 + 4
    10에서 3을 빼면? => 10 - 3 | 3과 4의 합은? => 3 + 4 | How many miles is 5 km? => 5 km in miles
    convert 5km to miles => 5 km in miles | 5킬로미터는 몇 마일이야? => 5 km in miles
    5킬로미터를 마일로 바꿔줘 => 5 km in miles | How many feet are in a mile? => 1 mile in feet
    100 degrees fahrenheit in celsius => 100 fahrenheit in celsius
    What is 30°C in °F? => 30 celsius in fahrenheit | 섭씨 30도는 화씨로 몇 도야? => 30 celsius in fahrenheit
    화씨 100도는 섭씨 몇 도? => 100 fahrenheit in celsius | 60 mph in km/h => 60 mph in km/h
    2 GB in MB => 2 GB in MB | 3시간은 몇 분이야? => 3 hours in minutes | 1/2 cup in ml => 1/2 cup in ml
    3킬로그램은 몇 그램? => 3 kg in g | 2 온스는 몇 그램? => 2 ounces in g | 2헥타르는 몇 에이커? => 2 hectares in acres
    12/4+9^2, in hex? => 12/4+9^2 in hex | What is 255 in hexadecimal? => 255 in hex | Convert 255 to binary => 255 in binary
    (8 + 1) * 8 in base 7 => (8 + 1) * 8 in base 7 | 255를 16진수로 바꿔줘 => 255 in hex | 10은 2진수로 얼마야? => 10 in binary
    5 in to cm => 5 inches in cm | 5 ft 11 in in cm => 5 ft + 11 inches in cm
    5 m^2 in cm^2 => 5 m^2 in cm^2 | 3 hours 20 minutes in seconds => 3 hours + 20 minutes in seconds";
/// Questions without any.
const NO_EXPRESSIONS: &str = "What happened on 2024-05-01? | Is 12/25/2024 a holiday? | Call 555-123-4567 | 전화번호 010-1234-5678 은 누구야?
    What is new in 1.2.3? | Does version 2.0.1 fix it? | Is C++ faster than C?
    What changed from C++17 to C++20? | Is this a 9-to-5 job? | Read Gen 2 §1
    What is covered on pages 10-15 of the guide? | Is the shop open 24/7? | What is GPT-4?
    Explain utf-8 and base64 | COVID-19는 뭐야? | What does HTTP 404 mean? | Meet at 10:30
    192.168.0.1/24 is which network? | What is a 2x4 board? | How many miles did she run? | 3장과 4장의 내용은?
    2024년 3/4분기 실적은? | It took 3 hours 20 minutes, why? | max_replans = 2 means what? | Solve x+5*3
    What do you get for ages 18+ in the park? | How many days is the trial? | 10% off | 1914-1918 전쟁의 원인은?
    the plan-then-execute agent";

#[test]
fn what_no_document_says_is_declined_and_not_looked_for() {
    for question in [
        "days until Christmas",
        "What date is next Tuesday?",
        "다음 주 화요일은 며칠이야?",
        "1e400",
        "3 + five hundred",
        "fifty percent of 80",
        "삼백 더하기 이십은?",
    ] {
        let payload =
            json!({"user_question": question, "tool_results": [offline_specs::docs(&[("a.md", question)])]});
        let text = ask(&shipped("validated", RoleName::Validator), &payload, &[]).text;
        assert!(
            text.contains("calendar")
                || text.contains("달력")
                || text.contains("expression")
                || text.contains("식은"),
            "{text}"
        );
    }
}

fn has_value(expression: &str) {
    let input = json!(expression);
    assert!(Calc::new().call(&ToolCall::new(&input, "k")).is_ok(), "{expression}");
}

#[test]
fn what_is_asked_becomes_an_expression_with_a_value_and_other_numbers_are_left_alone() {
    for (question, expected) in rows(EXPRESSIONS) {
        assert_eq!(asked(question).1, [expected], "{question}");
        has_value(expected);
    }
    let tables = include_str!("../../crates/offline/src/tables/arithmetic.toml");
    let tables: toml::Table = toml::from_str(tables).unwrap();
    let korean = tables["units"].as_table().unwrap().values().map(|unit| unit.as_str().unwrap());
    for unit in tables["english_units"].as_str().unwrap().split_whitespace().chain(korean) {
        has_value(&format!("2 {unit}"));
    }
    for question in NO_EXPRESSIONS.split(['|', '\n']) {
        assert_eq!(asked(question.trim()).1, [""; 0], "{question}");
    }
    assert_eq!(asked("What is 3+4 and what is 5*6?").1, ["3+4", "5*6"]);
    // What has no value is taken as a whole, and `calc` says why.
    assert_eq!(asked("12*(3+4").1, ["12*(3+4"]);
    assert_eq!(asked("(12+8)*3)").1, ["(12+8)*3)"]);
    assert_eq!(asked("1/0?").1, ["1/0"]);
    for (question, whole) in [
        ("5 times two hundred", "5 * 2 hundred"),
        ("2 days 5 hours in hours", "2 days 5 hours in hours"),
        ("convert 1 hour 20 minutes 30 seconds to seconds", "1 hour + 20 minutes 30 seconds in seconds"),
        ("10 minus two thirds", "10 - 2 thirds"),
        ("four plus five plus twenty", "4 + 5 + 20"),
        ("[3+4]*2", "[3+4]*2"),
        ("(3+4)(5+6)", "(3+4)(5+6)"),
        ("100//7//2", "floor(100/7)//2"),
        ("5 더하기 3만", "5 + 3만"),
        ("3일 4시간은 몇 시간이야?", "3일 4 hours in hours"),
    ] {
        assert_eq!(asked(question).1, [whole], "{question}: a part is never the answer to the whole");
    }
}

/// The answer out of one result; to a question that names nothing, its first sentences.
fn shown(question: &str, input: &str, output: &str) -> String {
    let results = [result("any", input, "completed", output)];
    let payload = json!({"user_question": question, "tool_results": results});
    ask(&shipped("validated", RoleName::Writer), &payload, &[]).text
}

#[test]
fn marks_of_markdown_go_and_words_stay() {
    for (text, expected) in [
        (
            "# The *machine*\n\nIt has **six** phases. See [the list](phases.md).",
            "It has six phases. See the list.",
        ),
        ("- one `a_b*c`\n- [x] two\n\n3. three\n• four", "- one `a_b*c`\n- two\n- three\n- four"),
        ("> quoted\n> text\n\n---\n", "quoted text"),
        ("![diagram](x.png) of <b>it</b><br>, see [there][there]", "diagram of it, see there"),
        ("snake_case and 2 * 3 and a*b*c", "snake_case and 2 * 3 and a*b*c"),
        ("**상태**는 _데이터_ 이다. **\"값\"**은 [1]", "상태는 데이터 이다. \"값\"은 [1]"),
        ("Vec<String> &amp; more", "Vec<String> & more"),
        ("| name | means |\n|---|---|\n| `plan` | the first |", "- name: `plan` — means: the first"),
        ("Meeting rooms\n301 Alder, 12 seats\n302 Birch", "301 Alder, 12 seats 302 Birch"),
        ("It costs 1.5 s, e.g. for reads. Then it ends.", "It costs 1.5 s, e.g. for reads. Then it ends."),
        ("Why? \"Because.\" So be it", "Why? \"Because.\" So be it"),
    ] {
        assert_eq!(shown("???", "", text), format!("{expected} [1]\n\nSources:\n[1] any"), "{text}");
    }
}

#[test]
fn the_form_of_an_output_is_told_by_its_shape() {
    let answer = "An alpha. … Another alpha. [1]\n\n- a beta\n- more beta [2]\n\nNothing was found about \"x\".\n\nSources:\n[1] a.md#B\n[2] b.md";
    for (output, expected) in [
        (
            r##"[{"source":"a.md#One","text":"alpha"},{"source":"b.md","text":"beta"}]"##,
            "alpha [1]\n\nbeta [2]\n\nSources:\n[1] a.md#One\n[2] b.md",
        ),
        (
            r#"[{"title":"T","url":"https://x.example","content":"alpha"}]"#,
            "alpha [1]\n\nSources:\n[1] T (https://x.example)",
        ),
        (
            r#"{"document":"C","articles":[{"part":"제5조","text":"alpha"}]}"#,
            "alpha [1]\n\nSources:\n[1] C, 제5조",
        ),
        (r#"[{"source":"a.md","text":"alpha"},{"source":"b.md","te"#, "alpha [1]\n\nSources:\n[1] a.md"),
        (
            "Page: Seoul\nSummary: An alpha city.\n\nPage: Korea\nSummary: A beta.",
            "An alpha city. [1]\n\nA beta. [2]\n\nSources:\n[1] Seoul\n[2] Korea",
        ),
        (
            answer,
            "An alpha. Another alpha. [1]\n\n- a beta\n- more beta [2]\n\nSources:\n[1] a.md#B\n[2] b.md",
        ),
        ("Everest is an alpha.", "Everest is an alpha. [1]\n\nSources:\n[1] Everest"),
        ("Rain is alpha.", "Rain is alpha. [1]\n\nSources:\n[1] any"),
    ] {
        let question = if output.contains("beta") { "alpha? beta?" } else { "alpha" };
        let found = shown(question, "Everest", output);
        assert!(found.starts_with(expected), "{output}: {found}");
    }
    let results = [result("calc", "1 km in miles", "completed", "approx. 0.621")];
    let payload = json!({"user_question": "???", "tool_results": results});
    let found = ask(&shipped("validated", RoleName::Writer), &payload, &[]).text;
    assert_eq!(found, "1 km in miles = approx. 0.621");
}
