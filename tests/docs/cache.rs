//! Promises of the index that is kept in a cache folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use planwright_docs::Docs;

/// A folder of documents and a cache folder beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new(documents: &[(&str, &str)]) -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.folder()).unwrap();
        documents.iter().for_each(|(name, text)| place.write(name, text));
        place
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("docs")
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache/planwright")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder().join(name), text).unwrap();
    }

    /// The sources of what is found, and how many documents were read for it.
    fn search(&self, query: &str) -> (Vec<String>, usize) {
        let read = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&read);
        let docs = Docs::folder(self.folder())
            .unwrap()
            .cached_in(self.cache())
            .on_progress(move |done, total| heard.lock().unwrap().push((done, total)));
        let found = docs.search(query, 9).unwrap().iter().map(|passage| passage.source()).collect();
        let read = read.lock().unwrap();
        let total = read.first().map_or(0, |(_, total)| *total);
        assert_eq!(*read, (1..=total).map(|done| (done, total)).collect::<Vec<_>>());
        (found, total)
    }

    #[track_caller]
    fn check(&self, query: &str, sources: &[&str], read: usize) {
        assert_eq!(self.search(query), (sources.iter().map(ToString::to_string).collect(), read), "{query}");
    }

    fn file(&self) -> PathBuf {
        let mut files = fs::read_dir(self.cache()).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file
    }
}

const DOCUMENTS: [(&str, &str); 3] =
    [("a.md", "# 상태\nneedle one"), ("b.md", "needle needle"), ("c.html", "<h1>T</h1>hay")];

#[test]
fn a_folder_is_read_once_and_what_is_new_changed_or_gone_is_brought_up_to_date() {
    let place = Place::new(&DOCUMENTS);
    place.check("needle", &["b.md", "a.md#상태"], 3);
    place.check("needle", &["b.md", "a.md#상태"], 0);
    place.check("상태는", &["a.md#상태"], 0);
    place.write("d.md", "needle new");
    place.check("new", &["d.md"], 1);
    place.write("b.md", "hay alone");
    place.check("needle", &["d.md", "a.md#상태"], 1);
    // The same size at another time.
    place.write("b.md", "hay alike");
    File::open(place.folder().join("b.md"))
        .unwrap()
        .set_modified(SystemTime::now() + Duration::from_secs(9))
        .unwrap();
    place.check("alike", &["b.md"], 1);
    place.check("alone", &[], 0);
    fs::remove_file(place.folder().join("d.md")).unwrap();
    place.check("new", &[], 0);
    place.check("needle", &["a.md#상태"], 0);
}

#[test]
fn a_cache_that_was_brought_up_to_date_ranks_like_a_new_one() {
    let place = Place::new(&DOCUMENTS);
    place.check("hay", &["c.html#T"], 3);
    for (name, text) in
        [("b.md", "hay"), ("a.md", "hay"), ("0.md", "hay"), ("c.html", "hay hay of more words")]
    {
        place.write(name, text);
        place.search("hay");
    }
    let ranked = |docs: Docs| -> Vec<(String, u64)> {
        let found = docs.search("hay words", 9).unwrap();
        found.iter().map(|passage| (passage.source(), passage.score.to_bits())).collect()
    };
    let kept = ranked(Docs::folder(place.folder()).unwrap().cached_in(place.cache()));
    assert_eq!(kept.len(), 4);
    assert_eq!(kept, ranked(Docs::folder(place.folder()).unwrap()));
}

#[test]
fn a_reason_not_to_search_a_document_is_remembered() {
    let place = Place::new(&[("a.md", "needle"), ("deep.html", &"<div>".repeat(2_000))]);
    for _ in 0..2 {
        let docs = Docs::folder(place.folder()).unwrap().cached_in(place.cache());
        let skipped = ["not searched: deep.html: HTML that leaves more than 1000 elements open"];
        assert_eq!(docs.skipped().unwrap(), skipped);
    }
}

#[test]
fn a_damaged_cache_is_filled_again() {
    let place = Place::new(&DOCUMENTS);
    place.check("needle", &["b.md", "a.md#상태"], 3);
    let file = place.file();
    let whole = fs::read(&file).unwrap();
    let mut header = whole.clone();
    header[..100].fill(7);
    let mut inside = whole.clone();
    inside[4096..].fill(0x5a);
    for damaged in [&b"no database"[..], &header, &inside, &whole[..whole.len() / 2], b""] {
        fs::write(&file, damaged).unwrap();
        place.check("needle", &["b.md", "a.md#상태"], 3);
        place.check("needle", &["b.md", "a.md#상태"], 0);
    }
}

#[test]
fn a_cache_that_cannot_be_written_leaves_the_search_as_it_is() {
    let place = Place::new(&DOCUMENTS);
    fs::write(place.0.path().join("cache"), "a file, no folder").unwrap();
    for _ in 0..2 {
        place.check("needle", &["b.md", "a.md#상태"], 3);
    }
}

#[test]
fn folders_do_not_share_a_cache() {
    let (one, other) = (Place::new(&DOCUMENTS), Place::new(&[("a.md", "needle in another folder")]));
    let found = |place: &Place, cache: &Path| {
        let docs = Docs::folder(place.folder()).unwrap().cached_in(cache);
        docs.search("needle", 9).unwrap().len()
    };
    for _ in 0..2 {
        assert_eq!((found(&one, &one.cache()), found(&other, &one.cache())), (2, 1));
    }
}

#[test]
fn searches_at_once_share_one_cache() {
    let place = Place::new(&[]);
    (0..300).for_each(|number| place.write(&format!("{number:03}.md"), &format!("needle {number}")));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let docs = Docs::folder(place.folder()).unwrap().cached_in(place.cache());
                assert_eq!(docs.search("needle", usize::MAX).unwrap().len(), 300);
            });
        }
    });
    assert_eq!(place.search("299"), (vec!["299.md".to_owned()], 0));
}

#[cfg(unix)]
#[test]
fn the_cache_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(&DOCUMENTS);
    place.search("needle");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.cache()), mode(&place.file())), (0o700, 0o600));
}
