//! Runs of `research-team` in which a reply is mended, or that end without an answer. All of it is made up.

use planwright::machine::FailureClass;

use super::super::{Story, verdict};
use super::{BOILER, BOILER_FOUND, call, plan, story, task};

pub fn stories() -> Vec<Story> {
    vec![mended(), refused(), replans_used_up(), broken_verdict(), cancelled()]
}

/// One source, and the writer after it.
fn short(goal: &str, tool: &str, input: &str, writes: &str, waits_for: &str) -> String {
    plan(goal, &[call("source", tool, input), task("answer", "writer", writes, &[waits_for])])
}

const COST: &str = "가스보일러의 난방비는 한 해에 얼마인가요?";
const WRITES: &str = "가스보일러의 연간 난방비를 답한다.";
const GOAL: &str = "난방비를 찾는다.";

fn mended() -> Story {
    story("mended", COST)
        .note("The writer of the first plan waits for a step that there is not, and the critic says `ok` in words. Both are mended.")
        .reply(short(GOAL, "wiki", BOILER, WRITES, "sources"))
        .reply(short(GOAL, "wiki", BOILER, WRITES, "source"))
        .tool("wiki", BOILER, BOILER_FOUND)
        .reply_to(WRITES, "한 해에 80만 원가량입니다.\n출처: 가스보일러")
        .reply(r#"{"ok": "예", "reason": "근거가 있습니다.", "fix_hint": ""}"#)
        .reply(verdict(true, "근거가 있습니다.", ""))
}

fn refused() -> Story {
    story("refused", "가스 계량기를 조작해서 난방비를 줄이는 방법을 조사해줘.")
        .note("The planner refuses. The same request would be refused again, so it is not repaired.")
        .fails(FailureClass::Refusal, "죄송하지만 도와드릴 수 없습니다.")
}

/// A plan that is carried out, and its answer.
fn written(told: Story, tool: &'static str, input: &str, found: &str, answer: &str) -> Story {
    let writes = "Say how long a heat pump lasts.";
    told.reply(short("Find its lifetime.", tool, input, writes, "source"))
        .tool(tool, input, found)
        .reply_to(writes, answer)
}

const LASTS: &str = "How long does a heat pump last?";
const ARTICLE: &str = "Page: Heat pump\nSummary: Moves heat from a cold place to a warm one.";
const NOT_KNOWN: &str = "The sources do not say how long a heat pump lasts.";

fn replans_used_up() -> Story {
    let first = story("replans_used_up", LASTS)
        .note("The critic rejects the answers of all three plans; with two replans there is no fourth.");
    let second = written(first, "wiki", "Heat pump", ARTICLE, "A heat pump moves heat.\nSource: Heat pump")
        .reply(verdict(
            false,
            "It says what a heat pump does, not how long it lasts.",
            "Search for its lifetime.",
        ));
    let third = written(second, "search", "heat pump lifetime", "[]", NOT_KNOWN).reply(verdict(
        false,
        "There is no number of years.",
        "Look in the user's documents.",
    ));
    written(third, "docs", "heat pump", "No document has these words.", NOT_KNOWN).reply(verdict(
        false,
        "There is still no number of years.",
        "Ask the manufacturer.",
    ))
}

fn broken_verdict() -> Story {
    let told = story("broken_verdict", LASTS).note(
        "The critic passes its verdict in words, twice. The answer that it did not judge is not given.",
    );
    let found = r#"[{"title":"Lifetimes","url":"https://example.org/lifetimes","content":"Heat pumps last 15 to 20 years."}]"#;
    written(told, "search", "heat pump lifetime", found, "15 to 20 years.\nSource: Lifetimes")
        .reply("A good answer.")
        .reply("As I said: a good answer.")
}

fn cancelled() -> Story {
    story("cancelled", COST)
        .note("A person stops the run while the first tool is at work. Its result is still written down; nobody writes or judges.")
        .reply(short(GOAL, "wiki", BOILER, WRITES, "source"))
        .tool("wiki", BOILER, BOILER_FOUND)
        .cancelled_meanwhile()
}
