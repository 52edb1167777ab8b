//! Runs of `orchestrated` in which a reply is mended, or that end without an answer. All of it is made up.

use planwright::machine::FailureClass;

use super::super::Story;
use super::{RENT, goes_on, hits, intent, plan, rent_hits, step, story};

pub fn stories() -> Vec<Story> {
    vec![mended(), no_plan(), refusing_writer(), cancelled()]
}

const MOVE: &str = "Find out who pays for repairs when a tenant moves out.";
const WORDS: &str = "repairs when moving out tenant";

/// The search team is sent for it and finds it.
fn searched(told: Story) -> Story {
    let (found, sources) = hits(&[
        ("Wear and tear", "Ordinary wear is the landlord's to bear."),
        ("Damage", "The tenant pays for damage that goes beyond it."),
        ("Evidence", "Photographs of both days settle most disputes."),
    ]);
    told.reply(plan("Look the rules up.", &[step("search_team", MOVE, "Material for the answer.")]))
        .reply(goes_on("Nothing has been looked up yet."))
        .calls(&[("search", WORDS)])
        .tool_from("search", WORDS, &found, &sources)
        .reply(goes_on("Three results will do."))
}

fn mended() -> Story {
    let asked = story("mended", "Who pays for repairs when I move out?")
        .note("The planner names a team that there is not, and the writer says nothing. Each is asked once more.")
        .reply(intent("information", 0.9))
        .reply(plan("Ask a lawyer.", &[step("legal_team", MOVE, "Advice.")]));
    searched(asked).reply("").reply(
        "The landlord bears ordinary wear; you pay for damage beyond it. Take photographs.\nSources: Wear and tear, \
         Damage, Evidence",
    )
}

fn no_plan() -> Story {
    story("no_plan", RENT)
        .note("The planner says in words what it would do, twice. No team is sent for.")
        .reply(intent("information", 0.9))
        .reply("검색팀에게 맡기겠습니다.")
        .reply("먼저 검색팀이 찾고, 그다음 분석팀이 따져 보면 됩니다.")
}

fn refusing_writer() -> Story {
    let asked = story("refusing_writer", "How do I blame the damage on the tenant before me?")
        .note("The team's work is done, and the writer refuses.")
        .reply(intent("information", 0.7));
    searched(asked).fails(FailureClass::Refusal, "I cannot help with that.")
}

fn cancelled() -> Story {
    let (found, sources) = rent_hits();
    let task = "전세금 증액의 한도를 찾는다.";
    story("cancelled", RENT)
        .note("A person stops the run while a team's tool is at work. What it finds is still written down.")
        .reply(intent("information", 0.9))
        .reply(plan("한도를 찾는다.", &[step("search_team", task, "근거를 모은다.")]))
        .reply(goes_on("계획대로 검색한다."))
        .calls(&[("search", "전세금 증액 한도")])
        .tool_from("search", "전세금 증액 한도", &found, &sources)
        .cancelled_meanwhile()
}
