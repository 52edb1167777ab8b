//! Who imports whom, file by file, read from the code itself: `use` trees and paths, resolved through the
//! re-exports of parent modules to the file that defines the name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The folder of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The source folders: the engine's, then each crate's, and the adapter's.
pub fn crates() -> Vec<String> {
    let mut folders = vec!["src".to_owned()];
    let crates = fs::read_dir(root().join("crates")).expect("the folder of crates");
    let names = crates.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    folders.extend(names.map(|name| format!("crates/{name}/src")));
    folders.push("adapters/restate/src".to_owned());
    folders.sort();
    folders
}

/// Every source file under a folder by its path, with its text.
pub fn sources(folder: &str) -> BTreeMap<String, String> {
    fn walk(folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder of the house") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(root()).expect("inside").to_string_lossy().replace('\\', "/");
                found.insert(name, fs::read_to_string(&path).expect("a source file"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "{folder} has no source file");
    found
}

type Names = Vec<String>;

/// One file as a module.
#[derive(Default)]
struct Module {
    file: String,
    /// Names that it defines itself.
    defined: BTreeSet<String>,
    /// Names that it hands on, with where they come from.
    handed_on: BTreeMap<String, Names>,
    /// Modules of which it hands on everything.
    globs: Vec<Names>,
    /// Paths that its code names, its private imports among them.
    named: Vec<Names>,
}

/// The imports between the files of one crate.
pub struct Imports {
    modules: BTreeMap<Names, Module>,
}

impl Imports {
    /// Reads every file under a crate's source folder.
    pub fn of(folder: &str) -> Self {
        Imports::of_sources(folder, &sources(folder))
    }

    /// Reads files given as text.
    pub fn of_sources(folder: &str, files: &BTreeMap<String, String>) -> Self {
        let mut modules = BTreeMap::new();
        for (file, text) in files {
            let inner = file.strip_prefix(folder).expect("a file of the folder").trim_start_matches('/');
            let mut place: Names = inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if ["lib", "main", "mod"].contains(&place.last().map_or("", String::as_str)) {
                place.pop();
            }
            let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            let mut reader =
                Reader { place: place.clone(), module: Module { file: file.clone(), ..Module::default() } };
            reader.visit_file(&parsed);
            modules.insert(place, reader.module);
        }
        Imports { modules }
    }

    /// The files that each file imports.
    pub fn edges(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let edges = self.modules.values().map(|module| {
            let named = module.named.iter().filter_map(|path| self.file_of(path, 0));
            (module.file.as_str(), named.filter(|file| *file != module.file).collect())
        });
        edges.collect()
    }

    /// The file that defines what a path names.
    fn file_of(&self, path: &[String], depth: usize) -> Option<&str> {
        let known = (0..=path.len()).rev().find(|&length| self.modules.contains_key(&path[..length]))?;
        let (place, rest) = path.split_at(known);
        let module = &self.modules[place];
        let Some(name) = rest.first().filter(|_| depth < 8) else { return Some(&module.file) };
        if module.defined.contains(name) {
            return Some(&module.file);
        }
        if let Some(from) = module.handed_on.get(name) {
            return self.file_of(from, depth + 1);
        }
        let through = module.globs.iter().find_map(|glob| {
            let from = self.modules.get(glob)?;
            (from.defined.contains(name) || from.handed_on.contains_key(name)).then_some(glob)
        });
        match through {
            Some(glob) => self.file_of(&[glob.as_slice(), rest].concat(), depth + 1),
            None => Some(&module.file),
        }
    }

    /// The groups of files that import one another in a circle.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let edges = self.edges();
        let reach = |from: &str| {
            let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
            while let Some(file) = todo.pop() {
                for next in &edges[file] {
                    if seen.insert(*next) {
                        todo.push(next);
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reach(file))).collect();
        let mut circles: Vec<Vec<&str>> = Vec::new();
        for (file, theirs) in &reached {
            if theirs.contains(file) && !circles.iter().any(|circle| circle.contains(file)) {
                let back = theirs.iter().filter(|other| reached[*other].contains(file));
                circles.push(back.copied().collect());
            }
        }
        circles
    }
}

/// Reads one file: what it defines, hands on and names.
struct Reader {
    place: Names,
    module: Module,
}

impl Reader {
    /// A path from the crate's root, where it is a path inside the crate.
    fn resolve(&self, path: &[String]) -> Option<Names> {
        let mut place = self.place.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (place, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    place.pop()?;
                    rest = &rest[1..];
                }
            }
            _ => {}
        }
        Some([place.as_slice(), rest].concat())
    }

    fn flatten(tree: &syn::UseTree, before: Names, found: &mut Vec<(Names, String)>) {
        match tree {
            syn::UseTree::Path(path) => {
                Reader::flatten(&path.tree, [before, vec![path.ident.to_string()]].concat(), found);
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                found.push((before, last));
            }
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                found.push(([before, vec![name.clone()]].concat(), name));
            }
            syn::UseTree::Rename(rename) => {
                found.push(([before, vec![rename.ident.to_string()]].concat(), rename.rename.to_string()));
            }
            syn::UseTree::Glob(_) => found.push((before, "*".to_owned())),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| Reader::flatten(tree, before.clone(), found));
            }
        }
    }

    fn define(&mut self, name: &syn::Ident) {
        self.module.defined.insert(name.to_string());
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        _ => false,
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Mod(inner) if is_for_tests(&inner.attrs) => return,
            syn::Item::Fn(item) if is_for_tests(&item.attrs) => return,
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Macro(item) => item.ident.iter().for_each(|name| self.define(name)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut found = Vec::new();
        Reader::flatten(&item.tree, Vec::new(), &mut found);
        let hands_on = !matches!(item.vis, syn::Visibility::Inherited);
        for (path, name) in found {
            let Some(path) = self.resolve(&path) else { continue };
            match (hands_on, name.as_str()) {
                (true, "*") => self.module.globs.push(path),
                (true, _) => drop(self.module.handed_on.insert(name, path)),
                (false, _) => self.module.named.push(path),
            }
        }
    }

    /// `pub(in crate::machine)` says who may see an item; it imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1
            && let Some(path) = self.resolve(&names)
        {
            self.module.named.push(path);
        }
        visit::visit_path(self, path);
    }
}
