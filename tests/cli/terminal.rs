//! A person at a real terminal: they are shown what is asked, their line answers it, and whatever key ends
//! the conversation, nothing is lost and they are told how to answer later.
#![cfg(unix)]

use crate::cli_support::store::{open, waits, wants_approval};
use crate::cli_support::{ASKED, Home};
use crate::support::{Answer, Server, event, finish};
use rexpect::process::WaitStatus;
use rexpect::reader::Options;
use rexpect::session::{PtySession, spawn_with_options};

const THREAD: &str = "보고서";

/// How long a screen may stay as it is before the test gives up, in milliseconds.
const PATIENCE: u64 = 120_000;

/// The program on a terminal of its own, without the sequences that colour and move.
struct Terminal(PtySession);

/// A text as its bytes stand one by one: the terminal's reader knows nothing of UTF-8.
fn bytes(text: &str) -> String {
    text.bytes().map(char::from).collect()
}

fn text(bytes: &str) -> String {
    String::from_utf8_lossy(&bytes.chars().map(|byte| byte as u8).collect::<Vec<u8>>()).into_owned()
}

impl Terminal {
    fn run(home: &Home, args: &[&str]) -> Self {
        Terminal::of_columns(80, home, args)
    }

    fn of_columns(columns: usize, home: &Home, args: &[&str]) -> Self {
        let mut program = home.program();
        program.args(args).env("TERM", "xterm").env("COLUMNS", columns.to_string());
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
        Terminal(spawn_with_options(program, options).unwrap())
    }

    /// Waits until the screen shows this; gives what it showed before.
    #[track_caller]
    fn sees(&mut self, what: &str) -> String {
        match self.0.exp_string(&bytes(what)) {
            Ok(before) => text(&before),
            Err(error) => panic!("expected {what:?} on the screen: {}", text(&error.to_string())),
        }
    }

    fn types(&mut self, line: &str) {
        self.0.send_line(line).unwrap();
    }

    fn presses_control(&mut self, key: char) {
        self.0.send_control(key).unwrap();
    }

    /// Waits for the end; gives what the screen showed until then.
    #[track_caller]
    fn ends(mut self, code: i32) -> String {
        let last = text(&self.0.exp_eof().unwrap());
        let status = self.0.process().wait().unwrap();
        assert!(matches!(status, WaitStatus::Exited(_, found) if found == code), "{status:?}: {last}");
        last
    }
}

/// `plan-then-execute` that asks people for this.
fn agent(home: &Home, approval: &str) {
    let spec = home.check(&["agents", "show", "plan-then-execute"], 0).stdout;
    let policy = "on_step_failure = \"record\"";
    assert!(spec.contains(policy));
    home.write("mine.toml", &spec.replace(policy, &format!("{policy}\napproval = [{approval:?}]")));
}

/// Asks a new thread on a terminal, of a model that replies so.
fn asks(home: &Home, server: &Server) -> Terminal {
    let (of, model) =
        (["--agent", "mine.toml", "--tools", "calc"], ["--base-url", &server.url(), "--model", "m"]);
    Terminal::run(home, &[&["run", "--thread", THREAD][..], &of, &model, &["6*7은?"]].concat())
}

const PLAN: &str =
    r#"{"goal": "곱", "steps": [{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "답"}]}"#;

fn model() -> Server {
    Server::answering([Answer::reply(PLAN), Answer::reply(r#"{"final": "답을 드립니다."}"#)])
}

/// What the model was told last.
fn told(server: &Server) -> String {
    server.seen().last().unwrap().json().to_string()
}

fn shown(home: &Home) -> String {
    home.check(&["threads", "show", "--records", THREAD], 0).stdout
}

#[test]
fn plan_is_shown_and_a_yes_in_korean_approves_it() {
    let (home, server) = (Home::new(), model());
    agent(&home, "plan");
    let mut terminal = asks(&home, &server);
    terminal.sees("이 계획을 승인해주세요:");
    terminal.sees("1. calc: 6*7");
    terminal.sees("answer (yes, reject: REASON or edit: STEPS)> ");
    assert_eq!(server.count(), 1, "nothing is done before the yes");
    terminal.types("네");
    terminal.sees("답을 드립니다.");
    terminal.ends(0);
    assert!(shown(&home).contains("approved"), "{}", shown(&home));
}

#[test]
fn plan_is_edited_in_a_line_and_what_does_not_fit_is_asked_again() {
    let (home, server) = (Home::new(), model());
    agent(&home, "plan");
    let mut terminal = asks(&home, &server);
    terminal.sees("edit: STEPS)> ");
    terminal.types("edit: 6*8");
    terminal.sees("refused  edit: expected a JSON list of plan steps");
    terminal.sees("edit: STEPS)> ");
    terminal.types(r#"edit: [{"tool": "hammer", "input": "x"}]"#);
    terminal.sees("refused");
    terminal.sees("hammer");
    terminal.sees("edit: STEPS)> ");
    terminal.types(r#"edit: [{"tool": "calc", "input": "6*8"}, {"tool": "final_answer", "input": "답"}]"#);
    terminal.sees("답을 드립니다.");
    terminal.ends(0);
    // The quotes tell a result from the seconds of the time.
    let has = |result: &str| told(&server).contains(&format!(r#"\"{result}\""#));
    assert!(has("48") && !has("42"), "{}", told(&server));
}

#[test]
fn answer_that_is_typed_in_korean_is_what_the_model_is_told() {
    let (home, question) = (Home::new(), "어디로 보낼까요? 👩‍🚀");
    let plan = format!(
        r#"{{"goal": "곱", "steps": [{{"tool": "hitl", "hitl_question": "{question}\u202e\u001b[2K"}},
           {{"tool": "final_answer", "input": "답"}}]}}"#
    );
    let server = Server::answering([Answer::reply(&plan), Answer::reply(r#"{"final": "보냈습니다."}"#)]);
    agent(&home, "steps");
    let mut terminal = asks(&home, &server);
    terminal.sees(&format!(r"{question}\u{{202e}}\u{{1b}}[2K"));
    terminal.sees("answer (reject: REASON says no)> ");
    terminal.types("서울 본사로 보내 주세요");
    terminal.sees("보냈습니다.");
    terminal.ends(0);
    assert!(told(&server).contains("서울 본사로 보내 주세요"), "{}", told(&server));
}

#[test]
fn interrupt_or_end_of_input_at_a_question_loses_nothing_and_says_how_to_go_on() {
    let home = Home::new();
    waits(&home, THREAD);
    let before = open(&home, THREAD);
    let mut terminal = Terminal::run(&home, &["threads", "resume", "--offline", THREAD]);
    terminal.sees("says no)> ");
    let command = format!(
        "planwright threads answer {THREAD} --offline --token {} --respond",
        before["token"].as_str().unwrap()
    );
    for key in ['c', 'd'] {
        terminal.presses_control(key);
        let last = terminal.ends(5);
        assert!(last.contains(&command), "expected {command:?} in:\n{last}");
        assert_eq!(open(&home, THREAD), before);
        terminal = Terminal::run(&home, &["threads", "resume", "--offline", THREAD]);
        terminal.sees(ASKED);
        terminal.sees("says no)> ");
    }
    terminal.types("네");
    terminal.ends(0);
}

#[test]
fn what_was_found_is_shown_a_page_at_a_time_where_it_is_longer_than_the_screen() {
    let home = Home::new();
    waits(&home, THREAD);
    for (said, shows_all) in [("", true), ("q", false)] {
        let mut program = home.program();
        program.args(["threads", "answer", "--offline", THREAD]).env("TERM", "xterm").env("LINES", "3");
        let options = Options::new().timeout_ms(Some(PATIENCE)).strip_ansi_escape_codes(true);
        let mut terminal = Terminal(spawn_with_options(program, options).unwrap());
        let before = terminal.sees("more: Enter; q goes to the question> ");
        assert!(before.contains("1. completed") && !before.contains('→'), "{before}");
        terminal.types(said);
        let shown = terminal.sees(ASKED);
        assert_eq!(shown.contains('→'), shows_all, "{shown}");
        terminal.presses_control('d');
        terminal.ends(5);
    }
}

#[test]
fn word_without_a_token_is_good_for_what_is_shown_and_meant() {
    let home = Home::new();
    wants_approval(&home, THREAD);
    let before = open(&home, THREAD);
    let approve = ["threads", "answer", "--offline", THREAD, "--approve"];
    for said in ["no", "아니요", ""] {
        let mut terminal = Terminal::run(&home, &approve);
        terminal.sees("1. calc: 12/4+9");
        terminal.sees("is this what is meant (yes or no)? ");
        terminal.types(said);
        let last = terminal.ends(5);
        assert!(last.contains("the run waits on"), "{last}");
        assert_eq!(open(&home, THREAD), before);
    }
    let mut terminal = Terminal::run(&home, &approve);
    terminal.sees("is this what is meant (yes or no)? ");
    terminal.types("네");
    terminal.ends(0);
}

#[test]
fn new_question_to_a_thread_that_waits_puts_the_open_one_first() {
    let home = Home::new();
    waits(&home, THREAD);
    let ask = ["run", "--offline", "--tools", "calc", "--thread", THREAD, "6*7은?"];
    let mut terminal = Terminal::run(&home, &ask);
    terminal.sees(ASKED);
    terminal.sees("says no)> ");
    terminal.types("네, 보내세요");
    terminal.sees("12");
    terminal.sees("42");
    terminal.ends(0);
    assert!(shown(&home).contains("turn 2  done"), "{}", shown(&home));
}

#[test]
fn answer_is_streamed_without_thoughts_once_and_anew_after_a_lost_connection() {
    let (home, server) = (
        Home::new(),
        Server::answering([
            Answer::reply(PLAN),
            Answer::broken_chunks([event("<think>생각</think>"), event("{\"final\": \"잃어버린")]),
            Answer::chunks([
                event("<think>생각</think>"),
                event("{\"final\": \"답을 "),
                event("드립니다.\"}"),
                finish("stop"),
            ]),
        ]),
    );
    let args = [
        "run",
        "--agent",
        "plan-then-execute",
        "--tools",
        "calc",
        "--base-url",
        &server.url(),
        "--model",
        "m",
    ];
    let mut terminal = Terminal::run(&home, &[&args[..], &["6*7은?"]].concat());
    let before = terminal.sees("잃어버린");
    terminal.sees("try 2 of 6 in ");
    terminal.sees("답을 드립니다.");
    let rest = terminal.ends(0);
    assert!(!before.contains("생각") && !rest.contains("생각") && !rest.contains("답을"), "{before}\n{rest}");
}

#[test]
fn chat_answers_asks_and_ends_with_the_input() {
    let home = Home::new();
    waits(&home, THREAD);
    let mut terminal = Terminal::run(&home, &["chat", "--offline", "--tools", "calc", "--thread", THREAD]);
    terminal.sees(ASKED);
    terminal.sees("answer> ");
    terminal.types("네");
    terminal.sees("12");
    terminal.sees("> ");
    terminal.types("6*7은?");
    terminal.sees("WRITE");
    terminal.sees("6*7 = 42");
    let rest = terminal.sees("> ");
    assert!(!rest.contains("42"), "an answer that was streamed is not printed again: {rest}");
    terminal.presses_control('d');
    terminal.ends(0);
}

#[test]
fn question_of_a_chat_that_is_stopped_goes_on_where_it_was() {
    let home = Home::new();
    let hangs_once = |nth| if nth == 0 { Answer::silence() } else { Answer::reply("no plan") };
    let server = Server::start(move |_, nth| hangs_once(nth));
    let model = ["--base-url", &server.url(), "--model", "m"];
    let mut terminal = Terminal::run(&home, &[&["chat"][..], &model].concat());
    terminal.sees("> ");
    terminal.types("6*7은?");
    terminal.sees("asking the planner");
    terminal.presses_control('c');
    terminal.sees("/resume goes on with it");
    terminal.sees("> ");
    terminal.types("/resume");
    terminal.sees("the run ended without an answer");
    terminal.sees("> ");
    terminal.types("exit");
    terminal.ends(1);
    assert!(server.count() > 1);
}

#[test]
fn line_of_the_chat_is_edited_and_recalled_and_ctrl_c_clears_it() {
    let home = Home::new();
    let mut terminal = Terminal::run(&home, &["chat", "--offline", "--tools", "calc"]);
    terminal.sees("> ");
    terminal.types("6*7은?");
    terminal.sees("6*7 = 42");
    terminal.sees("> ");
    // Up recalls the question; end of line, back over `7은?`, and another number.
    terminal.0.send("\u{1b}[A\u{7f}\u{7f}\u{7f}8은?").unwrap();
    terminal.types("");
    terminal.sees("6*8 = 48");
    terminal.sees("> ");
    // What is typed is taken away, and the next line is read as if it had not been.
    terminal.0.send("이것은 지운다").unwrap();
    terminal.presses_control('c');
    terminal.types("6*9은?");
    terminal.sees("6*9 = 54");
    terminal.sees("> ");
    terminal.presses_control('c');
    terminal.sees("exit or Ctrl-D ends the chat; so does Ctrl-C once more");
    terminal.types("6*10은?");
    terminal.sees("6*10 = 60");
    terminal.sees("> ");
    terminal.presses_control('c');
    terminal.sees("so does Ctrl-C once more");
    terminal.presses_control('c');
    let last = terminal.ends(130);
    assert!(!last.contains("goes on"), "there is nothing to go on with: {last}");

    for end in ["exit", "quit"] {
        let mut terminal = Terminal::run(&home, &["chat", "--offline"]);
        terminal.sees("exit ends");
        terminal.sees("> ");
        terminal.types(end);
        terminal.ends(0);
    }
}

#[test]
fn answer_is_broken_between_words_at_the_width_of_the_terminal() {
    let answer =
        "환불은 삼십일 안에 신청한다.\n\n```\nlet the_answer_of_all = 42;\n```\n- one two three four five";
    let reply = serde_json::json!({"final": answer}).to_string();
    for replies in [
        [Answer::reply(PLAN), Answer::chunks([event(&reply), finish("stop")])],
        [Answer::reply(PLAN), Answer::reply(&reply)],
    ] {
        let (home, server) = (Home::new(), Server::answering(replies));
        let args = ["run", "--agent", "plan-then-execute", "--tools", "calc", "--model", "m", "--base-url"];
        let mut terminal = Terminal::of_columns(20, &home, &[&args[..], &[&server.url(), "6*7은?"]].concat());
        terminal.sees("WRITE");
        terminal.sees("환불은 삼십일 안에\r\n신청한다.\r\n\r\n```\r\nlet the_answer_of_all = 42;\r\n```\r\n");
        terminal.sees("- one two three four\r\n  five\r\n");
        terminal.ends(0);
    }
}
