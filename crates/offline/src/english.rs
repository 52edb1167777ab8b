//! English: a light stemmer.

use super::lexicon::IRREGULAR;

/// The stem of a lower-case word. It is no word itself; it is only ever compared with other stems.
///
/// Plurals, `-ing`, `-ed`, `-ion`, `-or` and a last `e` go, so that `validates`, `validating`,
/// `validation` and `validator` meet.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut pairs = IRREGULAR.split_whitespace();
    let irregular = pairs.position(|form| form == word).filter(|at| at % 2 == 0).and_then(|_| pairs.next());
    let singular = singular(irregular.unwrap_or(word));
    let base = bare(&singular);
    let base = base.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(base);
    // `installation` has lost its `ion` and is an `install`.
    let base = base.strip_suffix("at").filter(|rest| rest.len() >= 5).unwrap_or(base);
    // `planning` loses one of its two n, and so does `fall`, on both sides of a comparison.
    let base = match base.as_bytes() {
        [.., before, last] if before == last && base.len() > 3 && !b"aeiou".contains(last) => {
            &base[..base.len() - 1]
        }
        _ => base,
    };
    match base.strip_suffix('y').filter(|rest| rest.len() > 2) {
        Some(rest) => format!("{rest}i"),
        None => base.to_owned(),
    }
}

fn singular(word: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    match word.len() {
        5.. if ends(&["ies", "ied"]) => format!("{}y", &word[..word.len() - 3]),
        5.. if ends(&["sses", "shes", "ches", "xes", "zes"]) => word[..word.len() - 2].to_owned(),
        4.. if ends(&["s"]) && !ends(&["ss", "us", "is"]) => word[..word.len() - 1].to_owned(),
        _ => word.to_owned(),
    }
}

fn bare(word: &str) -> &str {
    let has_vowel = |rest: &&str| rest.len() >= 3 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let formed = |rest: &&str| rest.len() >= 4 && rest.ends_with(['t', 's']);
    let verb = ["ing", "ed"].iter().find_map(|end| word.strip_suffix(end).filter(has_vowel));
    verb.or_else(|| ["ion", "or"].iter().find_map(|end| word.strip_suffix(end).filter(formed)))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem_and_short_words_stay() {
        for family in [
            "query queries",
            "validate validates validated validating validation validator",
            "plan plans planned planning",
            "box boxes",
            "retry retries retried retrying",
            "cache caches cached caching",
            "process processes processing",
            "install installs installed installation",
            "configure configuring configuration",
            "write writes wrote written",
            "execute execution executing",
        ] {
            let stems: Vec<String> = family.split_whitespace().map(stem).collect();
            assert!(stems.iter().all(|found| *found == stems[0]), "{family} gave {stems:?}");
        }
        for word in ["bus", "gas", "red", "king", "this", "c", "api", "sing"] {
            assert!(word.starts_with(&stem(word)) && stem(word).len() + 1 >= word.len(), "{word}");
        }
    }
}
