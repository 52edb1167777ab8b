//! Spoken calculations, English and Korean, rewritten as expressions. Each rule is a pattern and its meaning.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

/// Signs in words. `÷` and `−` are never anything but arithmetic, so they stand for the words.
const SIGNS: [(&str, &str); 5] = [
    ("+", "plus|더하기|플러스"),
    ("−", "minus|빼기|마이너스"),
    ("*", "times|multiplied by|곱하기"),
    ("÷", "divided by|나누기"),
    ("^", "(?:raised )?to the power of"),
];
/// Korean verbs behind two numbers.
const VERBS: [(&str, &str); 4] = [
    ("+", "더하면|더한|더해|합"),
    ("−", "빼면|뺀|빼|차"),
    ("*", "곱하면|곱한|곱해|곱"),
    ("÷", "나누면|나눈|나눠"),
];
/// Phrases and what they mean; `{n}` is a number, `{u}` an English unit.
const PHRASES: [(&str, &str); 27] = [
    (r"(?:the )?(?:sum|total) of {n} and {n}", "$1 + $2"),
    (r"(?:the )?difference (?:between|of) {n} and {n}", "$1 − $2"),
    (r"(?:the )?product of {n} and {n}", "$1 * $2"),
    (r"(?:the )?quotient of {n} and {n}", "$1 ÷ $2"),
    (r"(?:the )?square root of {n}|(?:√|루트) ?{n}|{n}의 ?제곱근", "sqrt($1$2$3)"),
    (r"(?:the )?cube root of {n}|{n}의 ?세제곱근", "cbrt($1$2)"),
    (r"(?:the )?square root of \(|√ ?\(", "sqrt("),
    (r"\blog(?:10)? ?\(", "log10("),
    (r"{n} squared|{n}²|{n}의 ?제곱", "$1$2$3^2"),
    (r"{n} cubed|{n}³|{n}의? ?세제곱", "$1$2$3^3"),
    (r"{n}의 ?{n} ?제곱", "$1^$2"),
    (r"{n} ?제곱", "$1^2"),
    (r"what (?:percent|percentage|%) of {n} is {n}", "$2/$1 in %"),
    (r"{n} is what (?:percent|percentage|%) of {n}", "$1/$2 in %"),
    (r"{n}[은는이가] ?{n}의 ?몇 ?(?:퍼센트|프로|%)", "$1/$2 in %"),
    (r"{n} ?(?:percent\b|퍼센트)", "$1%"),
    (r"{n} ?프로([는은를의가이?\s]|$)", "$1%$2"),
    (r"{n}의 ?{n}%", "$2% of $1"),
    (r"섭씨 ?{n} ?도|{n} ?° ?c\b", "$1$2 celsius"),
    (r"화씨 ?{n} ?도|{n} ?° ?f\b", "$1$2 fahrenheit"),
    (r"in ° ?c\b", "in celsius"),
    (r"in ° ?f\b", "in fahrenheit"),
    (r"\bdegrees? (celsius|fahrenheit|kelvin)", "$1"),
    (r"{n} in (in|to|into) ", "$1 inches $2 "),
    (r"\bm²", "m^2"),
    (r"how many {u} (?:is|are|in|make|equals?)(?: there)?(?: in)? (?:an?|one) {u}", "1 $2 in $1"),
    (r"how many {u} (?:is|are|in|make|equals?)(?: there)?(?: in)? {n} ?{u}", "$2 $3 in $1"),
];
/// Korean units and what fend calls them.
pub(super) const UNITS: &str = "킬로미터 km 센티미터 cm 센티 cm 밀리미터 mm 제곱킬로미터 km^2 제곱미터 m^2 평방미터 m^2 미터 m 마일 miles
    야드 yards 피트 feet 인치 inches 헥타르 hectares 에이커 acres 킬로그램 kg 밀리그램 mg 그램 g 킬로바이트 KB
    메가바이트 MB 기가바이트 GB 테라바이트 TB 바이트 bytes 비트 bits 킬로 kg 파운드 pounds 온스 ounces 톤 tonnes
    밀리리터 ml 리터 liters 갤런 gallons 밀리초 ms 초 seconds 분 minutes 시간 hours 일 days 주 weeks 년 years
    섭씨 celsius 화씨 fahrenheit 켈빈 kelvin";
const NUMBER_WORDS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

const NUMBER: &str = r"(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)";
const UNIT: &str = r"([a-z]+(?:/[a-z]+)?)";

/// A pattern of this module: `{n}` is a number, `{u}` an English unit, and case says nothing.
pub(super) fn regex(pattern: &str) -> Regex {
    let pattern = pattern.replace("{n}", NUMBER).replace("{u}", UNIT);
    Regex::new(&format!("(?i){pattern}")).expect("every pattern of arithmetic/ is compiled by its tests")
}

/// All rewriting, in its order.
static REWRITES: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
    let phrases = PHRASES.iter().map(|(pattern, meaning)| (regex(pattern), (*meaning).to_owned()));
    // A sign's right side is the left side of the next, so every other one is left to a second pass.
    let signs = SIGNS.iter().chain(&SIGNS).map(|(sign, words)| {
        let pattern = format!(r"([\d)%]) ?(?:{words}) ?(-?\d|\(|sqrt|pi\b)");
        (regex(&pattern), format!("$1 {sign} $2"))
    });
    let verbs = VERBS.iter().map(|(sign, verbs)| {
        let pattern =
            format!("{{n}}(?:에서|에|을|를|과|와|하고|이랑) ?{{n}}(?:을|를|으로|로|의)? ?(?:{verbs})");
        (regex(&pattern), format!("$1 {sign} $2"))
    });
    phrases.chain(signs).chain(verbs).collect()
});
/// `5킬로미터는 몇 마일`, `5km를 마일로`, `30 celsius는 화씨로 몇 도`.
static CONVERT: LazyLock<Regex> = LazyLock::new(|| {
    let unit = korean_unit();
    let asked = format!(r"몇 ?{unit}|{unit}(?:으로|로)(?: ?몇 ?도)?|{unit} ?몇 ?도");
    regex(&format!(r"{{n}} ?{unit}(?:은|는|이|가|을|를|면)? ?(?:{asked})"))
});
static QUANTITY: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"{{n}} ?{}", korean_unit())));
static NUMBER_WORD: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"\b({})\b", NUMBER_WORDS.join("|"))));
/// Words that ask for a value.
pub(super) static CUE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:calculate|compute|evaluate|solve|convert|work out)\b|=|(?:계산|환산|변환|바꾸|바꿔|구해)[가-힣]*",
    )
});

fn korean_unit() -> String {
    let names: Vec<&str> = UNITS.split_whitespace().step_by(2).collect();
    format!("({}|[a-z]+)", names.join("|"))
}

/// The question with its spoken arithmetic written out.
pub(super) fn rewrite(question: &str) -> String {
    let mut text = question.replace(['$', '€', '£', '₩'], "");
    if !text.contains(|c: char| c.is_ascii_digit()) {
        // `How many feet are in a mile?` is the one question that is asked without a number.
        let (regex, meaning) = &REWRITES[PHRASES.len() - 2];
        return regex.replace_all(&text, meaning.as_str()).into_owned();
    }
    text = NUMBER_WORD.replace_all(&text, |found: &Captures<'_>| number_word(&text, found)).into_owned();
    for (regex, meaning) in REWRITES.iter() {
        text = regex.replace_all(&text, meaning.as_str()).into_owned();
    }
    let group = |found: &Captures<'_>, at: usize| found.get(at).map_or("", |found| found.as_str()).to_owned();
    let convert = |found: &Captures<'_>| {
        let to: String = (3..6).map(|at| group(found, at)).collect();
        format!("{} {} in {}", group(found, 1), unit_name(&group(found, 2)), unit_name(&to))
    };
    text = CONVERT.replace_all(&text, convert).into_owned();
    // `3킬로미터 + 200미터`
    let quantity = |found: &Captures<'_>| {
        let beside = found.get(0).is_some_and(|whole| {
            let signs = ['+', '-', '*', '/', '−', '÷'];
            text[..whole.start()].trim_end().ends_with(signs)
                || text[whole.end()..].trim_start().starts_with(signs)
        });
        let unit = group(found, 2);
        if beside { format!("{} {}", group(found, 1), unit_name(&unit)) } else { group(found, 0) }
    };
    QUANTITY.replace_all(&text, quantity).into_owned()
}

/// What fend calls a Korean unit.
fn unit_name(word: &str) -> &str {
    let mut pairs = UNITS.split_whitespace();
    let korean = pairs.position(|name| name == word).filter(|at| at % 2 == 0);
    korean.and_then(|_| pairs.next()).unwrap_or(word)
}

/// The number of a word beside a sign in words; any other word stays (`one of the plans`).
fn number_word(text: &str, found: &Captures<'_>) -> String {
    let Some(whole) = found.get(0) else { return String::new() };
    let (before, behind) = (text[..whole.start()].to_lowercase(), text[whole.end()..].to_lowercase());
    let beside = |sign: &str| before.trim_end().ends_with(sign) || behind.trim_start().starts_with(sign);
    let signs = ["plus", "minus", "times", "divided by", "multiplied by"];
    let value = NUMBER_WORDS.iter().position(|word| whole.as_str().eq_ignore_ascii_case(word));
    let value = value.filter(|_| signs.into_iter().any(beside));
    value.map_or_else(|| whole.as_str().to_owned(), |value| value.to_string())
}
