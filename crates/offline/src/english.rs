//! English: stop words, generic words and a light stemmer.

use super::list::Words;

/// Words that ask, join or are polite, and so say nothing of what a question is about.
static STOP: Words = Words::new(
    "
    a about after again all also although always am an and any anybody anyone anything are aren as ask
    at be because been before being between both but by can cannot compare compared comparison could
    couldn d did didn differ difference differences different differs do does doesn doing don done
    during e each eg either else etc even ever every explain few find for from get gets give given gives
    go goes going had happen happens has hasn have haven he hello help her here hey hi him his how i ie
    if in instead into is isn it its itself just kindly know let like ll look m many may me mean meaning
    means meant might more most much must my need needs no nor not now of off ok okay on once one only
    or other ought our out over own per please quite re really s said same say says shall she should
    shouldn show so some somebody someone something such t tell than thank thanks that the their them
    then there these they thing things this those through to too try under until up us ve versus very
    via vs want was wasn way we well were weren what whats when where whether which while who whom whose
    why will with within without won would wouldn yes yet you your
",
);

/// Words that say little of what a question is about.
static GENERIC: Words = Words::new(
    "
    available become big brief briefly call called cause change common consist contain current define
    definition describe description detail details example examples exist fast first general good
    important information keep kind kinds large last latest list long main make makes name new number
    old overview part parts place possible provide purpose question reason role short small start step
    summarise summarize summary support take takes tall time today two type types use used uses using
    work working works write year
",
);

/// Words that begin a question of their own.
static STARTERS: Words = Words::new(
    "
    what what's whats how why when where who which whose does do did is are can could should will
    explain describe tell calculate compute show give list
",
);

/// Words that stand for something named before.
static PRONOUNS: Words = Words::new(
    "
    it its they them their this these those he she
",
);

/// Forms that no rule leads back to their verb or noun.
const IRREGULAR: [(&str, &str); 30] = [
    ("wrote", "write"),
    ("written", "write"),
    ("built", "build"),
    ("sent", "send"),
    ("kept", "keep"),
    ("paid", "pay"),
    ("sold", "sell"),
    ("bought", "buy"),
    ("ran", "run"),
    ("began", "begin"),
    ("begun", "begin"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("broke", "break"),
    ("broken", "break"),
    ("lost", "lose"),
    ("taught", "teach"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("stolen", "steal"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("drew", "draw"),
    ("drawn", "draw"),
    ("held", "hold"),
    ("spent", "spend"),
    ("children", "child"),
    ("people", "person"),
];

pub(super) fn is_stop(word: &str) -> bool {
    STOP.has(word)
}

pub(super) fn is_generic(word: &str) -> bool {
    GENERIC.has(word)
}

pub(super) fn is_starter(word: &str) -> bool {
    STARTERS.has(word)
}

pub(super) fn is_pronoun(word: &str) -> bool {
    PRONOUNS.has(word)
}

/// The stem of a lower-case word. It is no word itself; it is only ever compared with other stems.
///
/// Plurals, `-ing`, `-ed`, `-ion`, `-or` and a last `e` go, so that `validates`, `validating`,
/// `validation` and `validator` meet.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let word = IRREGULAR.iter().find(|(form, _)| *form == word).map_or(word, |(_, base)| base);
    let singular = singular(word);
    let base = bare(&singular);
    let base = base.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(base);
    // `installation` has lost its `ion` and is an `install`.
    let base = base.strip_suffix("at").filter(|rest| rest.len() >= 5).unwrap_or(base);
    let mut stem = base.to_owned();
    let bytes = stem.as_bytes();
    // `planning` loses one of its two n, and so does `fall`, on both sides of a comparison.
    if let [.., before, last] = bytes
        && before == last
        && bytes.len() > 3
        && !b"aeiou".contains(last)
    {
        stem.pop();
    }
    if stem.len() > 3 && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

fn singular(word: &str) -> String {
    let kept = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    match word {
        _ if word.len() > 4 && (word.ends_with("ies") || word.ends_with("ied")) => {
            format!("{}y", &word[..word.len() - 3])
        }
        _ if ["sses", "shes", "ches", "xes", "zes"].iter().any(|end| word.ends_with(end))
            && word.len() > 4 =>
        {
            word[..word.len() - 2].to_owned()
        }
        _ if word.ends_with('s') && !kept && word.len() > 3 => word[..word.len() - 1].to_owned(),
        _ => word.to_owned(),
    }
}

fn bare(word: &str) -> &str {
    let has_vowel = |rest: &str| rest.bytes().any(|byte| b"aeiouy".contains(&byte));
    for end in ["ing", "ed"] {
        if let Some(rest) = word.strip_suffix(end).filter(|rest| rest.len() >= 3 && has_vowel(rest)) {
            return rest;
        }
    }
    for end in ["ion", "or"] {
        let rest = word.strip_suffix(end).filter(|rest| rest.len() >= 4);
        if let Some(rest) = rest.filter(|rest| rest.ends_with('t') || rest.ends_with('s')) {
            return rest;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for family in [
            &["query", "queries"][..],
            &["validate", "validates", "validated", "validating", "validation", "validator"],
            &["plan", "plans", "planned", "planning"],
            &["box", "boxes"],
            &["retry", "retries", "retried", "retrying"],
            &["cache", "caches", "cached", "caching"],
            &["process", "processes", "processing"],
            &["install", "installs", "installed", "installation"],
            &["configure", "configuring", "configuration"],
            &["write", "writes", "wrote", "written"],
            &["execute", "execution", "executing"],
        ] {
            let stems: Vec<String> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|found| *found == stems[0]), "{family:?} gave {stems:?}");
        }
    }

    #[test]
    fn short_words_stay() {
        for word in ["bus", "gas", "red", "king", "this", "c", "api", "sing"] {
            assert!(
                word.starts_with(&stem(word)) && stem(word).len() + 1 >= word.len(),
                "{word}: {}",
                stem(word)
            );
        }
    }
}
