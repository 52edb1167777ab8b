//! Duties: the kinds of work that a question asks for, and that a tool or an agent does.
//!
//! Both are told by words: those of the question, and those of a name and its description. Nothing
//! here knows an agent by its name alone.

use super::lexicon::{WORK, mentions};
use super::question::Question;
use planwright::contract::ToolContract;

/// A kind of work, in the order in which one follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Duty {
    Search,
    Validation,
    Analysis,
    Comparison,
    Critique,
    Summary,
    Translation,
    Document,
    /// Writes what is the answer.
    Writing,
}

/// The words of a duty.
struct Words {
    duty: Duty,
    /// How the names and descriptions of those who do it begin their words.
    done_by: &'static str,
    /// How a question asks for it.
    asked_by: &'static str,
    /// What the kinds of an intent call it beside that: who sorts by kinds counts checks and
    /// comparisons among the analyses.
    kinds: &'static str,
    noun: [&'static str; 2],
}

use Duty::{Analysis, Comparison, Critique, Document, Search, Summary, Translation, Validation, Writing};

const fn words(
    duty: Duty,
    done_by: &'static str,
    asked_by: &'static str,
    kinds: &'static str,
    noun: [&'static str; 2],
) -> Words {
    Words { duty, done_by, asked_by, kinds, noun }
}

#[rustfmt::skip]
const DUTIES: [Words; 9] = [
    words(Search, "search research retriev find lookup gather 검색 조사 조회 수집",
        "search find look_up research gather collect 검색 찾아 조회 조사 수집", "info query question inquiry 질문", ["search", "검색"]),
    words(Validation, "validat verif 검증", "validat verif fact-check 검증 유효성", "analy 분석", ["validation", "검증"]),
    words(Analysis, "analy insight 분석", "analy trend assess evaluat 분석 추세 트렌드 문제점 원인 평가", "", ["analysis", "분석"]),
    words(Comparison, "compar 비교", "compar differ versus vs 비교 차이", "analy 분석", ["comparison", "비교"]),
    words(Critique, "critic critique review 비평 검토", "critic critique 비평 검토", "analy 분석", ["review", "검토"]),
    words(Summary, "summar 요약", "summar 요약", "", ["summary", "요약"]),
    words(Translation, "translat 번역", "translat 번역", "", ["translation", "번역"]),
    words(Document, "document report 문서 보고서",
        "report draft 보고서 리포트 문서_작성 문서를_작성 문서를_만들 초안", "", ["report", "보고서 작성"]),
    words(Writing, "writer write writing 작성 집필", "write 작성", "document report 문서 보고서", ["written answer", "답변 작성"]),
];

impl Duty {
    /// What the kinds of an intent may call it.
    pub(super) fn is_kind(self, kind: &str) -> bool {
        let words = &DUTIES[self as usize];
        mentions(kind, words.done_by) || mentions(kind, words.kinds)
    }

    /// The work of a tool or an agent: what its name says, else what its description says first.
    pub(super) fn of(contract: &ToolContract) -> Option<Duty> {
        let by =
            |text: &str| DUTIES.iter().find(|words| mentions(text, words.done_by)).map(|words| words.duty);
        let name = contract.name.to_lowercase().replace(['_', '-'], " ");
        by(&name).or_else(|| by(&contract.description.to_lowercase()))
    }

    /// The work that a question asks for, in its order.
    pub(super) fn asked(question: &str) -> Vec<Duty> {
        let lower = question.to_lowercase();
        let asked = DUTIES.iter().filter(|words| mentions(&lower, words.asked_by));
        asked.map(|words| words.duty).collect()
    }

    /// The duty as a noun.
    pub(super) fn noun(self, korean: bool) -> &'static str {
        DUTIES[self as usize].noun[usize::from(korean)]
    }
}

/// Takes the words of the work out of a question, where something is left then.
pub(super) fn leave_the_subject(question: &mut Question) {
    if question.terms().iter().all(|term| is_work(&term.text)) {
        return;
    }
    for part in &mut question.parts {
        part.terms.retain(|term| !is_work(&term.text));
    }
    question.parts.retain(|part| !part.terms.is_empty());
}

/// Whether a word names work, and not what the work is on.
pub(super) fn is_work(word: &str) -> bool {
    mentions(&word.to_lowercase(), WORK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_duties() {
        assert!(DUTIES.iter().enumerate().all(|(at, words)| words.duty as usize == at));
    }
}
