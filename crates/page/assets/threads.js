// The threads: a list that is live, with those on top that have waited longest; and the front page.

import { get, poll, postUntilReached, randomName } from "./api.js";
import { announce, bdi, h, keep, newId, show } from "./dom.js";
import { ago, many, statusTone, statusWord } from "./format.js";

const FILTERS = [["", "All"], ["waiting", "Waiting"], ["running", "Running"], ["done", "Done"], ["failed", "Failed"]];

const shared = { threads: [], waiting: [], running: [], next: null, limit: 100, listeners: new Set(), wake: () => {} };

// The address of a thread's chat in the page.
export function threadAddress(thread, ...rest) {
  return `#/t/${[thread, ...rest].map((part) => encodeURIComponent(part)).join("/")}`;
}

// The sign of a status: a word, never a colour alone.
export function statusChip(status) {
  return h("span", { class: `chip tone-${statusTone(status)}` }, statusWord(status));
}

// What a thread in the list stands at.
function statusOf(thread) {
  return thread.running ? "running" : thread.status;
}

// Looks at the threads now and then, and tells who listens.
export function watchThreads() {
  const look = async (signal) => {
    const [waiting, running, listed] = await Promise.all([
      get("/waiting?limit=200", signal), get("/running", signal), get(`/threads?limit=${shared.limit}`, signal),
    ]);
    Object.assign(shared, { waiting: waiting.waiting, running: running.running, threads: listed.threads, next: listed.next });
    shared.listeners.forEach((listener) => listener(shared));
  };
  shared.wake = () => look().catch(() => {});
  return poll(look, 1500);
}

// Has `listener` hear what the threads are, at once and whenever they were looked at.
export function onThreads(listener) {
  shared.listeners.add(listener);
  listener(shared);
  return () => shared.listeners.delete(listener);
}

// The list beside every view.
export function threadList() {
  const view = { text: "", status: "", extra: [] };
  const list = h("ul", { class: "threads" });
  const none = h("p", { class: "quiet" });
  const found = h("p", { class: "unseen", role: "status" });
  const searchId = newId("search");
  const draw = () => {
    const items = select(view);
    keep(list, items, (item) => item.thread, threadLine);
    none.textContent = items.length ? "" : "No thread is like this.";
    mark(list);
    more.hidden = !shared.next;
  };
  const search = h("input", {
    id: searchId, type: "search", placeholder: "Name or question", autocomplete: "off", dir: "auto",
    oninput: async () => {
      view.text = search.value.trim();
      view.extra = [];
      draw();
      found.textContent = `${list.children.length} found`;
      if (!view.text) return;
      // A thread that is not in the list yet is found by the beginning of its name.
      const page = await get(`/threads?limit=50&prefix=${encodeURIComponent(view.text)}`).catch(() => ({ threads: [] }));
      view.extra = page.threads;
      draw();
    },
  });
  const name = newId("status");
  const filters = h("fieldset", { class: "filters" }, h("legend", { class: "unseen" }, "Status"),
    FILTERS.map(([status, word]) => h("label", null,
      h("input", { type: "radio", name, value: status, checked: status === "", onchange: () => { view.status = status; draw(); } }),
      h("span", null, word))));
  const more = h("button", { type: "button", class: "link", onclick: () => { shared.limit = Math.min(1000, shared.limit + 200); shared.wake(); } }, "Show more");
  window.addEventListener("hashchange", () => mark(list));
  onThreads(draw);
  return h("nav", { class: "rail", "aria-label": "Threads" },
    h("label", { for: searchId, class: "unseen" }, "Search threads"), search, filters, found, list, none, more);
}

// The threads of a filter: who waits on top, the longest first, then the last written to.
function select({ text, status, extra }) {
  const since = new Map(shared.waiting.map((waits, at) => [waits.thread, { at, waits }]));
  const all = new Map([...extra, ...shared.threads].map((thread) => [thread.thread, thread]));
  // One that waits may be older than the page of the list.
  for (const waits of shared.waiting) {
    if (!all.has(waits.thread)) all.set(waits.thread, { thread: waits.thread, title: waits.question ?? "", status: waits.status, updated: waits.since });
  }
  const lower = text.toLowerCase();
  const isAsked = (thread) => {
    const stands = statusOf(thread) === "in_doubt" ? "waiting" : statusOf(thread);
    return (!status || stands === status) && `${thread.thread}\n${thread.title}`.toLowerCase().includes(lower);
  };
  const place = (thread) => since.get(thread.thread)?.at ?? Infinity;
  const items = [...all.values()].filter(isAsked);
  items.sort((a, b) => (place(a) === place(b) ? (b.updated ?? 0) - (a.updated ?? 0) : place(a) - place(b)));
  return items.map(({ thread, title, running, status: stands, updated }) =>
    ({ thread, title, status: running ? "running" : stands, when: ago(since.get(thread)?.waits.since ?? updated) }));
}

function threadLine({ thread, title, status, when }) {
  return h("li", null, h("a", { href: threadAddress(thread) },
    h("span", { class: "threads-name" }, bdi(thread, 60)), statusChip(status),
    h("span", { class: "threads-title" }, bdi(title, 100)), h("span", { class: "quiet" }, when)));
}

// Marks the thread that is shown.
function mark(list) {
  const shown = location.hash.split("/").slice(0, 3).join("/");
  for (const link of list.querySelectorAll("a")) {
    if (link.getAttribute("href") === shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// How many threads need a person, at the link to the front page.
export function waitingBadge() {
  const badge = h("span", { class: "badge", hidden: true });
  onThreads(({ waiting }) => {
    if (badge.textContent !== String(waiting.length)) {
      if (waiting.length > Number(badge.textContent || 0) && badge.textContent) announce(`${many(waiting.length, "thread")} now need a person`);
      badge.replaceChildren(String(waiting.length), h("span", { class: "unseen" }, " need a person"));
      badge.dataset.count = waiting.length;
    }
    badge.hidden = waiting.length === 0;
  });
  return badge;
}

// The front page: ask something, see who waits and what runs.
export function showFront(main) {
  const waiting = h("ul", { class: "cards" });
  const running = h("ul", { class: "cards" });
  const nobody = h("p", { class: "quiet" }, "Nobody waits for you.");
  const idle = h("p", { class: "quiet" }, "Nothing runs in this process.");
  show(main, h("h1", null, "What should be done?"), askForm(),
    h("h2", null, "Needs a person"), waiting, nobody, h("h2", null, "Runs now"), running, idle);
  return onThreads((now) => {
    keep(waiting, now.waiting.map(({ since, waited_seconds: _, ...rest }) => ({ ...rest, when: ago(since) })), (waits) => waits.thread, waitingCard);
    keep(running, now.running, (run) => run.thread, runningCard);
    nobody.hidden = now.waiting.length > 0;
    idle.hidden = now.running.length > 0;
  });
}

function waitingCard({ thread, question, in_doubt: doubt, status, when }) {
  return h("li", { class: "card" }, h("a", { href: threadAddress(thread) }, bdi(thread, 80)), " ", statusChip(status),
    h("p", null, bdi(question ?? `${doubt?.tool} ${doubt?.input}`, 280)), h("p", { class: "quiet" }, when ? `waits since ${when}` : ""));
}

function runningCard({ thread, agent, phase, since }) {
  return h("li", { class: "card" }, h("a", { href: threadAddress(thread) }, bdi(thread, 80)), " ", h("span", { class: "chip tone-busy" }, phase ?? "begins"),
    h("p", { class: "quiet" }, bdi(agent), ` · begun ${ago(since)}`));
}

// Begins a thread.
function askForm() {
  const [questionId, agentId, nameId, problemId] = ["question", "agent", "name", "problem"].map(newId);
  const question = h("textarea", { id: questionId, rows: 3, dir: "auto", required: true, "aria-describedby": problemId });
  const agent = h("select", { id: agentId });
  const name = h("input", { id: nameId, dir: "auto", autocomplete: "off", placeholder: "a new name", maxlength: 120 });
  const problem = h("p", { class: "refusal", id: problemId, role: "alert" });
  const begin = async (event) => {
    event.preventDefault();
    problem.replaceChildren();
    const thread = name.value.trim() || randomName("chat-");
    const body = { message: question.value, thread_id: thread, ...(agent.value ? { agent: agent.value } : {}) };
    let isRefused = false;
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
  get("/agents").then(({ agents }) => agent.append(...agents.map((one) =>
    h("option", { value: one.name, selected: one.default ? true : null }, one.name)))).catch(() => {});
  return h("form", { class: "card stack ask", "aria-label": "New chat", onsubmit: begin },
    h("label", { for: questionId }, "Question"), question, problem,
    h("div", { class: "row" },
      h("span", { class: "field" }, h("label", { for: agentId }, "Agent"), agent),
      h("span", { class: "field" }, h("label", { for: nameId }, "Thread"), name),
      h("button", { class: "primary" }, "Ask")));
}
