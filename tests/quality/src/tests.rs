//! The facts are in the documents, and the judge is fair.

use std::path::Path;

use crate::judge::{Text, Verdict, judge};
use crate::question::{Kind, load};

fn texts(path: &Path) -> String {
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::read_to_string(path).expect("a document");
    };
    entries.map(|entry| texts(&entry.expect("an entry").path())).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn every_fact_is_written_in_the_material_of_its_question() {
    let questions = load().expect("the questions");
    let traps = questions.iter().filter(|question| question.kind == Kind::Trap).count();
    assert_eq!((questions.len(), traps), (180, 71));
    for question in questions {
        let Some((_, path)) = question.material() else { continue };
        let text = Text::new(&texts(&path));
        assert!(question.must.iter().all(|fact| text.states_fact(fact)), "{}", question.id);
    }
}

#[test]
fn a_wording_is_found_as_a_whole() {
    let text =
        Text::new("27\n Days, 월 3,850,000원(포함), 내선 2204에, 7//2 = 3.5, 109.0909, limit, 2**8 = 256.");
    for wording in ["27 days", "3850000원", "2204", "109.09", "= 256"] {
        assert!(text.states(wording), "{wording}");
    }
    for wording in ["7 days", "850,000원", "220", "= 3", "MIT", "= 25"] {
        assert!(!text.states(wording), "{wording}");
    }
}

#[test]
fn a_trap_is_passed_by_declining_before_anything_misleads() {
    let mut questions = load().expect("the questions").into_iter();
    let zebra = questions.find(|question| question.id == "zebra").expect("the zebra");
    for (code, answer, expected) in [
        (1, None, Verdict::Right),
        (1, Some("It is sandpit. [1]"), Verdict::Misleading),
        (1, Some("Nothing was found about \"zebra\"."), Verdict::Right),
        (0, Some("It is sandpit. [1]"), Verdict::Misleading),
        (0, Some("There is no lion. [1]"), Verdict::Misleading),
        (0, Some("It sleeps. [1]\n\nNothing was found about \"zebra\"."), Verdict::Right),
        (0, Some("It is sandpit. [1]\n\nNothing was found about \"zebra\"."), Verdict::Misleading),
        (0, Some("Nothing was found about \"zebra\".\n\nnearest: It is sandpit. [1]"), Verdict::Right),
        (3, None, Verdict::Broken),
    ] {
        assert_eq!(judge(&zebra, Some(code), answer).verdict, expected, "{answer:?}");
    }
}
