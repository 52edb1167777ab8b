//! Common ground of the command-line tests: a home of their own for each, and recorded runs.

pub mod store;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::Agent;
use planwright::journal::{FileJournal, Fixture};
use planwright::machine::{Input, ModelReply};
use planwright::ports::{Cause, Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolOutput};
use planwright::prompt::ModelRequest;
use planwright::spec::{Approval, Containment, Spec};
use serde_json::Value;

pub const QUESTION: &str = "상태기계란 무엇인가?";
pub const ANSWER: &str = "상태기계는 상태와 전이로 된 모델이다.\n- 예: 자판기";

/// A folder that is home, configuration folder and working folder of the program.
pub struct Home(tempfile::TempDir);

/// What the program said, and how it ended.
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// Expects these texts on stdout.
    #[track_caller]
    pub fn prints(&self, texts: &[&str]) -> &Self {
        expect(&self.stdout, texts);
        self
    }

    /// Expects these texts on stderr.
    #[track_caller]
    pub fn complains(&self, texts: &[&str]) -> &Self {
        expect(&self.stderr, texts);
        self
    }

    /// Expects nothing on stdout.
    #[track_caller]
    pub fn prints_nothing(&self) -> &Self {
        assert_eq!(self.stdout, "");
        self
    }

    /// What is on stdout, as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

#[track_caller]
fn expect(output: &str, texts: &[&str]) {
    for text in texts {
        assert!(output.contains(text), "expected {text:?} in:\n{output}");
    }
}

impl Home {
    pub fn new() -> Self {
        Home(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The program with nothing configured.
    pub fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        let ours = ["ANTHROPIC_", "OPENAI_", "OTEL_", "PLANWRIGHT_", "TAVILY_"];
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ours.iter().any(|prefix| name.starts_with(prefix)) || name == "NO_COLOR" || name == "COLUMNS" {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.0.path()).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("APPDATA", self.path("config")).env("XDG_DATA_HOME", self.path("data"));
        command.env("XDG_STATE_HOME", self.path("state"));
        command.env("LOCALAPPDATA", self.path("data")).current_dir(self.0.path());
        command
    }

    /// The program in a shell that has done this before.
    pub fn program_after(&self, setup: &str, args: &[&str]) -> Command {
        let program = self.program();
        let mut shell = Command::new("sh");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(self.0.path()).args(["-c", &format!("{setup}; exec \"$0\" \"$@\"")]);
        shell.arg(program.get_program()).args(args);
        shell
    }

    /// Runs the program and expects this exit code.
    #[track_caller]
    pub fn check(&self, args: &[&str], code: i32) -> Said {
        check(self.program().args(args), "", code)
    }

    /// Expects that the program takes nothing of this, prints nothing, and says these texts.
    #[track_caller]
    pub fn refuses(&self, args: &[&str], texts: &[&str]) {
        let said = self.check(args, 2);
        assert_eq!(said.stdout, "");
        said.complains(texts);
    }

    /// A fixture of a run that searches, is sent back once and answers.
    pub fn fixture(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        replanned().save(&path).unwrap();
        path
    }
}

/// Runs a command and expects this exit code.
#[track_caller]
pub fn check(command: &mut Command, stdin: impl AsRef<[u8]>, code: i32) -> Said {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    // A program that does not read its stdin closes it; that is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_ref());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = Said {
        code: status.code().unwrap_or(-1),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    };
    assert_eq!(said.code, code, "stdout:\n{}\nstderr:\n{}", said.stdout, said.stderr);
    said
}

/// A model that answers from a list and is then not there.
pub struct Script(Mutex<Vec<String>>);

impl Script {
    pub fn of(replies: &[&str]) -> Self {
        Script(Mutex::new(replies.iter().rev().map(|reply| (*reply).to_owned()).collect()))
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn ask(&self, _: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let next = self.0.lock().unwrap().pop();
        next.map(ModelReply::text)
            .ok_or_else(|| ModelError::unanswered(Cause::Connection, "the server is not there"))
    }
}

/// A tool that returns what it is made with.
pub struct Says(pub ToolContract, pub Result<String, ToolError>);

impl Tool for Says {
    fn contract(&self) -> ToolContract {
        self.0.clone()
    }

    fn call(&self, _: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        self.1.clone().map(ToolOutput::from)
    }
}

fn agent(replies: &[&str]) -> Agent {
    agent_that(|_| {}, replies)
}

fn agent_that(change: fn(&mut Spec), replies: &[&str]) -> Agent {
    let mut spec = agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "wiki");
    change(&mut spec);
    let clock = ToolContract::text("clock", "Tells the time.", ToolEffect::Pure);
    let wiki = agents::tool("wiki").unwrap();
    Agent::builder(spec)
        .model(Script::of(replies))
        .tool(Says(wiki, Ok("상태기계(state machine)는 유한한 상태를 갖는다. \u{1b}[31m빨강".to_owned())))
        .tool(Says(clock, Err(ToolError::new("broken", "the clock stands still"))))
        .build()
        .unwrap()
}

const PLAN: &str = r#"{"goal": "설명", "steps": [
    {"tool": "wiki", "input": "상태기계"},
    {"tool": "clock", "input": "지금"},
    {"tool": "final_answer", "input": "설명을 쓴다"}]}"#;
pub const NOT_YET: &str = r#"{"ok": false, "reason": "예시가 없다", "fix_hint": "예시를 찾아라"}"#;
const GOOD: &str = r#"{"ok": true, "reason": "충분하다", "fix_hint": ""}"#;

fn input() -> Input {
    Input { now: "2026-11-20T09:30:00+09:00[Asia/Seoul]".to_owned(), ..Input::question(QUESTION) }
}

/// Searched, sent back once, answered.
pub fn replanned() -> Fixture {
    agent(&[PLAN, NOT_YET, PLAN, GOOD, ANSWER]).job(input()).run().unwrap().fixture().unwrap()
}

/// Sent back until no replan is left, and answered in spite of that.
pub fn exhausted() -> Fixture {
    let replies = [PLAN, NOT_YET, PLAN, NOT_YET, PLAN, NOT_YET, ANSWER];
    agent(&replies).job(input()).run().unwrap().fixture().unwrap()
}

/// Sent back until no replan is left, by an agent of the user's own that is not contained.
pub fn failed() -> Fixture {
    let replies = [PLAN, NOT_YET, PLAN, NOT_YET, PLAN, NOT_YET];
    let own = |spec: &mut Spec| (spec.name, spec.policy.containment) = ("mine".to_owned(), Containment::Off);
    agent_that(own, &replies).job(input()).run().unwrap().fixture().unwrap()
}

/// A journal of a run whose model went away after the plan.
pub fn interrupted_journal(path: &Path) {
    let mut journal = FileJournal::create(path).unwrap();
    let stopped = agent(&[PLAN]).job(input()).journal(&mut journal).run().unwrap_err();
    assert!(stopped.to_string().contains("the server is not there"), "{stopped}");
}

/// A journal of a run that has ended.
pub fn ended_journal(path: &Path) {
    let mut journal = FileJournal::create(path).unwrap();
    agent(&[PLAN, GOOD, ANSWER]).job(input()).journal(&mut journal).run().unwrap();
}

/// A journal that ends after a write was asked for: nobody knows whether it happened.
pub fn in_doubt_journal(path: &Path) {
    let mut contract = agents::tool("calc").unwrap();
    contract.effect = ToolEffect::Write;
    let mut spec = agents::shipped("validated").unwrap().with_tools(|_| false);
    spec.tools.push(contract.clone());
    let plan = PLAN.replace("wiki", "calc").replace("clock", "calc");
    let agent = Agent::builder(spec).model(Script::of(&[&plan])).tool(Says(contract, Ok("done".to_owned())));
    let mut journal = FileJournal::create(path).unwrap();
    agent.build().unwrap().job(input()).journal(&mut journal).run().unwrap_err();
    let text = std::fs::read_to_string(path).unwrap();
    let asked = text.split_inclusive('\n').position(|line| line.contains("requested\":{\"effect\":\"step."));
    let kept: String = text.split_inclusive('\n').take(asked.unwrap() + 1).collect();
    std::fs::write(path, kept).unwrap();
}

/// A journal of a run that waits for a person's yes: to its plan, to the call in it, or to both.
pub fn approving_journal(path: &Path, approval: Approval) {
    plan_then_wait(path, approval, "");
}

/// A journal of a run that waits for a person's word on two calls at once.
pub fn calls_journal(path: &Path) {
    plan_then_wait(path, Approval::RISKY, r#"{"tool": "calc", "input": "7*5"},"#);
}

/// What a person is asked in [`waiting_journal`].
pub const ASKED: &str = "보고서를 보낼까요?";

/// A journal of a run that waits for a person.
pub fn waiting_journal(path: &Path) {
    let step = format!(r#"{{"tool": "hitl", "hitl_question": "{ASKED}"}},"#);
    plan_then_wait(path, Approval::STEPS, &step);
}

/// Plans a sum, and what may stand between it and the answer, and waits for a person.
fn plan_then_wait(path: &Path, approval: Approval, step: &str) {
    let mut spec = agents::shipped("plan-then-execute").unwrap().with_tools(|tool| tool.name == "calc");
    spec.policy.approval = approval;
    spec.tools[0].needs_approval = approval != Approval::STEPS;
    let plan = format!(
        r#"{{"goal": "설명", "steps": [{{"tool": "calc", "input": "12/4+9"}}, {step}
            {{"tool": "final_answer", "input": "답"}}]}}"#
    );
    let calc = Says(agents::tool("calc").unwrap(), Ok("12".to_owned()));
    let agent = Agent::builder(spec).model(Script::of(&[&plan])).tool(calc).build().unwrap();
    let mut journal = FileJournal::create(path).unwrap();
    assert!(agent.job(input()).journal(&mut journal).run().unwrap().is_waiting());
}
