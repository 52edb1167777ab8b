//! Words as data, English and Korean: what is not told by these tables is told nowhere here.
//!
//! An entry of several words has `_` for its blanks.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Words that are compared whole, and so searched by hash.
pub(super) struct Words {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    const fn new(text: &'static str) -> Self {
        Words { text, set: OnceLock::new() }
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.text.split_whitespace().collect()).contains(word)
    }
}

/// Whether a lower-case text has a word that begins as one of the cues does; Hangul and cues of several
/// words are found inside, too.
pub(super) fn mentions(lower: &str, cues: &str) -> bool {
    cues.split_whitespace().any(|cue| match cue.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        true => lower.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word.starts_with(cue)),
        false => lower.contains(&cue.replace('_', " ")),
    })
}

/// Words that ask, join or are polite, and say nothing of what a question is about.
pub(super) static STOP: Words = Words::new(
    "a about after again all also although always am an and any anybody anyone anything are aren as ask at be
    because been before being between both but by can cannot compare compared comparison could couldn d did
    didn differ difference differences different differs do does doesn doing don done during e each eg either
    else etc even ever every explain few find for from get gets give given gives go goes going had happen
    happens has hasn have haven he hello help her here hey hi him his how i ie if in instead into is isn it its
    itself just kindly know let like ll look m many may me mean meaning means meant might more most much must
    my need needs no nor not now of off ok okay on once one only or other ought our out over own per please
    quite re really s said same say says shall she should shouldn show so some somebody someone something such
    t tell than thank thanks that the their them then there these they thing things this those through to too
    try under until up us ve versus very via vs want was wasn way we well were weren what whats when where
    whether which while who whom whose why will with within without won would wouldn yes yet you your

    없이 면 이면 은 는 이 가 을 를 의 에 에서 와 과 로 으로 도 만 란 이란 야 이야 왜 왜요 좀 잘 더 또 및 그 이것 그것
    저것 것 거 게 수 때 등 또는 혹은 그리고 또한 그런데 하지만 그러면 그럼 있는 있나 있나요 있어 있어요 있습니까 있다
    없는 없나요 없어 없다 하는 하나 하나요 하면 하고 하려면 해야 할 한 하지 하죠 합니까 해 했어 되는 되나 되나요 되면
    되지 된 될 됩니까 돼 되어 같은 대해 대해서 대한 관해 관해서 관한 위해 위한 통해 따라 따른 사이 사이의 중 경우 모두
    나 내 나는 내가 저 제 제가 저는 우리 너 당신 이게 그게 이건 그건 몇 몇개 차이 차이점 비교 비교해줘 비교하면 다른
    다르지 다른가요 달라 무엇 쓰는 쓰나요 써 쓰지 인가요 입니까 이며 이고 라는 이라는 인지 줘 주세요 그대로 바로 가장
    매우 아주 며칠 몇일 얼마나 어디서 어디에 혹시 실례지만 시 안 나서 쓸 있을 없을 할수 뭔가 좀더 제발 그냥 있는지
    없는지 되는지 하는지 싶어 싶어요 싶은데 싶습니다 싶은데요 쓰려면 쓰면 쓸수 주실 주시면 대해서도 하면은 알려 알고
    남아 안녕하세요 반가워 반갑습니다 안되는 안돼 여기 거기 저기 뜻 뜻이 뜻은 의미 의미는 의미가",
);
/// Heads of Korean words that ask or are polite.
pub(super) const STOP_HEADS: &str =
    "무엇 무슨 뭐 뭔 뭘 어떻 어떤 어때 어디 어느 언제 누구 누가 얼마 궁금 알려 설명 말해 말씀 가르쳐
    보여줘 보여주 부탁 주세요 주십시오 줘 달라 해줘 해주 안녕 고마 감사";
/// What may follow such a head in a word that still says nothing; anything else, as in 설명서, is a noun.
pub(super) static STOP_TAILS: Words = Words::new(
    "가 는 은 을 를 이 의 에 고 며 야 지 나 요 해 인 줘 게 해줘 해요 해주세요 해주십시오 해라 하라 하시오 하고 해줄래
    해봐 이야 이고 이며 인가 인지 인가요 인데 이에요 에요 예요 였지 입니까 입니다 일까 일까요 이죠 죠 주세요 주십시오
    줄래 줄래요 주고 줘요 게요 고싶어 해주고 한가요 합니다 할까 할까요 까지 부터 에서 로 으로 인지요 니 냐 려면 는지
    하세요 워 워요 건 것 라고 만 나요 드려요 드립니다 주실 주시 주실래요 주시겠어요 주실수 주시면 주시길",
);
/// Words and Korean stems that say little of what a question is about.
pub(super) static GENERIC: Words = Words::new(
    "available become big brief briefly call called cause change common consist contain current define definition
    describe description detail details example examples exist fast first general good important information
    keep kind kinds large last latest list long main make makes name new number old overview part parts place
    possible provide purpose question reason role short small start step summarise summarize summary support
    take takes tall time today two type types use used uses using work working works write year

    사용 방법 예시 예 예제 종류 이유 역할 기능 작동 동작 개념 정의 특징 내용 정보 목적 과정 방식 문제 요약 정리 개요 소개
    상세 최신 현재 오늘 이름 부분 필요 가능 사람 가지 만드 만들 일 처음 생기 바꾸 가리키 자주 여부 관련 절차",
);
/// Words that begin a question of their own.
pub(super) static STARTERS: Words = Words::new(
    "what what's whats how why when where who which whose does do did is are can could should will explain describe
    tell calculate compute show give list",
);
/// Ends of words behind which another question follows.
pub(super) const QUESTION_ENDS: &str =
    "뭐고 뭐며 무엇이고 무엇이며 얼마고 얼마이고 누구고 누구이고 어디고 언제고 인지";
/// Words that stand for something named before.
pub(super) static PRONOUNS: Words = Words::new("it its they them their this these those he she");
/// Heads of Korean words that do so.
pub(super) const KOREAN_PRONOUNS: &str = "그것 이것 그게 이게 그건 이건 거기 여기 그거 그걸 저것";
/// Words that stand for a noun or for more of it.
pub(super) static STAND_INS: Words =
    Words::new("it its they them their that this those these one ones he she him her more");
/// Words that compare.
pub(super) const COMPARES: &str = "differ compar between vs versus 차이 비교 다른 다르 달라 구별 구분";

/// Korean particles and endings behind any syllable.
pub(super) const AFTER_ANY: &str = "이라는것은 해주십시오 하겠습니까 하였습니까 되었습니까 해주세요 했습니까 이었나요 되었나요 하였나요 입니까
    합니까 됩니까 습니까 입니다 합니다 됩니다 인가요 한가요 하나요 되나요 했나요 됐나요 할까요 될까요 인지요 하는지
    되는지 하려면 하려고 해줘요 한다면 에서는 에서의 해줘 나요 까지 부터 에서 에게 한테 께서 보다 처럼 마다 조차 밖에
    하고 되고 하는 되는 하면 되면 하기 되기 하게 되게 하지 되지 하며 되며 해서 돼서 해야 되어 하여 해요 돼요 했다 됐다
    한다 된다 하다 되다 할까 될까 인가 인지 에요 들 의 에 도 만 된 될 한 할 해";
pub(super) const AFTER_CONSONANT: &str = "이라는데요 인데요 이요 은요 이라면 이라는 이면 이라고 으로서 으로써 이에요 이나 이란 으로 이랑 이야 이다 이고 이며 이죠 은 이 을 과";
pub(super) const AFTER_VOWEL: &str = "는요 가요 죠 지요 라는 라면 라고 예요 는 가 를 와 란 야 랑";
/// Behind a vowel or ㄹ.
pub(super) const AFTER_OPEN: &str = "로서 로써 로";
/// Particles of one syllable that leave a noun of one syllable behind.
pub(super) const SHORT_ENDS: &str = "은 는 을 를 에";
/// Nouns that end like a noun with a particle; a word that ends in one of them stays whole.
pub(super) const NOUN_ENDS: &str = "민주주의 자본주의 사회주의 개인주의 국제회의 고양이 어린이 호랑이 원숭이 달팽이 쌍둥이 난이도 복잡도 신뢰도 만족도
    해상도 정확도 제주도 경기도 강원도 고속도로 권한 제한 기한 상한 하한 최소한 북한 남한 역할 분할";
/// Nouns of two syllables that do so where they end a longer noun (출산휴가).
pub(super) const COMPOUND_ENDS: &str = "휴가 평가 국가 물가 단가 허가 추가 문의 회의 강의 동의 한도 제도 온도 속도 빈도 용도 결과 효과 성과 경로 차이";
/// What may follow 하, 되 or 받 in a verb that was made of a noun; anything else is part of a noun.
pub(super) static VERB_TAILS: Words = Words::new(
    "다 나 나요 니 냐 느냐 는 는지 는지요 는지도 는데 는데요 는가 는가요 ㄴ가요 면 려면 려고 고 고서 고요 지 지요 지만 죠
    게 기 기가 기는 기를 기로 기에 기까지 며 면서 여 여서 여야 였다 였나요 였습니다 였는데 자 자면 세요 십시오 시오
    시나요 시는 시면 셨나요 실까요 야 야만 야지 요 서 서요 도 도록 거나 던 더라도 니다 니까 니까요 까 까요 지는 지도
    는다 는다면 다면 네 네요 군요 줘 줘요 주세요 주나요 주는 줄 습니까 습니다 었다 었는데 었나요 은 을 을까요 은가요
    으면 으려면 으려고 아 아요 아야 아서 아도 았다 았나요 았는데 으나 으며 으니 으니까 ㄹ까요 을지 은지 지요 나봐 잖아
    잖아요 더라 던데 던가요 던데요 는군요 는지를 는지가 는지는",
);
/// Endings of other verbs that no noun ends in, longest first.
pub(super) const VERB_ENDINGS: &str = "으려면 으려고 으니까 습니까 습니다 더라도 는지요 는데요 는가요 은가요 을까요 는다면 었는데 았는데 었나요 았나요 었어요
    았어요 시나요 었을 았을 세요 나요 까요 려면 려고 는지 는데 는가 을까 을지 으면 으며 으니 어야 아야 어요 아요 어서
    아서 어도 아도 었다 았다 는다 다면 니까 니다 도록 거나 면서 던데";
/// Shorter ones, which nouns end in as well.
pub(super) const LOOSE_ENDINGS: &str = "을 은 는 고 게 지 기 다 어 아";
/// Endings of "to be" behind a noun, which is no verb then.
pub(super) const COPULAS: &str =
    "입니다 입니까 인가요 이에요 예요 일까요 일까 인데 인데요 인지 인지요 이었나요 이니까";
/// Verbs that only help another, or say that something is, is done or is had.
pub(super) static HELPERS: Words = Words::new(
    "있 없 하 되 돼 주 쓰 싶 보 알리 알려주 알려주시 가르쳐주 말해주 설명해주 궁금하 어떻하 어떠하 어떻 이 아니 그러 그렇
    이러 않 못하 해주 해주시 주시 여쭤보 묻 여쭙 알고싶 알 모르 계시 하시 되시 있으 나 오 가",
);
/// English forms that no rule leads back to their verb or noun, each before it.
pub(super) const IRREGULAR: &str = "wrote write written write built build sent send kept keep paid pay sold sell bought buy ran run began
    begin begun begin chose choose chosen choose broke break broken break lost lose taught teach forgot forget
    forgotten forget stolen steal froze freeze frozen freeze grew grow grown grow drew draw drawn draw held hold
    spent spend children child people person";

pub(super) static GREETINGS: Words = Words::new(
    "hello hi hey hiya greetings 안녕 안녕하세요 안녕하십니까 안녕하세용 안뇽 하이 헬로 반가워 반가워요 반갑습니다 ㅎㅇ 여보세요",
);
pub(super) static THANKS: Words = Words::new(
    "thanks thank thx ty cheers appreciated 고마워 고마워요 고맙습니다 고마웠어 고마웠어요 감사 감사해 감사해요 감사합니다
    감사드려요 감사드립니다 감사했습니다 땡큐 ㄱㅅ 수고 수고했어 수고하셨습니다 수고하세요",
);
pub(super) static FAREWELLS: Words = Words::new("bye goodbye cya 잘가 잘있어 안녕히 바이");
pub(super) static LAUGHTER: Words = Words::new("haha hahaha hehe lol lmao rofl 하하 하하하 헤헤");
/// What may stand beside small talk.
pub(super) static FILLERS: Words = Words::new(
    "a again all and are day everyone for friend good great help how it lot morning afternoon evening much nice
    night ok okay perfect see so soon super that the there to very wow you your

    정말 진짜 너무 많이 다시 또 네 예 응 어 아 와 오 좋아 좋아요 좋습니다 좋네 좋네요 덕분에 도움 도움이 됐어 됐어요
    되었어요 되었습니다 모두 여러분 계세요 가세요 친구 친구야 그래 알겠습니다 알겠어 알겠어요 오늘도 좋은 하루 아침
    저녁 밤 보내세요 되세요 답변 답변해주셔서 알려주셔서 도와주셔서 도와줘서 알려줘서",
);
/// Words that point to earlier turns wherever they stand.
pub(super) const EARLIER: &str =
    "아까 방금 이전에 앞에서 위에서 앞서 그중 나머지 다른_건 다른건 무슨_말 무슨_뜻 무슨_의미 다시_설명
    earlier previous you_said above what_do_you_mean explain_again in_other_words say_that_again";
/// Words that do so at the beginning.
pub(super) const OPENERS: &str =
    "그럼 그러면 그렇다면 근데 그리고 then_ and_ but_ so_ what_about how_about more what_else any_other";
/// Words that ask what an earlier answer meant.
pub(super) const CLARIFY: &str =
    "무슨_말 무슨_뜻 무슨_의미 예시 예를_들 다시_설명 쉽게 이해가 what_do_you_mean example explain_again
    in_other_words clarify simpler";
/// Words by which users speak of themselves.
pub(super) static SPEAKER: Words =
    Words::new("i my me mine i'm am 나 내 내가 나는 난 나의 제 제가 저는 전 저의");
/// Words that restrict what an answer may be.
pub(super) const RESTRICT: &str =
    "알레르기 알러지 빼고 제외 없이 말고 이하 이상 이내 미만 까지 근처 채식 안전한 예산 반드시 꼭 못_먹
    allerg without except exclud under below within at_most at_least no_more_than only vegetarian vegan gluten
    budget near must avoid";
/// Words before an article's number.
pub(super) static ARTICLES: Words = Words::new("article section clause paragraph annex schedule");
/// Ends of Korean sentences that ask or demand.
pub(super) const DEMANDS: &str = "줘 줘요 주세요 주십시오 나요 까요 습니까 ㅂ니까 입니까 인가요 는지 뭐야 뭔지 하라 해라 하세요 하시오 부탁해
    부탁해요 부탁드려요 부탁드립니다 싶어 싶어요 싶습니다 할래";
/// How a question says that a person wants to be asked on the way.
pub(super) const APPROVALS: &str = "확인할게 확인할께 확인하고_싶 확인받 확인_받 승인 물어봐 물어보고 허락 ask_me let_me_check let_me_confirm
    let_me_review approv confirm_with_me check_with_me sign_off before_you_go_on";
/// How a question asks for what is new.
pub(super) const NEWS: &str = "today latest current news price recent 오늘 최신 현재 지금 뉴스 가격";
/// How a question asks what is to be done.
pub(super) const INSTRUCTIONS: &str =
    "how_do_ how_can_ how_to_ what_should what_happens what_can_i error 어떻게 오류 방법";
/// How a question asks to be shown code.
pub(super) const SHOWS_CODE: &str = "how example code command show install 설치 어떻게 예시 예제 코드 명령";
/// Commands at the beginning of a wish, and the texts that a Korean wish is about.
pub(super) const WISHES: &str = "summar translat explain shorten rewrite proofread analy review tl;dr";
pub(super) const KOREAN_WISHES: &str = "요약 번역 줄여";
pub(super) const TEXTS: &str = "글 기사 본문 내용 텍스트 문장 코드 데이터 다음 아래 위 이것 이거";
/// How lines of code begin, and those of them that define something.
pub(super) const CODE: &str =
    "fn_ def_ class_ import_ from_ use_ pub_ let_ const_ var_ #include func_ return if_( for_( while_( async_
    public_ private_ package_ ``` @";
pub(super) const DEFINITIONS: &str = "fn_ def_ class_ struct_ enum_ trait_ interface_ func_ function_ impl_";
/// What contracts speak of.
pub(super) const CONTRACTS: &str = "agreement amendment annex arbitration article assignment breach clause compensation confidential
    confidentiality consideration contract copyright counterparty damages deadline default defect delivery dispute
    duration expiry expire fee force governing guarantee indemnity inspection insurance invoice jurisdiction lease
    liability licence license negotiate notice obligation party parties patent pay payment penalty price privacy
    refund renewal renew rent right rights royalty schedule section sign signature standard subcontract supplier
    survive tax term terminate termination terms trademark warranty withdraw";
pub(super) const KOREAN_CONTRACTS: &str = "계약 조항 조문 약관 당사자 위약 해지 해제 손해 배상 비밀 대금 대가 지급 납품 기한 기간 갱신 연장 보증 책임 의무
    권리 특약 부칙 서명 날인 관할 분쟁 중재 지식재산 저작권 특허 양도 하자 검수 이행 지체 면책 개인정보 불가항력 통지
    위반 벌금 수수료 보수 임대 임차 용역 도급 하도급 환불 보험 세금 갑과 을의";
/// Words that name work, and not what the work is on.
pub(super) const WORK: &str = "검색 찾아 조회 조사 수집 검증 분석 비교 검토 비평 평가 보고서 리포트 작성 문서 초안 요약 정리 번역 승인 확인 생성
    제시 도출 search research gather collect validat verif analy compar review critique report draft write summar
    translat approv";
/// Words that ask how much there is of something.
pub(super) static MEASURES: Words = Words::new(
    "long far tall high deep wide big large heavy fast hot cold old value result answer 길이 거리 무게 값",
);
