//! What is arithmetic in a question and what is not.

use super::rewrite::UNITS;
use super::run::evaluates;
use super::*;

/// Questions and their expressions.
const EXPRESSIONS: &str = "What is 345*872? => 345*872 | 12/4+9 은 얼마야? => 12/4+9 | 1,234 * 2 = ? => 1234 * 2
    calculate (3 + 4) * 5 please => (3 + 4) * 5 | 2**10 => 2^10 | 3 × 4 ÷ 6 => 3 * 4 / 6
    Compute 10-3. => 10-3 | 24/7 = ? => 24/7 | sqrt(16)+2 => sqrt(16)+2 | What is -3 + 4? => -3 + 4
    5! 은? => 5! | How much is $12.50 * 3? => 12.50 * 3 | 3 km + 200 m => 3 km + 200 m
    3킬로미터 + 200미터 => 3 km + 200 m | What is 3x4? => 3*4 | 2*pi => 2*pi | log(1000)*2 => log10(1000)*2
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
fn what_is_asked_becomes_an_expression_with_a_value() {
    for row in EXPRESSIONS.split(['|', '\n']) {
        let (question, expected) =
            row.split_once(" => ").expect("every row is a question and its expression");
        assert_eq!(find(question.trim()).expressions, [expected.trim()], "{question}");
        assert!(evaluates(expected.trim()), "{expected}");
    }
    assert_eq!(find("What is 3+4 and what is 5*6?").expressions, ["3+4", "5*6"]);
    // What has no value is taken whole, and `calc` says why.
    assert_eq!(find("12*(3+4").expressions, ["12*(3+4"]);
    assert_eq!(find("1/0?").expressions, ["1/0"]);
}

#[test]
fn fend_reads_every_unit_that_is_written_for_it() {
    for unit in UNITS.split_whitespace().skip(1).step_by(2) {
        assert!(evaluates(&format!("2 {unit}")), "{unit}");
    }
}

#[test]
fn numbers_that_are_not_calculated_with_are_left_alone() {
    for question in NO_EXPRESSIONS.split(['|', '\n']) {
        assert_eq!(find(question.trim()).expressions, [""; 0], "{question}");
    }
}

#[test]
fn the_rest_of_the_question_is_kept() {
    for (question, expected) in [
        ("What is 3*4?", "What is \u{1} ?"),
        ("What is 3*4 and what is a journal?", "What is \u{1} and what is a journal?"),
        ("3*4는 얼마고 저널은 뭐야?", "\u{1} 는 얼마고 저널은 뭐야?"),
        ("What is a journal?", "What is a journal?"),
    ] {
        let rest: Vec<String> = find(question).rest.split_whitespace().map(str::to_owned).collect();
        assert_eq!(rest.join(" "), expected, "{question}");
    }
}
