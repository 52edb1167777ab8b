//! The scenarios of `orchestrated`: teams, and a model between the steps that decides what becomes of the
//! rest. Two questions are the design's; all that is said is made up.

mod endings;

use planwright::contract::Source;
use serde_json::{Value, json};

use super::{Story, page};

pub fn stories() -> Vec<Story> {
    let mut told = vec![
        enough_at_once(),
        searched_again(),
        collaborating(),
        collaborating_first(),
        unclear(),
        no_steps(),
        nonsense(),
        document(),
    ];
    told.extend(endings::stories());
    told
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("orchestrated", name, question).note("Made up.")
}

fn intent(kind: &str, confidence: f64) -> String {
    json!({"intent_type": kind, "confidence": confidence}).to_string()
}

fn step(agent: &str, task: &str, description: &str) -> Value {
    json!({"agent": agent, "task": task, "input": null, "description": description})
}

fn plan(strategy: &str, steps: &[Value]) -> String {
    json!({"strategy": strategy, "steps": steps}).to_string()
}

fn decision(action: &str, reasoning: &str, confidence: f64) -> Value {
    json!({
        "action": action,
        "reasoning": reasoning,
        "confidence": confidence,
        "next_agent": null,
        "task": null,
        "collaboration_needed": null,
    })
}

fn goes_on(reasoning: &str) -> String {
    decision("continue", reasoning, 0.9).to_string()
}

/// Results as `search` gives them, with their sources.
fn hits(titles: &[(&str, &str)]) -> (String, Vec<Source>) {
    let url = |nth: usize| format!("https://example.org/{}", nth + 1);
    let hit = |(nth, (title, content)): (usize, &(&str, &str))| json!({"title": title, "url": url(nth), "content": content});
    let list: Vec<Value> = titles.iter().enumerate().map(hit).collect();
    let sources = titles.iter().enumerate().map(|(nth, (title, _))| page(title, &url(nth))).collect();
    (Value::from(list).to_string(), sources)
}

const RENT: &str = "전세금 인상 가능한가요?";

fn rent_hits() -> (String, Vec<Source>) {
    hits(&[
        ("주택임대차보호법 제7조", "차임이나 보증금의 증액은 약정한 금액의 20분의 1을 넘지 못한다."),
        ("증액 청구의 시기", "증액은 계약 또는 증액이 있은 후 1년 안에는 하지 못한다."),
        ("갱신요구권", "임차인은 한 번 갱신을 요구할 수 있다."),
        ("합의 갱신", "당사자가 새로 합의하면 상한이 적용되지 않을 수 있다."),
        ("분쟁조정위원회", "다툼이 있으면 조정을 신청할 수 있다."),
    ])
}

fn enough_at_once() -> Story {
    let (found, sources) = rent_hits();
    story("enough_at_once", RENT)
        .note("Five results answer the question; analysis and document are left out.")
        .reply(intent("information", 0.92))
        .reply(plan(
            "찾고, 따져 본 다음 문서로 정리한다.",
            &[
                step("search_team", "전세금 증액의 한도와 시기를 찾는다.", "근거를 모은다."),
                step("analysis_team", "증액이 가능한 경우를 따진다.", "위험을 살핀다."),
                step("document_team", "결과를 안내문으로 쓴다.", "정리한다."),
            ],
        ))
        .reply(goes_on("아직 실행된 것이 없으므로 계획대로 검색한다."))
        .calls(&[("search", "전세금 증액 한도 시기")])
        .tool_from("search", "전세금 증액 한도 시기", &found, &sources)
        .reply(decision("skip_remaining", "검색 결과 5개만으로 답할 수 있다. 나머지는 필요 없다.", 0.95).to_string())
        .reply(
            "네, 다만 한도가 있습니다. 증액은 보증금의 5%(20분의 1)를 넘지 못하고, 계약이나 지난 증액 후 1년 안에는 \
             할 수 없습니다.\n출처: 주택임대차보호법 제7조, 증액 청구의 시기",
        )
}

fn searched_again() -> Story {
    let (few, first) = hits(&[("강남구 시세", "평균 24억 원"), ("역삼동 매물", "전용 84㎡ 21억 원")]);
    let (many, second) = hits(&[
        ("강남구 10월 실거래", "대치동 84㎡ 29억 원"),
        ("강남구 9월 실거래", "개포동 84㎡ 31억 원"),
        ("압구정 시세", "84㎡ 45억 원"),
        ("삼성동 시세", "84㎡ 30억 원"),
        ("논현동 시세", "84㎡ 19억 원"),
    ]);
    let again = json!({
        "action": "add_agent",
        "next_agent": "search_team",
        "task": "강남구 아파트의 최근 실거래가를 동별로 찾는다.",
        "reasoning": "결과가 2개뿐이라 다른 키워드로 다시 찾아야 한다.",
        "confidence": 0.85,
    });
    story("searched_again", "강남 아파트 시세")
        .note("Two results are too few: the search team runs again, though the plan did not say so.")
        .note("The plan is written with the design's own names, `execution_steps` and `team`.")
        .reply(intent("information", 0.88))
        .reply(
            json!({
                "strategy": "시세를 찾는다.",
                "execution_steps": [{"team": "search_team", "task": "강남 아파트 시세를 찾는다.", "description": "시세 조회"}],
            })
            .to_string(),
        )
        .reply(goes_on("계획대로 검색한다."))
        .calls(&[("search", "강남 아파트 시세")])
        .tool_from("search", "강남 아파트 시세", &few, &first)
        .reply(again.to_string())
        .calls(&[("search", "강남구 아파트 실거래가 2026")])
        .tool_from("search", "강남구 아파트 실거래가 2026", &many, &second)
        .reply(goes_on("새로 5개를 찾아 충분하다."))
        .reply(
            "강남구의 전용 84㎡는 대체로 19억~45억 원입니다: 논현 19억, 역삼 21억, 대치 29억, 삼성 30억, 개포 31억, \
             압구정 45억 원.\n출처: 강남구 10월 실거래, 강남구 9월 실거래, 압구정 시세 외",
        )
}

fn collaborating() -> Story {
    let (found, sources) = rent_hits();
    let together = json!({
        "action": "collaborate",
        "task": "찾은 조문으로 10% 인상 요구가 정당한지 따진다.",
        "collaboration_needed": {
            "primary_agent": "analysis_team",
            "supporting_agent": "search_team",
            "collaboration_type": "data_refinement",
        },
        "reasoning": "검색 결과를 더 자세히 따져야 한다.",
        "confidence": 0.8,
    });
    story("collaborating", "집주인이 1년 만에 전세금을 10% 올려 달라는데 응해야 하나요?")
        .note("The analysis team works on what the search team has found.")
        .reply(intent("analysis", 0.9))
        .reply(plan(
            "근거를 찾는다.",
            &[step("search_team", "전세금 증액의 한도와 시기를 찾는다.", "근거를 모은다.")],
        ))
        .reply(goes_on("먼저 근거를 찾는다."))
        .calls(&[("search", "전세금 증액 한도")])
        .tool_from("search", "전세금 증액 한도", &found, &sources)
        .reply(together.to_string())
        .reply(
            "1. 10%는 상한 5%를 넘는다 (주택임대차보호법 제7조).\n2. 1년이 지나지 않았으면 증액을 청구할 수 없다 \
             (증액 청구의 시기).\n결론: 응할 의무가 없다. 다만 새로 합의하면 다르다 (합의 갱신).",
        )
        .reply(goes_on("분석까지 끝났다."))
        .reply(
            "응하실 의무가 없습니다. 증액은 5%까지이고, 계약 후 1년 안에는 청구할 수 없습니다. 다만 스스로 합의하면 \
             상한이 적용되지 않을 수 있으니 서명하기 전에 조심하세요.\n출처: 주택임대차보호법 제7조, 증액 청구의 \
             시기, 합의 갱신",
        )
}

fn collaborating_first() -> Story {
    let (found, sources) = hits(&[
        ("Deposit protection", "A registered lease ranks before later mortgages."),
        ("Checking the register", "The register shows mortgages and seizures."),
        ("Deposit insurance", "Insurance covers deposits up to 700 million won."),
    ]);
    let together = json!({
        "action": "collaborate",
        "reasoning": "Nothing has been found yet that could be analysed.",
        "confidence": 0.75,
        "next_agent": null,
        "task": "Work out how a tenant can lose the deposit.",
        "collaboration_needed": {
            "primary_agent": "analysis_team",
            "supporting_agent": "search_team",
            "collaboration_type": "risk analysis",
        },
    });
    story("collaborating_first", "How can I lose my jeonse deposit, and what can I do about it?")
        .note("The plan names only the analysis. The supporting team has found nothing yet, so it runs first.")
        .reply(intent("analysis", 0.81))
        .reply(plan("Judge the risks.", &[step("analysis_team", "Judge the risks to the deposit.", "Risks.")]))
        .reply(together.to_string())
        .calls(&[("search", "jeonse deposit risks")])
        .tool_from("search", "jeonse deposit risks", &found, &sources)
        .reply(goes_on("There is material to analyse now."))
        .reply("1. A mortgage that ranks first is paid first (Deposit protection).\n2. The register shows such a mortgage beforehand (Checking the register).")
        .reply(goes_on("Both sides are covered."))
        .reply(
            "You can lose it to a mortgage that ranks before your lease. Check the register, register the lease at \
             once, and insure the deposit.\nSources: Deposit protection, Checking the register, Deposit insurance",
        )
}

fn unclear() -> Story {
    story("unclear", "그거 해줘")
        .note("What is wanted cannot be told, so nothing is planned.")
        .reply(intent("unclear", 0.3))
        .reply("무엇을 도와드릴까요? 찾을 것, 분석할 것, 또는 쓸 문서를 알려 주세요.")
}

fn no_steps() -> Story {
    story("no_steps", "What can you do for me?")
        .note("The planner finds nothing for the teams to do.")
        .reply(intent("information", 0.7))
        .reply(plan("No team is needed.", &[]))
        .reply("I can look things up, analyse them, and write documents out of what was found.")
}

fn nonsense() -> Story {
    let (found, sources) = hits(&[
        ("Notice periods", "Two months before the term ends."),
        ("Renewal", "Without notice the lease renews on the same terms."),
        ("Form", "Notice may be given in writing or by text message."),
    ]);
    story("nonsense", "How do I give notice on my lease?")
        .note("The orchestrator answers nonsense, then names a team that there is not: both times the plan goes on.")
        .reply(intent("information", 0.86))
        .reply(plan(
            "Look the rules up.",
            &[step("search_team", "Find the rules on ending a lease.", "Material for the answer.")],
        ))
        .reply("I think we should just carry on, don't you?")
        .calls(&[("search", "notice to end a lease Korea")])
        .tool_from("search", "notice to end a lease Korea", &found, &sources)
        .reply(
            json!({"action": "add_agent", "next_agent": "legal_team", "reasoning": "A lawyer should look.", "confidence": 0.6})
                .to_string(),
        )
        .reply("Tell your landlord at least two months before the term ends, in writing or by text message.\nSources: Notice periods, Form")
}

fn document() -> Story {
    story("document", "집주인에게 보낼 전세 계약 갱신 요구서를 써줘")
        .note("A planned document team fetches nothing: its words are its result.")
        .reply(intent("document", 0.94))
        .reply(plan(
            "양식을 찾고 문서를 쓴다.",
            &[
                step("search_team", "갱신 요구서의 양식을 사용자의 문서에서 찾는다.", "양식"),
                step("document_team", "갱신 요구서를 쓴다.", "문서 작성"),
            ],
        ))
        .reply(goes_on("문서에는 양식이 필요하다."))
        .calls(&[("docs", "갱신 요구서 양식")])
        .failing_tool("docs", "갱신 요구서 양식", ("not_found", "no document has these words"))
        .reply(goes_on("양식이 없어도 문서는 쓸 수 있다."))
        .reply("갱신 요구서\n\n임대인 [이름] 귀하\n\n임차인은 주택임대차보호법에 따라 계약의 갱신을 요구합니다.\n\n[날짜] 임차인 [이름]")
        .reply(goes_on("문서가 완성되었다."))
        .reply(
            "갱신 요구서입니다. 저장된 양식은 찾지 못해 새로 썼습니다. [ ] 안을 채워 주세요.\n\n임대인 [이름] 귀하\n\n\
             임차인은 주택임대차보호법에 따라 계약의 갱신을 요구합니다.\n\n[날짜] 임차인 [이름]",
        )
}
