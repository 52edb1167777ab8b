//! The notebook's dialogue with `conversational`: its three questions, once on one thread and once each on
//! a thread of its own. The notebook prints no answers; those are made up. So is the last story.

use super::Story;

pub fn stories() -> Vec<Story> {
    vec![told(), age(), zodiac(), age_elsewhere(), zodiac_elsewhere(), tool_asked_for()]
}

const TOLD: &str = "내 출생년도는 1994년이야. 지금은 계산하지 말고 이 정보만 기억해.";
const AGE: &str = "그럼 내가 2026년에 몇 살인지 계산기를 꼭 사용해서 나이를 계산해서 알려줘";
const ZODIAC: &str = "올해는 무슨 해이며 나는 무슨 띠인지 알려줘";

const REMEMBERED: &str = "네, 1994년에 태어나셨다고 기억하겠습니다.";
const SUM: &str = "2026-1994";
const AGED: &str = "2026 − 1994 = 32이므로 2026년에 만 32세(생일 전이면 31세)가 되십니다.";

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("conversational", name, question)
        .note("The question is the notebook's. Made up: what is answered, which the notebook does not print.")
}

fn told() -> Story {
    story("told", TOLD).reply(REMEMBERED)
}

fn age() -> Story {
    story("age", AGE)
        .note("On the same thread as `told`: the year of birth is known.")
        .after(TOLD, REMEMBERED)
        .calls(&[("calc", SUM)])
        .tool("calc", SUM, "32")
        .reply(AGED)
}

fn zodiac() -> Story {
    story("zodiac", ZODIAC)
        .note("The third question on the same thread.")
        .after(TOLD, REMEMBERED)
        .after(AGE, AGED)
        .reply("올해 2026년은 병오년(丙午年), 말의 해입니다. 1994년은 갑술년이므로 개띠이십니다.")
}

fn age_elsewhere() -> Story {
    story("age_elsewhere", AGE)
        .note("On another thread nobody knows the year of birth, so it is asked for.")
        .reply("태어난 해를 알려 주시면 계산기로 나이를 계산해 드리겠습니다.")
}

fn zodiac_elsewhere() -> Story {
    story("zodiac_elsewhere", ZODIAC)
        .note("On a third thread the year is known and the user's is not.")
        .reply("올해 2026년은 병오년(丙午年), 말의 해입니다. 띠를 알려 드리려면 태어난 해가 필요합니다.")
}

fn tool_asked_for() -> Story {
    Story::new("conversational", "tool_asked_for", "And for four of us? Use the calculator.")
        .note("Made up.")
        .note("The amount comes from the turn before.")
        .after("The rent is 1,150 euros. What is it for each of three?", "About 383.33 euros each.")
        .calls(&[("calc", "1150/4")])
        .tool("calc", "1150/4", "287.5")
        .reply("287.50 euros each.")
}
