//! A cache in front of a model: the same request is answered without asking, and nothing that goes
//! wrong with its folder is trouble for a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use planwright::driver::Cached;
use planwright::machine::{FailureClass, ModelReply, Usage};
use planwright::ports::{Cause, Model, ModelError, ScriptedModel, Secret, TokenSink};
use planwright::prompt::{Call, Message, ModelRequest};
use planwright::spec::{Digest, RequestFrame, RoleName};
use serde_json::json;
use tempfile::tempdir;

fn frame() -> RequestFrame {
    let compiled = planwright::agents::shipped("validated").unwrap().check().unwrap();
    let planner = compiled.frame(RoleName::Planner).unwrap();
    // The same for all of them: the digest alone never decides.
    let (system, tools) = ("계획하라.".to_owned(), Vec::new());
    let schema = Some(json!({"type": "object"}));
    RequestFrame { system, tools, schema, digest: Digest::of([]), ..RequestFrame::clone(planner) }
}

fn request(payload: &str) -> ModelRequest {
    ModelRequest {
        frame: Arc::new(frame()),
        payload: payload.to_owned(),
        conversation: Vec::new(),
        trace: None,
    }
}

/// Says how often it was asked, and what.
#[derive(Default)]
struct Counting {
    name: &'static str,
    key: Option<&'static str>,
    asked: AtomicUsize,
}

impl Counting {
    fn new() -> Self {
        Counting { name: "m", ..Counting::default() }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Model for Counting {
    fn name(&self) -> &str {
        self.name
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let nth = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let text = format!("답 {nth}: {}", request.payload);
        if let Some(tokens) = tokens {
            text.split_inclusive(' ').for_each(tokens);
        }
        let usage = Usage { input_tokens: 10, output_tokens: 5, cached_tokens: 1, ..Usage::default() };
        Ok(ModelReply { text, usage, model: "m-priced".to_owned(), ..ModelReply::default() })
    }

    fn secrets(&self) -> Vec<Secret> {
        self.key.map(Secret::new).into_iter().collect()
    }
}

fn ask(model: &Cached, payload: &str) -> ModelReply {
    model.ask(&request(payload), None).expect("a reply")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut found = entries(folder);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn same_request_is_answered_without_asking_and_costs_nothing() {
    let (home, inner) = (tempdir().unwrap(), Arc::new(Counting::new()));
    let model = Cached::new(inner.clone(), home.path().join("made/here"));
    let first = ask(&model, "질문");
    assert!(!first.cached && !first.usage.is_zero());
    let again = ask(&model, "질문");
    assert_eq!(again, ModelReply { usage: Usage::default(), cached: true, ..first });
    assert_eq!((again.model.as_str(), inner.asked()), ("m-priced", 1));
    // Another process, later.
    let later = Cached::new(inner.clone(), home.path().join("made/here"));
    assert_eq!(ask(&later, "질문"), again);
    assert_eq!((inner.asked(), later.warning()), (1, None));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let folder = home.path().join("made/here");
        assert_eq!((mode(&folder), mode(&only_entry(&folder))), (0o700, 0o600), "for their owner alone");
    }
}

#[test]
fn request_that_differs_in_anything_is_another() {
    let (home, inner) = (tempdir().unwrap(), Arc::new(Counting::new()));
    let model = Cached::new(inner.clone(), home.path());
    let call = Call { id: "call_1".into(), name: "wiki".into(), arguments: json!({"input": "세종"}) };
    let said = |text: &str| Message::User { content: text.into() };
    let framed = |frame: RequestFrame| ModelRequest { frame: Arc::new(frame), ..request("질문") };
    let talked = |conversation: Vec<Message>| ModelRequest { conversation, ..request("질문") };
    let asked = [
        request("질문"),
        request("질문 "),
        framed(RequestFrame { system: "달리.".into(), ..frame() }),
        framed(RequestFrame { model: Some("bigger".into()), ..frame() }),
        framed(RequestFrame { temperature: Some(0.2), ..frame() }),
        framed(RequestFrame { schema: None, ..frame() }),
        framed(RequestFrame { native_calls: true, ..frame() }),
        framed(RequestFrame { role: RoleName::Replanner, ..frame() }),
        talked(vec![said("a")]),
        talked(vec![said("a"), said("b")]),
        talked(vec![Message::Assistant { text: String::new(), calls: vec![call], reasoning: Vec::new() }]),
    ];
    for known in [false, true] {
        for request in &asked {
            assert_eq!(model.ask(request, None).unwrap().cached, known);
        }
    }
    assert_eq!(inner.asked(), asked.len());
    // So is the same request to another model.
    let other = Cached::new(Counting { name: "other", ..Counting::new() }, home.path());
    assert!(!ask(&other, "질문").cached);
}

#[test]
fn failures_are_asked_again() {
    let home = tempdir().unwrap();
    let (cut, late) =
        (ModelError::failed(FailureClass::Length, "cut"), ModelError::unanswered(Cause::Timeout, "late"));
    let script = ScriptedModel::new().answer(Err(cut)).answer(Err(late)).reply("이제");
    let model = Cached::new(script, home.path().join("c"));
    assert!(matches!(model.ask(&request("q"), None), Err(ModelError::Failed(_))));
    assert!(matches!(model.ask(&request("q"), None), Err(ModelError::Unanswered(_))));
    assert!(!home.path().join("c").exists(), "nothing was kept");
    assert_eq!((ask(&model, "q").cached, ask(&model, "q").cached), (false, true));
}

#[test]
fn sink_gets_the_pieces_first_and_the_whole_text_at_once_then() {
    let home = tempdir().unwrap();
    let model = Cached::new(Counting::new(), home.path());
    let stream = || {
        let mut pieces = Vec::new();
        let reply = model.ask(&request("둘"), Some(&mut |piece: &str| pieces.push(piece.to_owned())));
        assert_eq!(reply.unwrap().text, pieces.concat());
        pieces
    };
    assert_eq!(stream(), ["답 ", "1: ", "둘"]);
    assert_eq!(stream(), ["답 1: 둘"]);
    let calls = ModelReply::calls([("wiki", json!({"input": "훈민정음 \"해례\" 🦀"}))]);
    let silent = Cached::new(ScriptedModel::says([calls.clone()]), home.path());
    assert_eq!(ask(&silent, "{}"), calls);
    let mut told = 0;
    let again = silent.ask(&request("{}"), Some(&mut |_: &str| told += 1)).unwrap();
    assert_eq!((again, told), (ModelReply { cached: true, ..calls }, 0), "no text is no piece");
}

/// Whatever stands in the entry's place is asked for again, and replaced.
#[track_caller]
fn check_damaged(damage: impl FnOnce(&Path)) {
    let (home, inner) = (tempdir().unwrap(), Arc::new(Counting::new()));
    let model = Cached::new(inner.clone(), home.path());
    ask(&model, "질문");
    damage(&only_entry(home.path()));
    assert_eq!(ask(&model, "질문").text, "답 2: 질문");
    assert!(ask(&model, "질문").cached);
    assert_eq!((inner.asked(), model.warning()), (2, None));
}

#[test]
fn damaged_or_foreign_file_is_asked_for_again_and_replaced() {
    let rewrite = |path: &Path, change: &dyn Fn(String) -> String| {
        let text = fs::read_to_string(path).unwrap();
        let changed = change(text.clone());
        assert_ne!(changed, text);
        fs::write(path, changed).unwrap();
    };
    for text in [&b""[..], "남의 것".as_bytes(), b"\xFF\xFE\0", br#"{"version": 1}"#, &vec![b' '; 9 << 20]]
    {
        check_damaged(|path| fs::write(path, text).unwrap());
    }
    check_damaged(|path| fs::remove_file(path).unwrap());
    check_damaged(|path| rewrite(path, &|text| text[..text.len() - 1].to_owned()));
    check_damaged(|path| rewrite(path, &|text| text.replace("답 1", "답 9")));
    check_damaged(|path| rewrite(path, &|text| text.replace("planwright reply 1", "planwright reply 2")));
    // The entry of another request, as if both had one digest.
    let other = tempdir().unwrap();
    ask(&Cached::new(Counting::new(), other.path()), "다른 질문");
    check_damaged(|path| assert!(fs::copy(only_entry(other.path()), path).unwrap() > 0));
}

#[test]
fn least_recently_used_goes_first() {
    let (home, inner) = (tempdir().unwrap(), Arc::new(Counting::new()));
    let model = Cached::new(inner.clone(), home.path()).max_entries(3);
    for payload in ["a", "b", "c"] {
        ask(&model, payload);
    }
    assert!(ask(&model, "a").cached, "and so it was used after b");
    ask(&model, "d");
    assert_eq!(entries(home.path()).len(), 3);
    assert!(["a", "c", "d"].iter().all(|payload| ask(&model, payload).cached));
    assert!(!ask(&model, "b").cached);
    assert_eq!((entries(home.path()).len(), inner.asked()), (3, 5));
}

#[test]
fn folder_is_bounded_in_bytes() {
    let (home, most) = (tempdir().unwrap(), 5_000);
    let model = Cached::new(Counting::new(), home.path()).max_bytes(most);
    for nth in 0..30 {
        ask(&model, &format!("{nth} {}", "가".repeat(100)));
        let bytes: u64 = entries(home.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
        assert!(bytes <= most, "{bytes}");
    }
    let kept = entries(home.path());
    assert!(kept.len() > 1);
    // What would not fit alone is not kept, and pushes nothing else out.
    assert!(!ask(&model, &"나".repeat(5_000)).cached && !ask(&model, &"나".repeat(5_000)).cached);
    assert_eq!(entries(home.path()), kept);
    // A limit of zero keeps nothing.
    let other = tempdir().unwrap();
    let new = || Cached::new(Counting::new(), other.path());
    for model in [new().max_entries(0), new().max_bytes(0)] {
        assert!(!ask(&model, "q").cached && !ask(&model, "q").cached);
        assert!(entries(other.path()).is_empty());
    }
}

#[test]
fn files_of_others_are_left_alone_and_those_of_processes_that_ended_removed_in_time() {
    let home = tempdir().unwrap();
    let others = ["README.md", "reply-.json", "reply-xyz.json", "d41d8cd98f00b204e9800998ecf8427e.json"];
    let aside = [1, 2].map(|nth| format!(".reply-{}.{nth}.0.tmp", Digest::of([])));
    for name in others.into_iter().chain(aside.iter().map(String::as_str)) {
        fs::write(home.path().join(name), "half").unwrap();
    }
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let first = fs::File::options().write(true).open(home.path().join(&aside[0])).unwrap();
    first.set_modified(old).unwrap();
    let model = Cached::new(Counting::new(), home.path()).max_entries(1);
    for payload in ["a", "b", "c"] {
        ask(&model, payload);
    }
    assert!(others.iter().all(|name| home.path().join(name).exists()));
    let left = aside.map(|name| home.path().join(name).exists());
    assert_eq!(left, [false, true], "someone may still be writing the second");
    assert_eq!(entries(home.path()).len(), others.len() + 2);
}

/// The folder cannot be used: every request is answered by the model, and that is told once.
#[track_caller]
fn check_unusable(folder: &Path) {
    let inner = Arc::new(Counting::new());
    let model = Cached::new(inner.clone(), folder);
    assert_eq!(model.warning(), None, "nothing was tried yet");
    assert!(!ask(&model, "q").cached && !ask(&model, "q").cached);
    let warning = model.warning().expect("a warning");
    assert!(warning.starts_with(&folder.display().to_string()), "{warning}");
    assert!(!ask(&model, "q").cached);
    assert_eq!((model.warning(), inner.asked()), (None, 3));
}

#[test]
fn folder_that_cannot_be_used_is_said_once_and_the_answer_still_comes() {
    let home = tempdir().unwrap();
    let file = home.path().join("파일");
    fs::write(&file, "no folder").unwrap();
    check_unusable(&file);
    check_unusable(&file.join("below"));
    // A folder in the entry's place cannot be replaced.
    let other = tempdir().unwrap();
    ask(&Cached::new(Counting::new(), other.path()), "q");
    let entry = only_entry(other.path());
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    check_unusable(other.path());
    assert_eq!(entries(other.path()), [entry], "nothing is left written aside");
}

const KEY: &str = "sk-live-\"0123456789abcdef";

#[test]
fn reply_with_a_key_in_it_is_not_kept() {
    let escaped = serde_json::to_string(KEY).unwrap();
    let spelled = KEY.replace('s', "\\u0073");
    let texts = [format!("열쇠는 {KEY}."), format!("{{\"key\": {escaped}}}"), spelled];
    for payload in &texts {
        // The model says its payload again.
        let home = tempdir().unwrap();
        let inner = Arc::new(Counting { key: Some(KEY), ..Counting::new() });
        let model = Cached::new(inner.clone(), home.path());
        assert!(model.secrets() == [Secret::new(KEY)]);
        assert!(!ask(&model, payload).cached && !ask(&model, payload).cached);
        assert!(entries(home.path()).is_empty(), "{payload}");
        assert!(!ask(&model, "무해").cached && ask(&model, "무해").cached);
        let kept = fs::read_to_string(only_entry(home.path())).unwrap();
        assert!(!kept.contains("sk-live"), "{kept}");
    }
}

/// Asks many times over.
fn hammer(folder: &Path, times: usize) {
    let model = Cached::new(Counting::new(), folder).max_entries(8);
    for nth in 0..times {
        let payload = format!("질문 {} {}", nth % 12, "가".repeat(nth % 12 * 500));
        assert!(ask(&model, &payload).text.ends_with(&format!(": {payload}")));
    }
    assert_eq!(model.warning(), None);
}

const CHILD: &str = "PLANWRIGHT_TEST_CACHE_FOLDER";

/// What a child of the next test does.
#[test]
fn one_process_of_several() {
    if let Some(folder) = std::env::var_os(CHILD) {
        hammer(Path::new(&folder), 100);
    }
}

#[test]
fn threads_and_processes_share_a_folder() {
    let home = tempdir().unwrap();
    let child = || {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "model_cache::one_process_of_several"]).env(CHILD, home.path());
        command.stdout(std::process::Stdio::null()).spawn().expect("a child")
    };
    let children: Vec<_> = (0..3).map(|_| child()).collect();
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| hammer(home.path(), 100)))));
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    hammer(home.path(), 20);
    assert_eq!(entries(home.path()).len(), 8);
}
