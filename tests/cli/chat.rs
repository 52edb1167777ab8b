//! `chat`: a line is a question or an answer, answers alone go to stdout, and how it ends.

use crate::cli_support::{Home, Said, check};

/// A chat with the offline model, from lines.
#[track_caller]
fn chat(home: &Home, args: &[&str], lines: &str, code: i32) -> Said {
    check(home.program().args(["chat", "--offline"]).args(args), lines, code)
}

#[test]
fn each_line_is_answered_and_answers_alone_go_to_stdout_until_quit() {
    let said = chat(&Home::new(), &[], "12/4+9?\n\n7*6?\n", 0);
    let answers: Vec<&str> = said.stdout.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(answers[0].contains("12") && answers.last().unwrap().contains("42"), "{}", said.stdout);
    assert!(!said.stdout.contains("PLAN") && said.stderr.contains("PLAN"));
    assert!(!said.stderr.contains("> "), "without a terminal there is no prompt: {}", said.stderr);
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'));

    assert_eq!(chat(&Home::new(), &["--quiet"], "12/4+9?\n", 0).stderr, "");
    let said = chat(&Home::new(), &["--quiet"], "/quit\n12/4+9?\n", 0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
    chat(&Home::new(), &["--quiet"], "", 0);
}

#[test]
fn commands_show_trace_history_and_help_on_stderr() {
    let home = Home::new();
    let said =
        chat(&home, &["--quiet"], "/trace\n/history\n12/4+9?\n/trace\n/history\n/help\n/없는명령\n", 0);
    let lines = said.stderr.as_str();
    for text in
        ["nothing was asked yet", "nothing is remembered yet", "n  phase", "/history  what is remembered"]
    {
        assert!(lines.contains(text), "expected {text:?} in:\n{lines}");
    }
    assert!(lines.contains("you    12/4+9?\nagent  "), "{lines}");
    assert!(lines.contains("/없는명령 is no command"), "{lines}");
    assert!(!said.stdout.contains("phase"));
}

#[test]
fn question_without_an_answer_is_told_and_the_chat_goes_on() {
    let home = Home::new();
    home.write("notes/a.md", "# 보일러\n보일러는 5월 3일에 점검했다.\n");
    let args = ["--docs", "notes", "--max-replans", "0"];
    chat(&home, &args, "프랑스의 수도는?\n12/4+9?\n", 0)
        .prints(&["12"])
        .complains(&["planwright: error: the answer was not accepted when it was checked"]);
    // The exit code is that of the last question.
    chat(&home, &args, "12/4+9?\n프랑스의 수도는?\n", 1);
}

#[test]
fn chat_that_cannot_begin_or_read_its_line_is_unusable() {
    let home = Home::new();
    chat(&home, &["--agent", "nobody"], "12/4+9?\n", 2).complains(&["no agent is called \"nobody\""]);
    check(home.program().args(["chat", "--model", "m"]), "q\n", 2).complains(&["no key and no server"]);
    let mut program = home.program();
    check(program.args(["chat", "--offline", "--quiet"]), b"\xff\xfe\n", 2)
        .complains(&["stdin cannot be read"]);
}
