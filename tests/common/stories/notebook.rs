//! The notebook's own runs. Its questions, plans, hint, results and answers are quoted as far as it
//! prints them; what it does not print is not invented but marked, or said in the notes.

use super::{Story, answer, plan, verdict};

const WHAT_IS_IT: &str = "\
    Plan-Then-Execute 패턴이 뭐고 ReAct랑 차이를 예시 포함해서 설명해줘. 최신 관점이면 search도 \
    활용해.";

/// Cell 32 prints the first result up to here.
const STRATEGIC_PLANNING: &str = "\
    Page: Strategic planning\n\
    Summary: Strategic planning or corporate planning is an activity undertaken by an organization \
    through which it seeks to define its future direction and makes decisions such as resource \
    allocation aimed at achieving its intended goals. \"Strategy\" has many definitions, but it \
    generally involves setting major goals, determining actions to achieve these goals, setting a \
    timeline, and mobili";

/// Cell 24 prints an answer to the same question up to here.
const BEGINNING_OF_AN_ANSWER: &str = "\
    The Plan-Then-Execute pattern and the ReAct pattern are two distinct approaches used in AI and \
    software development, particularly for managing tasks and processes.\n\
    \n\
    1. **Plan-Then-Execute Pattern**: This approach involves a clear separation between planning and \
    execution phases. Initially, a comprehensive plan is developed, breaking down tasks into subtasks \
    and creating a detailed execution strategy. Once the plan is set, the execution phase follows, \
    where tasks are carried out in sequence. This pattern is well-suited for complex, multi-step \
    tasks that require strategic planning and coordination, as it allows for a structured and \
    predictable approach. An example could be a project management tool that first outlines all \
    project phases before any work begins.\n\
    \n\
    2. **ReAct Pattern**: The ReAct (Reason-Act) pattern operates in a tight, iterative loop where \
    the system continuously alternates between reasoning (thinking about the next step) and a";

const WHAT_DOES_IT_MEAN: &str = "\
    State Machine 실행 모델로 Plan-Then-Execute를 돌린다는 게 무슨 의미인지 예시로 설명해줘.";

const FIRST_PLAN_ENDS: &str = "\
    A State Machine is a computational model used to design algorithms that can be in one of a finite \
    number of states at any given time. A Plan-Then-Execute model involves creating a detailed plan \
    before executing it. When combined, this means that the system first plans out the sequence of \
    states and transitions needed to achieve a goal, and then executes this sequence. For example, in \
    a robotic system, the robot might plan a path (sequence of states) to navigate a room and then \
    execute this path step-by-step, transitioning through each state as planned.";

const HINT: &str = "\
    Plan-Then-Execute 모델에 대한 올바른 정보를 검색하여 제공해야 합니다. 이 모델은 계획을 세운 후 \
    실행하는 방식으로, 예를 들어 로봇이 방을 탐색하기 위해 경로를 계획하고 그 경로를 단계별로 \
    실행하는 방식으로 설명할 수 있습니다.";

/// What stands where the notebook prints nothing.
const NOT_PRINTED: &str = "(the notebook does not print this result)";

/// Cell 113.
const ANSWER: &str = "\
    1) **정의**: Plan-Then-Execute 모델은 고수준의 전략적 계획과 로컬화된 전술적 실행을 분리하는 \
    아키텍처 패러다임입니다. 이 모델은 상태 기계(State Machine)와 결합하여, 계획 단계에서 전체 작업을 \
    위한 고정된 순서의 도구 호출을 생성하고, 실행 단계에서 이 순서를 따라 작업을 수행합니다. 상태 \
    기계는 각 단계의 상태를 추적하고, 필요에 따라 상태 전이를 통해 다음 단계로 넘어갑니다.\n\
    \n\
    2) **차이**: 단순 파이프라인 방식에서는 계획(Plan) → 실행(Execute) → 결과 작성(Write) 순서로 \
    일방향으로 진행됩니다. 반면, 상태기반 전이 방식에서는 각 단계가 상태로 정의되고, 상태 전이를 통해 \
    다음 단계로 이동합니다. 이는 각 상태에서의 조건에 따라 유연하게 전환할 수 있어 복잡한 작업에 \
    적합합니다.\n\
    \n\
    3) **구체 예시**: 로봇 청소기의 경우를 생각해봅시다. 로봇 청소기는 방의 지도를 작성(Plan)하고, \
    그에 따라 청소 경로를 설정합니다. 이후 실행 단계에서 로봇은 설정된 경로를 따라 이동하며 청소를 \
    수행합니다. 이 과정에서 장애물을 만나면 상태 기계가 이를 감지하고, 장애물을 피하는 새로운 경로로 \
    상태를 전이시킵니다.\n\
    \n\
    4) **상태 전이 로그**: \n\
    \x20  - 초기 상태: 지도 작성\n\
    \x20  - 상태 전이: 경로 설정\n\
    \x20  - 상태 전이: 청소 시작\n\
    \x20  - 상태 전이: 장애물 감지\n\
    \x20  - 상태 전이: 경로 수정\n\
    \x20  - 상태 전이: 청소 재개\n\
    \x20  - 종료 상태: 청소 완료\n\
    \n\
    이와 같이 상태 기계는 각 단계의 상태를 관리하며, 필요에 따라 상태를 전이시켜 작업을 유연하게 \
    수행합니다.";

pub fn stories() -> Vec<Story> {
    vec![plan_then_execute(), validated()]
}

fn plan_then_execute() -> Story {
    let last = "Provide a detailed explanation of the Plan-Then-Execute pattern and how it differs from the \
                ReAct pattern, including examples from the latest sources.";
    let goal = "Explain the Plan-Then-Execute pattern and its differences from ReAct, including examples.";
    let steps = [
        ("wiki", "Plan-Then-Execute pattern"),
        ("wiki", "ReAct pattern"),
        ("search", "Plan-Then-Execute vs ReAct pattern 2023"),
        ("final_answer", last),
    ];
    Story::new("plan-then-execute", "notebook", WHAT_IS_IT)
        .note("The notebook's cell 32: question, goal and plan are quoted whole.")
        .note(
            "The first result is quoted as far as the cell prints it, which is in the middle of a word. \
               The other two are not printed; a sentence in their place says so.",
        )
        .note(
            "The answer is not printed in this cell. What stands here is the beginning, as far as it is \
               printed, of what cell 24 got for the same question; the end of the JSON is added.",
        )
        .note("Made up: the time of asking, and how the planner's reply is spaced.")
        .reply(plan(goal, &steps))
        .tool("wiki", "Plan-Then-Execute pattern", STRATEGIC_PLANNING)
        .tool("wiki", "ReAct pattern", NOT_PRINTED)
        .tool("search", "Plan-Then-Execute vs ReAct pattern 2023", NOT_PRINTED)
        .reply(answer(BEGINNING_OF_AN_ANSWER))
}

fn validated() -> Story {
    let first =
        [("wiki", "State machine"), ("wiki", "Plan-then-execute model"), ("final_answer", FIRST_PLAN_ENDS)];
    let again = "Plan-Then-Execute agent pattern state machine example";
    let second =
        [("search", again), ("final_answer", "로봇의 경로 계획과 실행을 상태 전이로 풀어 쓴 구체적인 예시")];
    Story::new("validated", "notebook", WHAT_DOES_IT_MEAN)
        .note(
            "Joins two runs of the notebook: the first plan and the hint are printed by cell 115, the answer \
               by cell 113. All three are quoted whole.",
        )
        .note(
            "The notebook appends the hint to the question; here it travels beside it, and the question \
               stays as it was asked.",
        )
        .note("No result is printed; a sentence in their place says so.")
        .note(
            "Made up, for the notebook prints neither: the goals, the reasons of both verdicts, the second \
               plan. Also the time of asking.",
        )
        .reply(plan("State Machine과 Plan-Then-Execute의 관계를 예시로 설명한다.", &first))
        .tool("wiki", "State machine", NOT_PRINTED)
        .tool("wiki", "Plan-then-execute model", NOT_PRINTED)
        .reply(verdict(false, "Plan-Then-Execute에 관한 자료가 없습니다.", HINT))
        .reply(plan("힌트에 따라 다시 찾아 예시로 설명한다.", &second))
        .tool("search", again, NOT_PRINTED)
        .reply(verdict(true, "예시를 쓸 자료가 있습니다.", ""))
        .reply(ANSWER)
}
