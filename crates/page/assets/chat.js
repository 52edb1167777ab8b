// A thread as a conversation: what was asked and answered, what happens now, and what a person is asked.

import { Problem, get, isMissing, needs, noteThere, post, postUntilReached, randomName } from "./api.js";
import { remove, threadPath, wasBegun } from "./api.js";
import { announce, bdi, block, h, keep, keepFocus, newId, parts, show, sureButton, tag, tellMissing } from "./dom.js";
import { duration, statusWord } from "./format.js";
import { personPanel, replacePanel } from "./person.js";
import { follow } from "./stream.js";
import { forkedFrom, noteUnreadable, onStatus, statusChip, threadAddress } from "./threads.js";

// The events after which the thread is read anew.
const TURNING = ["thread", "question", "answer", "error", "end", "cut", "missing"];

// What can be done about a turn whose records do not read.
const UNREAD =
  "What is kept of this turn does not read, so nothing more can be asked here. Put the store back from a copy, or delete the thread. What else is damaged is said by: planwright threads check";

// Shows the chat of a thread, live. Gives what closes it.
export function showChat(main, thread) {
  const turns = h("ol", { class: "turns", "aria-label": "Conversation" });
  const now = liveBlock();
  now.node.hidden = !wasBegun(thread);
  const asked = h("div", { class: "stack", "aria-live": "off" });
  const actions = h("div", { class: "row" });
  const problem = h("p", { class: "refusal", role: "alert" });
  const gone = h("div", { role: "status" });
  const state = { thread, turns: [], sent: null, isOver: false, isGone: false };
  const stays = () => [asked.querySelector("h2"), now.node, ask.querySelector("textarea"), main.querySelector("h1")];
  const draw = () => keepFocus(drawAll, stays);
  const drawAll = () => {
    const last = state.turns.at(-1);
    const items = [...state.turns, ...(state.sent ? [state.sent] : [])];
    keep(
      turns,
      items.map(({ turn, question, status, result, problem: unread, agent, tainted, origin }) => ({
        turn,
        question,
        status,
        result,
        unread,
        agent,
        tainted,
        origin,
      })),
      (item) => item.turn,
      (item) => turnItem(thread, item),
    );
    now.node.hidden = !((state.sent ?? last)?.status === "running");
    ask.hidden = state.isGone || ["waiting", "in_doubt", "unfinished", "unreadable"].includes(last?.status);
    drawAsked(asked, state, refresh);
    drawActions(actions, state, refresh, problem);
    document.title = `${thread} – planwright`;
  };
  const refresh = async () => {
    let read;
    try {
      ({ turns: read } = await get(threadPath(thread)));
    } catch (error) {
      if (error instanceof Problem && error.word !== "no-such-thread")
        problem.replaceChildren(bdi(error.message, 1000), error.hint ? ` (${error.hint})` : "");
      const isUnread = error.word === "store" && !state.turns.length;
      if (!(isMissing(error, thread) || isUnread) || state.sent || state.isOver) return;
      if (!isUnread) tellMissing(gone, state.turns.length > 0);
      Object.assign(state, { turns: [], isGone: true });
      return draw();
    }
    if (state.isOver) return;
    if (state.isGone) {
      problem.replaceChildren();
      state.stop();
      state.stop = hear();
    }
    state.isGone = false;
    gone.replaceChildren();
    noteThere(thread);
    noteUnreadable(thread, read.at(-1)?.status === "unreadable");
    const [before, after] = [state.turns.at(-1), read.at(-1)];
    if (state.sent && read.length >= state.sent.turn) state.sent = null;
    state.turns = read;
    if (after && after.status !== "running" && stateOf(before) !== stateOf(after)) {
      now.clear();
      if (before) announce(newsOf(after));
    }
    draw();
  };
  let soon = null;
  const refreshSoon = () => {
    soon ??= setTimeout(() => {
      soon = null;
      refresh();
    }, 120);
  };
  const hear = () =>
    follow(thread, null, (name, data) => {
      if (TURNING.includes(name)) refreshSoon();
      if (name === "refused") problem.replaceChildren(bdi(data.message, 1000));
      if (now.tell(name, data) && state.turns.at(-1)?.status !== "running" && !state.sent) refreshSoon();
    });
  state.stop = hear();
  const unlisten = onStatus(thread, (status) => {
    const last = state.turns.at(-1);
    if ((last || state.isGone) && !state.sent && status !== last?.status) refreshSoon();
  });
  const ask = composer(async (message) => {
    problem.replaceChildren();
    const agent = state.turns.at(-1)?.agent;
    const sent = { turn: state.turns.length + 1, question: message, status: "running", result: null };
    state.sent = sent;
    now.clear();
    draw();
    const away = () => {
      if (state.sent !== sent || state.isOver) return;
      state.sent.status = "unsent";
      draw();
    };
    try {
      await postUntilReached(
        "/chat",
        { message, thread_id: thread, ...(agent ? { agent } : {}) },
        randomName("page-"),
        () => state.isOver,
        away,
      );
      await refresh();
      // A thread that has come to wait says what it waits for, and is asked nothing else.
      const isAsked = state.turns.slice(sent.turn - 1).some(({ question }) => question?.trim() === message.trim());
      if (isAsked || !["waiting", "in_doubt"].includes(state.turns.at(-1)?.status)) return;
      problem.replaceChildren(h("strong", null, "Not asked: "), "the thread waits for an answer. ", bdi(message, 1000));
      return message;
    } catch (error) {
      if (error.word === "interrupted") return;
      problem.replaceChildren(h("strong", null, "Not taken: "), bdi(error.message, 1000));
      return message;
    } finally {
      state.sent = null;
      refresh();
    }
  });
  show(
    main,
    h("header", { class: "head" }, h("h1", null, bdi(thread, 120)), actions),
    gone,
    turns,
    now.node,
    asked,
    problem,
    needs("run", ask),
  );
  refresh();
  return () => {
    state.isOver = true;
    state.stop();
    unlisten();
  };
}

// What is new when it is another than before.
function stateOf(turn) {
  return turn && `${turn.turn} ${turn.status} ${turn.open?.token}`;
}

// What came of a turn, for who listens.
function newsOf({ result, open, status }) {
  if (result) return `Answer: ${result.slice(0, 300)}`;
  if (open) return `A person is asked: ${(open.question ?? "a write in doubt").slice(0, 300)}`;
  return `The turn is ${statusWord(status)}`;
}

function turnItem(thread, { turn, question, status, result, unread, agent, tainted, origin }) {
  return h(
    "li",
    { class: "turn" },
    h("div", { class: "said" }, h("span", { class: "unseen" }, "You asked: "), block(question)),
    result || unread
      ? h(
          "div",
          { class: `answer${status === "failed" ? " answer-bad" : ""}` },
          h("span", { class: "unseen" }, "Answer: "),
          tag(tainted, "rests on untrusted text"),
          block(result ?? unread),
        )
      : null,
    unread ? h("p", { class: "quiet" }, UNREAD) : null,
    h(
      "p",
      { class: "row quiet" },
      statusChip(status),
      agent ? h("span", null, bdi(agent, 60)) : null,
      origin ? forkedFrom(origin) : null,
      status === "unsent" ? null : h("a", { href: threadAddress(thread, turn) }, `Look at the run of turn ${turn}`),
    ),
  );
}

// What happens now: the phase, what is done in it, and the answer as it is written.
function liveBlock() {
  const phase = h("span", { class: "chip tone-busy" }, "begins");
  const doing = h("span", { class: "quiet" });
  const text = h("pre", { class: "block", dir: "auto" });
  const words = h("div", { class: "answer" }, tag(true, "untrusted while it comes"), text);
  words.hidden = true;
  const node = h(
    "section",
    { class: "live", "aria-label": "What happens now", tabindex: -1 },
    h("p", { class: "row" }, phase, doing),
    words,
  );
  const clear = () => {
    text.replaceChildren();
    words.hidden = true;
    doing.textContent = "";
  };
  const tell = (name, data) => {
    if (name === "phase") {
      phase.textContent = data.step;
      doing.textContent = "";
      announce(`Phase ${data.step}`);
    } else if (name === "thinking") {
      const said = activity(data);
      if (said) doing.replaceChildren(said);
    } else if (name === "token") {
      if (data.step === "restarted") text.replaceChildren();
      else text.append(...parts(String(data.content ?? "")));
      words.hidden = text.childNodes.length === 0;
    } else return false;
    return true;
  };
  return { node, clear, tell };
}

// What the run does, in a few words.
function activity({ step, content }) {
  if (step === "tool_selected") return h("span", null, `step ${content.step + 1}: calls `, bdi(content.tool, 60));
  if (step === "tool_result")
    return h(
      "span",
      null,
      `step ${content.step + 1}: ${content.failed ? "failed" : "done"}, `,
      bdi(content.tool, 60),
      content.duration ? ` in ${duration(content.duration * 1000)}` : "",
    );
  if (step === "retrying")
    return h(
      "span",
      null,
      `the model did not answer, try ${content.try} of ${content.most}: `,
      bdi(content.message, 160),
    );
  if (step === "answered" || step === "cached" || step === "said" || step === "evaluation_result") return null;
  return h("span", null, `asks: ${String(step).replaceAll("_", " ")}`);
}

// What the thread waits with; the panel stays while its token does, with what is typed in it.
function drawAsked(place, state, refresh) {
  const last = state.turns.at(-1);
  const open = last?.open;
  const print = open && JSON.stringify([open.token, open.expired]);
  const shown = place.querySelector(".asked");
  if (shown?.dataset.print === print) return;
  if (!open) return replacePanel(place, null);
  const left = last.plan.filter((step) => !["completed", "failed", "skipped"].includes(step.status));
  const call = left.find(({ draft, step }) => open.effect === `permit.${draft}.${step}`);
  const about = { steps: left.map(plannedStep), input: call?.input };
  const panel = personPanel(state.thread, open, about, (what) => what === "taken" && refresh());
  panel.dataset.print = print;
  replacePanel(place, panel);
  if (shown || document.activeElement === document.body) panel.querySelector("h2")?.focus({ preventScroll: true });
}

function drawActions(row, state, refresh, problem) {
  const last = state.turns.at(-1);
  const status = (state.sent ?? last)?.status ?? "running";
  const print = JSON.stringify([status, last?.turn, state.isGone]);
  if (row.dataset.print === print) return;
  row.dataset.print = print;
  if (state.isGone) return row.replaceChildren();
  // What is pressed twice is done once.
  const act = (name, kind, work) => {
    const press = async () => {
      if (button.getAttribute("aria-disabled")) return;
      button.setAttribute("aria-disabled", "true");
      problem.replaceChildren();
      await work().catch((error) => problem.replaceChildren(bdi(error.message, 1000)));
      button.removeAttribute("aria-disabled");
      refresh();
    };
    const button = h("button", { type: "button", class: kind, onclick: press }, name);
    return needs("run", button);
  };
  const sure = (name, question, kind, work) => {
    const tried = () => work().then(refresh, (error) => problem.replaceChildren(bdi(error.message, 1000)));
    return needs("run", sureButton(name, question, kind, tried));
  };
  const isStopped = status === "unfinished";
  const resume = () => post(threadPath(state.thread, "resume"), {});
  const cancel = () => post(threadPath(state.thread, "cancel"), { reason: "ended on the page" });
  const erase = async () => {
    await remove(threadPath(state.thread));
    location.hash = "#/";
  };
  row.replaceChildren(
    statusChip(status),
    last ? h("a", { class: "button", href: threadAddress(state.thread, last.turn) }, "Look at the run") : "",
    isStopped ? act("Go on", "primary", resume) : "",
    isStopped || status === "waiting" ? sure("End this turn", "End it for good?", null, cancel) : "",
    last && !["running", "unsent"].includes(status) ? sure("Delete", "Delete for good?", "plain", erase) : "",
  );
}

// Where the next question is written. `send` gives back what was not taken.
function composer(send) {
  const id = newId("message");
  const field = h("textarea", { id, rows: 2, dir: "auto", required: true });
  const form = h(
    "form",
    {
      class: "composer",
      "aria-label": "Next question",
      onsubmit: async (event) => {
        event.preventDefault();
        const message = field.value;
        if (!message.trim()) return;
        field.value = "";
        const back = await send(message);
        if (back && !field.value) field.value = back;
      },
    },
    h("label", { for: id, class: "unseen" }, "Message"),
    field,
    h("button", { class: "primary" }, "Send"),
  );
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  return form;
}

// The fields of a step that a planner may write.
const PLANNED = ["id", "tool", "agent", "with", "task", "description", "input", "input_from", "depends_on", "hitl_question"];

function plannedStep(step) {
  const planned = PLANNED.filter((field) => step[field] !== null && step[field] !== undefined && step[field] !== "");
  return Object.fromEntries(planned.map((field) => [field, step[field]]));
}
