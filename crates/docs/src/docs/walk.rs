//! The files of a folder, without hidden ones and those that a `.gitignore` in it names. No link is followed.

use std::fs::{DirEntry, ReadDir, read, read_dir};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fast_glob::glob_match;

/// A line of a `.gitignore`.
struct Rule {
    /// What it names, as a path from the folder of the file on.
    pattern: String,
    /// Whether it takes back what a line before it says.
    keeps: bool,
    folders_only: bool,
}

impl Rule {
    fn parse(line: &str) -> Option<Rule> {
        let line = line.trim_end();
        let (keeps, line) = line.strip_prefix('!').map_or((false, line), |line| (true, line));
        let (folders_only, line) = line.strip_suffix('/').map_or((false, line), |line| (true, line));
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        // Braces stand for themselves. A name without a folder is looked for in all of them.
        let name = line.strip_prefix('/').unwrap_or(line).replace('{', "\\{").replace('}', "\\}");
        let pattern = if line.contains('/') { name } else { format!("**/{name}") };
        Some(Rule { pattern, keeps, folders_only })
    }
}

/// The rules of a folder, and those of the folders that it lies in.
struct Rules {
    folder: PathBuf,
    own: Vec<Rule>,
    outer: Option<Rc<Rules>>,
}

impl Rules {
    fn of(folder: &Path, outer: Option<Rc<Rules>>) -> Option<Rc<Rules>> {
        let texts = [".gitignore", ".ignore"].map(|name| read(folder.join(name)).unwrap_or_default());
        let texts = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
        let own: Vec<Rule> = texts.iter().flat_map(|text| text.lines()).filter_map(Rule::parse).collect();
        match own.is_empty() {
            true => outer,
            false => Some(Rc::new(Rules { folder: folder.to_owned(), own, outer })),
        }
    }

    /// Whether a file or a folder is left out. The last rule that names it decides, in the innermost folder first.
    fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let parts = path.strip_prefix(&self.folder).unwrap_or(path).components();
        let name = parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        let names = |rule: &&Rule| (is_folder || !rule.folders_only) && glob_match(&rule.pattern, &name);
        match self.own.iter().rev().find(names) {
            Some(rule) => !rule.keeps,
            None => self.outer.as_ref().is_some_and(|outer| outer.leave_out(path, is_folder)),
        }
    }
}

/// The files below a folder, or why a part of it cannot be read; for a folder in it, nothing.
pub(super) fn walk(root: &Path) -> impl Iterator<Item = io::Result<Option<DirEntry>>> {
    let mut folders = vec![(root.to_owned(), None)];
    let mut entries: Option<(ReadDir, Option<Rc<Rules>>)> = None;
    let next = move || {
        let Some((listed, rules)) = &mut entries else {
            let (folder, outer) = folders.pop()?;
            let at =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
            return Some(read_dir(&folder).map_err(at).map(|listed| {
                entries = Some((listed, Rules::of(&folder, outer)));
                None
            }));
        };
        let Some(entry) = listed.next() else {
            entries = None;
            return Some(Ok(None));
        };
        Some(entry.and_then(|entry| {
            let (path, kind) = (entry.path(), entry.file_type()?);
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_hidden || rules.as_ref().is_some_and(|rules| rules.leave_out(&path, kind.is_dir())) {
                return Ok(None);
            }
            folders.extend(kind.is_dir().then(|| (path, rules.clone())));
            Ok(kind.is_file().then_some(entry))
        }))
    };
    std::iter::from_fn(next)
}
