//! Stories of `docstore`: find candidates, read at least one whole, answer from it. The question of the
//! first is the notebook's; the rest is made up.

use super::{Story, page};

pub fn stories() -> Vec<Story> {
    vec![read_and_answered(), answered_too_early(), never_read()]
}

fn candidates(told: Story) -> Story {
    told.calls(&[("wiki", "Mammillaria cactus")]).tool_from(
        "wiki",
        "Mammillaria cactus",
        "Page: Mammillaria\nSummary: One of the largest genera in the cactus family.\n\nPage: Cactus\nSummary: A \
         member of the plant family Cactaceae.",
        &[
            page("Mammillaria", "https://example.org/wiki/Mammillaria"),
            page("Cactus", "https://example.org/wiki/Cactus"),
        ],
    )
}

fn whole_article(told: Story) -> Story {
    told.calls(&[("lookup", "Mammillaria")]).tool_from(
        "lookup",
        "Mammillaria",
        "Mammillaria is one of the largest genera in the cactus family, with some 200 known species. Its plants \
         have tubercles and bear rings of small flowers.",
        &[page("Mammillaria", "https://example.org/wiki/Mammillaria")],
    )
}

const ANSWER: &str = "맘밀라리아는 선인장과에서 가장 큰 속 가운데 하나로 약 200종이 알려져 있습니다. 몸에 돌기가 \
                      있고 작은 꽃이 고리처럼 핍니다.\n출처: Mammillaria";

fn read_and_answered() -> Story {
    let told = Story::new("docstore", "read_and_answered", "밍크 선인장(Mammillaria)은 어떤 식물인지 설명해줘.")
        .note("The question is the notebook's, without the rules it adds, which are the agent's own. The rest is made up.");
    whole_article(candidates(told)).reply(ANSWER)
}

fn answered_too_early() -> Story {
    let told = Story::new("docstore", "answered_too_early", "What kind of plant is a Mammillaria?")
        .note("Made up.")
        .note(
            "The planner answers from the summaries alone. It is told which call is missing, and makes it.",
        );
    whole_article(candidates(told).reply("It is a cactus.")).reply(
        "Mammillaria is one of the largest genera of cacti, with some 200 known species. Its plants have tubercles \
         and bear rings of small flowers.\nSource: Mammillaria",
    )
}

fn never_read() -> Story {
    let told = Story::new("docstore", "never_read", "맘밀라리아는 몇 종이나 있나요?").note("Made up.").note(
        "The planner answers from the summaries, is told which call is missing, and reads no article still.",
    );
    let guess = "선인장과에서 가장 큰 속 가운데 하나이므로 수백 종일 것입니다.";
    candidates(told).reply(guess).reply(guess)
}
