// The front page: ask something, see who waits and what runs.

import { Problem, get, getUntilReached, needs, noteBegun, postUntilReached, randomName, threadPath } from "./api.js";
import { bdi, h, keep, newId, show, tag } from "./dom.js";
import { ago } from "./format.js";
import { onThreads, statusChip, threadAddress, threadLink } from "./threads.js";

// Shows the front page. Gives what closes it.
export function showFront(main) {
  const waiting = h("ul", { class: "cards" });
  const running = h("ul", { class: "cards" });
  const nobody = h("p", { class: "quiet" }, "Nobody waits for you.");
  const idle = h("p", { class: "quiet" }, "Nothing runs in this process.");
  show(
    main,
    h("h1", null, "What should be done?"),
    askForm(),
    h("h2", null, "Needs a person"),
    waiting,
    nobody,
    h("h2", null, "Runs now"),
    running,
    idle,
  );
  return onThreads((now) => {
    keep(
      waiting,
      now.waiting.map(({ since, waited_seconds: _, ...rest }) => ({ ...rest, when: ago(since) })),
      (waits) => waits.thread,
      waitingCard,
    );
    keep(running, now.running, (run) => run.thread, runningCard);
    nobody.hidden = now.waiting.length > 0;
    idle.hidden = now.running.length > 0;
  });
}

function waitingCard({ thread, question, in_doubt: doubt, status, when }) {
  return h(
    "li",
    { class: "card" },
    h("a", { href: threadAddress(thread) }, bdi(thread, 80)),
    " ",
    statusChip(status),
    h("p", null, tag(true), bdi(question ?? `${doubt?.tool} ${doubt?.input}`, 280)),
    h("p", { class: "quiet" }, when ? `asked ${when}` : ""),
  );
}

function runningCard({ thread, agent, phase, since }) {
  return h(
    "li",
    { class: "card" },
    h("a", { href: threadAddress(thread) }, bdi(thread, 80)),
    " ",
    h("span", { class: "chip tone-busy" }, phase ?? "begins"),
    h("p", { class: "quiet" }, bdi(agent), ` · begun ${ago(since)}`),
  );
}

// Begins a thread.
function askForm() {
  // A thread that is there is gone on with where it is seen: it may wait for something else.
  const isTaken = async (thread, problem) => {
    const shown = await get(threadPath(thread)).catch((error) => {
      if (!(error instanceof Problem) || ["no-such-thread", "forbidden"].includes(error.word)) return null;
      problem.replaceChildren(h("strong", null, "Not asked: "), bdi(error.message, 1000));
      return true;
    });
    if (shown?.turns)
      problem.replaceChildren(
        h("strong", null, "Not asked: "),
        "there is a thread of this name. Give a new one, or ask in ",
        threadLink(threadAddress(thread), bdi(thread, 80)),
        ".",
      );
    return shown !== null;
  };
  const [questionId, agentId, nameId, problemId] = ["question", "agent", "name", "problem"].map(newId);
  const question = h("textarea", {
    id: questionId,
    rows: 3,
    dir: "auto",
    required: true,
    "aria-describedby": problemId,
  });
  const agent = h("select", { id: agentId });
  const name = h("input", { id: nameId, dir: "auto", autocomplete: "off", placeholder: "a new name", maxlength: 120 });
  const problem = h("p", { class: "refusal", id: problemId, role: "alert" });
  let isBeginning = false;
  const begin = async (event) => {
    event.preventDefault();
    // What is pressed twice is asked once.
    if (isBeginning) return;
    isBeginning = true;
    problem.replaceChildren();
    if (!(name.value.trim() && (await isTaken(name.value.trim(), problem)))) await ask();
    isBeginning = false;
  };
  const ask = async () => {
    const thread = name.value.trim() || randomName("chat-");
    const body = { message: question.value, thread_id: thread, ...(agent.value ? { agent: agent.value } : {}) };
    let isRefused = false;
    noteBegun(thread);
    const asked = postUntilReached("/chat", body, randomName("page-"));
    asked.catch((error) => {
      isRefused = true;
      problem.replaceChildren(h("strong", null, "Not begun: "), bdi(error.message, 1000));
      if (error.word === "interrupted") location.hash = threadAddress(thread);
    });
    // What is refused is refused at once; what runs is followed where it is shown.
    await Promise.race([asked.catch(() => {}), new Promise((resume) => setTimeout(resume, 250))]);
    if (!isRefused) location.hash = threadAddress(thread);
  };
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      event.target.form.requestSubmit();
    }
  });
  getUntilReached("/agents")
    .then(({ agents }) =>
      agent.append(
        ...agents.map((one) => h("option", { value: one.name, selected: one.default ? true : null }, one.name)),
      ),
    )
    .catch(() => {});
  const form = h(
    "form",
    { class: "card stack ask", "aria-label": "New chat", onsubmit: begin },
    h("label", { for: questionId }, "Question"),
    question,
    problem,
    h(
      "div",
      { class: "row" },
      h("span", { class: "field" }, h("label", { for: agentId }, "Agent"), agent),
      h("span", { class: "field" }, h("label", { for: nameId }, "Thread"), name),
      h("button", { class: "primary" }, "Ask"),
    ),
  );
  return needs("run", form, h("p", { class: "card" }, "Here threads can be looked at, and nothing asked."));
}
