//! What is arithmetic in a question and what is not.

use super::find;

fn check(question: &str, expected: &[&str]) {
    assert_eq!(find(question).expressions, expected, "{question}");
}

#[test]
fn expressions_are_taken_out_of_the_sentence() {
    check("What is 345*872?", &["345*872"]);
    check("12/4+9 은 얼마야?", &["12/4+9"]);
    check("12/4+9?", &["12/4+9"]);
    check("1,234 * 2 = ?", &["1234 * 2"]);
    check("calculate (3 + 4) * 5 please", &["(3 + 4) * 5"]);
    check("What's 2^10?", &["2^10"]);
    check("2**10", &["2^10"]);
    check("3 × 4 ÷ 6", &["3 * 4 / 6"]);
    check("Compute 10-3.", &["10-3"]);
    check("What is 10-3?", &["10-3"]);
    check("24/7 = ?", &["24/7"]);
    check("sqrt(16)+2", &["sqrt(16)+2"]);
    check("What is -3 + 4?", &["-3 + 4"]);
    check("5! 은?", &["5!"]);
    check("How much is $12.50 * 3?", &["12.50 * 3"]);
    check("3 km + 200 m", &["3 km + 200 m"]);
    check("What is 3x4?", &["3*4"]);
    check("2*pi", &["2*pi"]);
    check("What is 3+4 and what is 5*6?", &["3+4", "5*6"]);
}

#[test]
fn spoken_arithmetic_is_written_down() {
    check("3 plus 4", &["3 + 4"]);
    check("What is 12 divided by 4?", &["12 / 4"]);
    check("What is 2 to the power of 8?", &["2 ^ 8"]);
    check("the square root of 144", &["sqrt(144)"]);
    check("9 squared", &["9^2"]);
    check("15% of 80", &["15% of 80"]);
    check("what is 15 percent of 80", &["15% of 80"]);
    check("What percent of 80 is 20?", &["20/80 in %"]);
    check("20 is what percent of 80?", &["20/80 in %"]);
    check("What is the sum of 3 and 4?", &["3 + 4"]);
    check("difference between 10 and 3", &["10 - 3"]);
    check("3 더하기 4", &["3 + 4"]);
    check("10 빼기 3은 얼마인가요?", &["10 - 3"]);
    check("6곱하기7은?", &["6 * 7"]);
    check("2의 10제곱", &["2^10"]);
    check("5의 제곱은?", &["5^2"]);
    check("144의 제곱근은 얼마야?", &["sqrt(144)"]);
    check("80의 15%는?", &["15% of 80"]);
    check("80의 15퍼센트를 계산해줘", &["15% of 80"]);
    check("20은 80의 몇 퍼센트야?", &["20/80 in %"]);
    check("3에 4를 더하면 얼마야?", &["3 + 4"]);
    check("10에서 3을 빼면?", &["10 - 3"]);
    check("3과 4의 합은?", &["3 + 4"]);
}

#[test]
fn conversions_are_written_down() {
    check("How many miles is 5 km?", &["5 km in miles"]);
    check("5 km in miles", &["5 km in miles"]);
    check("convert 5km to miles", &["5 km in miles"]);
    check("5킬로미터는 몇 마일이야?", &["5 km in miles"]);
    check("5km는 몇 마일인가요?", &["5 km in miles"]);
    check("5킬로미터를 마일로 바꿔줘", &["5 km in miles"]);
    check("How many feet are in a mile?", &["1 miles in feet"]);
    check("100 degrees fahrenheit in celsius", &["100 fahrenheit in celsius"]);
    check("What is 30°C in °F?", &["30 celsius in fahrenheit"]);
    check("섭씨 30도는 화씨로 몇 도야?", &["30 celsius in fahrenheit"]);
    check("화씨 100도는 섭씨 몇 도?", &["100 fahrenheit in celsius"]);
    check("60 mph in km/h", &["60 mph in km/h"]);
    check("2 GB in MB", &["2 GB in MB"]);
    check("3시간은 몇 분이야?", &["3 hours in minutes"]);
    check("1/2 cup in ml", &["1/2 cups in ml"]);
    check("5 in to cm", &["5 inches in cm"]);
}

#[test]
fn numbers_that_are_not_calculated_with_are_left_alone() {
    for question in [
        "What happened on 2024-05-01?",
        "Is 12/25/2024 a holiday?",
        "Call 555-123-4567",
        "전화번호 010-1234-5678 은 누구야?",
        "What is new in 1.2.3?",
        "Does version 2.0.1 fix it?",
        "Is C++ faster than C?",
        "What changed from C++17 to C++20?",
        "Is this a 9-to-5 job?",
        "Read Gen 2 §1",
        "What is covered on pages 10-15 of the guide?",
        "Is the shop open 24/7?",
        "What is GPT-4?",
        "Explain utf-8 and base64",
        "COVID-19는 뭐야?",
        "What does HTTP 404 mean?",
        "Meet at 10:30",
        "192.168.0.1/24 is which network?",
        "What is a 2x4 board?",
        "How many miles did she run?",
        "3장과 4장의 내용은?",
        "2024년 3/4분기 실적은?",
        "It took 3 hours 20 minutes, why?",
        "max_replans = 2 means what?",
        "Solve x+5*3",
        "What do you get for ages 18+ in the park?",
        "How many days is the trial?",
        "10% off",
        "1914-1918 전쟁의 원인은?",
        "the plan-then-execute agent",
        "",
    ] {
        check(question, &[]);
    }
}

#[test]
fn the_rest_of_the_question_is_kept() {
    let check = |question: &str, expected: &str| {
        let rest: String = find(question).rest.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(rest, expected, "{question}");
    };
    check("What is 3*4?", "\u{1} ?");
    check("What is 3*4 and what is a journal?", "\u{1} and what is a journal?");
    check("3*4는 얼마고 저널은 뭐야?", "\u{1} ? 저널은 뭐야?");
    check("What is a journal?", "What is a journal?");
}

#[test]
fn calc_reads_what_is_taken_out() {
    for question in [
        "345*872",
        "12/4+9 은 얼마야?",
        "15 percent of 80",
        "80의 15%는?",
        "20은 80의 몇 퍼센트야?",
        "섭씨 30도는 화씨로 몇 도야?",
        "the cube root of 27",
        "3 km + 200 m",
        "2의 10제곱",
        "1,234 x 2 =",
        "log(1000)*2",
        "5!",
    ] {
        let found = find(question).expressions;
        let result = fend_core::evaluate(&found[0], &mut fend_core::Context::new());
        assert!(result.is_ok(), "{question}: {found:?}: {result:?}");
    }
}
