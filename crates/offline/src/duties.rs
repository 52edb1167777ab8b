//! Duties: the kinds of work that a question asks for, and that a tool or an agent does.
//!
//! Both are told by words: those of the question, and those of a name and its description. Nothing
//! here knows an agent by its name alone.

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

impl Duty {
    const ALL: [Duty; 9] = [
        Duty::Search,
        Duty::Validation,
        Duty::Analysis,
        Duty::Comparison,
        Duty::Critique,
        Duty::Summary,
        Duty::Translation,
        Duty::Document,
        Duty::Writing,
    ];

    /// How the names and descriptions of those who do it begin their words.
    fn done_by(self) -> &'static [&'static str] {
        match self {
            Duty::Search => {
                &["search", "research", "retriev", "find", "lookup", "gather", "검색", "조사", "조회", "수집"]
            }
            Duty::Validation => &["validat", "verif", "검증"],
            Duty::Analysis => &["analy", "insight", "분석"],
            Duty::Comparison => &["compar", "비교"],
            Duty::Critique => &["critic", "critique", "review", "비평", "검토"],
            Duty::Summary => &["summar", "요약"],
            Duty::Translation => &["translat", "번역"],
            Duty::Document => &["document", "report", "문서", "보고서"],
            Duty::Writing => &["writer", "write", "writing", "작성", "집필"],
        }
    }

    /// How a question asks for it.
    fn asked_by(self) -> &'static [&'static str] {
        match self {
            Duty::Search => &[
                "search", "find", "look up", "research", "gather", "collect", "검색", "찾아", "조회", "조사",
                "수집",
            ],
            Duty::Validation => &["validat", "verif", "fact-check", "검증", "유효성"],
            Duty::Analysis => {
                &["analy", "trend", "assess", "evaluat", "분석", "추세", "트렌드", "문제점", "원인", "평가"]
            }
            Duty::Comparison => &["compar", "differ", "versus", "vs", "비교", "차이"],
            Duty::Critique => &["critic", "critique", "비평", "검토"],
            Duty::Summary => &["summar", "요약"],
            Duty::Translation => &["translat", "번역"],
            Duty::Document => {
                &["report", "draft", "보고서", "리포트", "문서 작성", "문서를 작성", "문서를 만들", "초안"]
            }
            Duty::Writing => &["write", "작성"],
        }
    }

    /// What the kinds of an intent call it.
    pub(super) fn kinds(self) -> &'static [&'static str] {
        match self {
            Duty::Search => {
                &["search", "lookup", "info", "query", "question", "inquiry", "검색", "조회", "질문"]
            }
            // Who sorts by kinds counts these among the analyses.
            Duty::Comparison => &["compar", "비교", "analy", "분석"],
            Duty::Validation => &["validat", "verif", "검증", "analy", "분석"],
            Duty::Critique => &["critic", "critique", "review", "비평", "검토", "analy", "분석"],
            Duty::Writing => &["writer", "write", "작성", "document", "report", "문서", "보고서"],
            other => other.done_by(),
        }
    }

    /// The work of a tool or an agent: what its name says, else what its description says first.
    pub(super) fn of(contract: &ToolContract) -> Option<Duty> {
        let name = contract.name.to_lowercase().replace(['_', '-'], " ");
        let by = |text: &str| Duty::ALL.into_iter().find(|duty| mentions(text, duty.done_by()));
        by(&name).or_else(|| by(&contract.description.to_lowercase()))
    }

    /// The work that a question asks for, in its order.
    pub(super) fn asked(question: &str) -> Vec<Duty> {
        let lower = question.to_lowercase();
        Duty::ALL.into_iter().filter(|duty| mentions(&lower, duty.asked_by())).collect()
    }

    /// The duty as a noun.
    pub(super) fn noun(self, korean: bool) -> &'static str {
        let (english, hangul) = match self {
            Duty::Search => ("search", "검색"),
            Duty::Validation => ("validation", "검증"),
            Duty::Analysis => ("analysis", "분석"),
            Duty::Comparison => ("comparison", "비교"),
            Duty::Critique => ("review", "검토"),
            Duty::Summary => ("summary", "요약"),
            Duty::Translation => ("translation", "번역"),
            Duty::Document => ("report", "보고서 작성"),
            Duty::Writing => ("written answer", "답변 작성"),
        };
        if korean { hangul } else { english }
    }
}

/// Words that say what is to be done with a subject and nothing of the subject.
const WORK: [&str; 40] = [
    "검색",
    "찾아",
    "조회",
    "조사",
    "수집",
    "검증",
    "분석",
    "비교",
    "검토",
    "비평",
    "평가",
    "보고서",
    "리포트",
    "작성",
    "문서",
    "초안",
    "요약",
    "정리",
    "번역",
    "승인",
    "확인",
    "생성",
    "제시",
    "도출",
    "search",
    "research",
    "gather",
    "collect",
    "validat",
    "verif",
    "analy",
    "compar",
    "review",
    "critique",
    "report",
    "draft",
    "write",
    "summar",
    "translat",
    "approv",
];

/// Takes the words of the work out of a question, where something is left then.
pub(super) fn leave_the_subject(question: &mut Question) {
    let subject = question.terms().into_iter().any(|term| !is_work(&term.text));
    if !subject {
        return;
    }
    for part in &mut question.parts {
        part.terms.retain(|term| !is_work(&term.text));
    }
    question.parts.retain(|part| !part.terms.is_empty());
}

/// Whether a word names work, and not what the work is on.
pub(super) fn is_work(word: &str) -> bool {
    mentions(&word.to_lowercase(), &WORK)
}

/// Whether a lower-case text has a word that begins so; Hangul is found inside words, too.
pub(super) fn mentions(lower: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| match stem.is_ascii() && !stem.contains(' ') {
        true => lower.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word.starts_with(stem)),
        false => lower.contains(stem),
    })
}
