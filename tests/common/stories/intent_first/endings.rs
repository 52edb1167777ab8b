//! Runs of `intent-first` that end after a plan was made. All of it is made up.

use planwright::machine::FailureClass;

use super::super::Story;
use super::{LANGGRAPH, WEATHER, from, intent, plan, step, story, weather_intent};

pub fn stories() -> Vec<Story> {
    vec![refusing_writer(), cancelled()]
}

fn refusing_writer() -> Story {
    story("refusing_writer", WEATHER)
        .note("The forecast is there, and the writer refuses: nobody is asked again.")
        .reply(weather_intent())
        .reply(plan(&[step("step_1", "docs", "서울 날씨")]))
        .tool("docs", "서울 날씨", "예보.txt: 11월 20일 서울 맑음, 15°C.")
        .fails(FailureClass::Refusal, "죄송하지만 도와드릴 수 없습니다.")
}

fn cancelled() -> Story {
    story("cancelled", "What is LangGraph, and do my notes mention it?")
        .note("A person stops the run while the first tool is at work; the step that works on its result does not begin.")
        .reply(intent("new_question", "What LangGraph is, and what the user's notes say about it", true, None))
        .reply(plan(&[step("step_1", "search", "LangGraph"), from("step_2", "docs", "step_1")]))
        .tool("search", "LangGraph", LANGGRAPH)
        .cancelled_meanwhile()
}
