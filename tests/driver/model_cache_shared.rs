//! Threads and processes that share the folder of a cache.

use std::path::Path;

use planwright::driver::Cached;
use planwright::machine::ModelReply;
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;

use crate::model_cache::{ask, entries, folder};

/// A model that answers each payload with itself.
struct Echo;

impl Model for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        Ok(ModelReply::text(request.payload.clone()))
    }
}

/// Asks many times over.
fn hammer(folder: &Path, times: usize) {
    let model = Cached::new(Echo, folder).max_entries(8);
    for nth in 0..times {
        let payload = format!("질문 {} {}", nth % 12, "가".repeat(nth % 12 * 500));
        assert_eq!(ask(&model, &payload).text, payload);
    }
    assert_eq!(model.warning(), None);
}

#[test]
fn threads_share_a_folder() {
    let home = folder();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| hammer(home.path(), 100));
        }
    });
    hammer(home.path(), 20);
    assert_eq!(entries(home.path()).len(), 8);
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
fn processes_share_a_folder() {
    let home = folder();
    let child = || {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "model_cache_shared::one_process_of_several"]).env(CHILD, home.path());
        command.stdout(std::process::Stdio::null()).spawn().expect("a child")
    };
    let children: Vec<_> = (0..3).map(|_| child()).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    hammer(home.path(), 20);
    assert_eq!(entries(home.path()).len(), 8);
}
