// What a person is asked: shown exactly as its token covers it, with the ways to answer it.

import { choices, NOTE, noteIn, send } from "./answer.js";
import { needs, threadPath } from "./api.js";
import { bdi, block, escaped, h, newId, pretty, untrusted } from "./dom.js";
import { ago, time } from "./format.js";

// The kind of a question, from the effect that asks it.
function kindOf(open) {
  if (open.in_doubt) return "doubt";
  const name = String(open.effect).split("/").pop().split(".")[0];
  return { approve: "plan", permit: "call", pick: "pick" }[name] ?? "question";
}

const TITLES = {
  plan: "Approve this plan?",
  call: "Allow this call?",
  pick: "Which one is meant?",
  question: "A question for you",
  doubt: "Did this write happen?",
};

// The panel for what a thread waits with. `open` is as the service shows it; `about` is what it covers, where that is
// known: the `steps` of a plan, or the `input` of a call. `onDone` is called once the service has taken an answer.
export function personPanel(thread, open, about, onDone) {
  const kind = kindOf(open);
  const asks = open.calls?.length ? "Allow these calls?" : TITLES[kind];
  const title = h("h2", { id: newId("asked"), tabindex: -1 }, asks);
  const ways = open.expired ? expired(thread, open, onDone) : forms(kind, thread, open, about, onDone);
  const waits = h(
    "p",
    { class: "quiet" },
    open.since ? `Asked ${ago(open.since)}, ${time(open.since)}. ` : "",
    open.expires ? `The time for an answer ends ${time(open.expires)}.` : "",
  );
  const panel = h(
    "section",
    { class: `card asked asked-${kind}`, "aria-labelledby": title.id },
    title,
    waits,
    covered(kind, open, about),
    h("p", { class: "quiet" }, "Answers name the token ", h("code", null, open.token)),
    needs("answer", ways, unanswerable(open)),
  );
  panel.dataset.token = open.token;
  return panel;
}

// What stands in the place of the ways to answer, with the commands of a terminal where they are told.
function unanswerable({ commands = [] }) {
  return h(
    "div",
    { class: "stack" },
    h("p", { class: "quiet" }, "Here it can be looked at, and not answered."),
    commands.length ? block(commands.join("\n")) : null,
  );
}

// Puts a panel, or none, in the place of the one that is shown. Where that one was answered elsewhere, what was typed
// into it stays to be read and copied.
export function replacePanel(place, panel) {
  const shown = place.querySelector(".asked");
  const fields = shown && !shown.dataset.sent ? [...shown.querySelectorAll("form:not([hidden]) textarea")] : [];
  const typed = fields.map((field) => field.value).find((text, at) => text.trim() && text !== fields[at].defaultText);
  const kept = typed
    ? h(
        "section",
        NOTE,
        h("p", { role: "status" }, "This was answered elsewhere. What you had typed was not sent:"),
        block(typed),
      )
    : noteIn(place);
  place.replaceChildren(...[kept, panel].filter(Boolean));
}

// The same where it cannot be answered: as it was after an earlier record, or in a file.
export function askedPanel(open, about) {
  const kind = kindOf(open);
  const title = h("h2", { id: newId("asked") }, `Waits here: ${TITLES[kind]}`);
  const panel = h(
    "section",
    { class: `card asked asked-${kind}`, "aria-labelledby": title.id },
    title,
    covered(kind, open, about),
    h("p", { class: "quiet" }, "Fork from here to answer it another way."),
  );
  panel.dataset.token = open.token;
  return panel;
}

// What the token covers.
function covered(kind, open, about) {
  if (kind === "doubt") {
    return h(
      "div",
      { class: "stack" },
      h("p", null, "It was asked to change something, and no answer was recorded. It is not repeated by itself."),
      h(
        "dl",
        { class: "facts" },
        h("dt", null, "Tool"),
        h("dd", null, bdi(open.in_doubt.tool)),
        h("dt", null, "What was sent"),
        h("dd", null, untrusted(open.in_doubt.input, "exactly as it was sent", Infinity)),
      ),
    );
  }
  // What is asked is shown whole, so that nobody approves what they had to unfold first.
  const isCut = /… \(\d+\)$/m.test(open.question ?? "");
  const whole = { plan: about?.steps, call: about?.input }[kind];
  const words = "It is cut above, at each “…” with the length of the whole, and is approved whole";
  return h(
    "figure",
    { class: "untrusted" },
    h("figcaption", null, h("span", { class: "tag" }, "untrusted"), " exactly as the token covers it"),
    block(open.question ?? "", "", Infinity),
    isCut ? h("p", null, h("strong", null, whole ? `${words}:` : `${words}.`)) : null,
    isCut && whole ? block(whole, "", Infinity) : null,
    about?.results ? h("details", null, h("summary", null, "What was found by then"), block(about.results)) : null,
  );
}

function forms(kind, thread, open, about, onDone) {
  const respond = (field) => ({ path: "/hitl/resume", body: { thread_id: thread, token: open.token, ...field } });
  const resolve = (field) => ({ path: threadPath(thread, "resolve"), body: { token: open.token, ...field } });
  const approve = { name: "Approve", primary: true, send: () => respond({ approve: true }) };
  const reject = {
    name: "Reject",
    label: "Reason",
    button: "Send rejection",
    send: (text) => respond({ reject: text }),
  };
  const answer = {
    name: "Answer",
    label: "Your answer",
    button: "Send answer",
    send: (text) => respond({ response: text }),
  };
  const edit = {
    name: "Edit steps",
    label: "Steps that are left, as JSON",
    button: "Approve these steps",
    isJson: true,
    text: escaped(pretty(about?.steps ?? [])),
    send: (steps) => respond({ edit: steps }),
  };
  const editInput = {
    name: "Edit input",
    label: "Input of the call",
    button: "Approve with this input",
    isJson: "maybe",
    text: callInput(open.question ?? "", about?.input),
    send: (input) => respond({ edit_input: input }),
  };
  const approveCalls = {
    name: "Approve some",
    label: "Their positions; an object with position and input calls one with another input",
    button: "Approve these",
    isJson: true,
    text: escaped(pretty((open.calls ?? []).map((_, at) => at + 1))),
    send: (calls) => respond({ approve_calls: calls }),
  };
  const ways = {
    plan: [approve, reject, edit],
    call: open.calls?.length
      ? [{ ...approve, name: "Approve all" }, approveCalls, reject]
      : [approve, reject, editInput, { ...answer, name: "Answer instead" }],
    pick: [
      ...(open.choices ?? []).map((value) => ({
        name: escaped(value),
        primary: true,
        send: () => respond({ response: value }),
      })),
      reject,
    ],
    question: [{ ...answer, isOpen: true }, reject, edit],
    doubt: [
      {
        name: "It happened",
        label: "What the tool would have returned",
        button: "Settle: it happened",
        send: (text) => resolve({ happened: text }),
        mayBeEmpty: true,
      },
      {
        name: "It did not happen",
        button: "Settle: do it now",
        note: "The call is made now.",
        send: () => resolve({ did_not_happen: true }),
      },
      { name: "Stop the run", label: "Reason", button: "Stop the run", send: (text) => resolve({ stop: text }) },
    ],
  }[kind];
  return choices(ways, { isSending: false, thread, token: open.token, effect: open.effect }, onDone);
}

function expired(thread, open, onDone) {
  const refusal = h("p", { class: "refusal", role: "alert" });
  const state = { isSending: false, thread, token: open.token, effect: open.effect };
  const way = {
    name: "Go on without an answer",
    send: () => ({ path: threadPath(thread, "resume"), body: {} }),
  };
  const button = h(
    "button",
    {
      type: "button",
      class: "primary",
      onclick: () => send(way, undefined, state, refusal, null, onDone),
    },
    "Go on without an answer",
  );
  return h("div", null, h("p", null, "The time for an answer is over."), button, refusal);
}

// What stands behind an input that is a text in the words of a question: what else would refuse the call, where it comes
// from, and what was done before.
const DENIED = /\n- (?:allowed by no plan|신뢰할 수 없는 글을 읽기 전에) .* \([a-z_]+\)$/;
const PART = /\n- \*: .*$/;
const MADE = /\n(?:Already made, and not made again|이미 실행되어 다시 실행되지 않는 호출):(?:\n- .*)+$/;

// The input that stands in the words of a question about a call, as a field shows it; as it was planned where the words
// are cut.
function callInput(question, planned) {
  const said = /^.*\n(?:input|입력): ([^]*)$/.exec(question)?.[1] ?? "";
  // Any other input than a text is JSON on one line.
  const [line] = said.split("\n", 1);
  const text = said.replace(MADE, "").replace(PART, "").replace(DENIED, "");
  const isCut = [line, text].some((shown) => /… \(\d+\)$/.test(shown));
  let input = !said || isCut ? (planned ?? text) : text;
  try {
    const value = JSON.parse(isCut ? input : line);
    if (typeof value === "object") input = value;
  } catch {
    /* a text is the input itself */
  }
  // A text that would be read as JSON, or hides something, is written as JSON.
  const isPlain = typeof input === "string" && !/^\s*[[{"]/.test(input) && escaped(input) === input;
  return isPlain ? input : escaped(JSON.stringify(input, null, 2));
}
