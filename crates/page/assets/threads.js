// The threads: a list that is live, with those on top that have waited longest.

import { get, poll } from "./api.js";
import { announce, bdi, h, keep, newId } from "./dom.js";
import { ago, many, statusTone, statusWord } from "./format.js";

const FILTERS = [
  ["", "All"],
  ["waiting", "Waiting"],
  ["running", "Running"],
  ["done", "Done"],
  ["failed", "Failed"],
];

const shared = { threads: [], waiting: [], running: [], next: null, limit: 100, listeners: new Set(), wake: () => {} };

// The address of a thread's chat in the page.
export function threadAddress(thread, ...rest) {
  return `#/t/${[thread, ...rest].map((part) => encodeURIComponent(part)).join("/")}`;
}

// A link to a thread; in a file that asks nobody anything its name alone.
export function threadLink(address, ...words) {
  return document.body.dataset.view === "file" ? h("span", null, words) : h("a", { href: address }, words);
}

// Where a fork comes from.
export function forkedFrom({ thread, turn, records }) {
  const link = threadLink(threadAddress(thread, turn), bdi(thread, 80));
  return h("span", null, "Forked from ", link, `, turn ${turn}`, records ? `, after ${many(records, "record")}` : "");
}

// The sign of a status: a word, never a colour alone.
export function statusChip(status) {
  return h("span", { class: `chip tone-${statusTone(status)}` }, statusWord(status));
}

// Threads that the list knows by how they ended, and that were found not to read.
const unreadable = new Set();

// Notes whether a thread was found not to read.
export function noteUnreadable(thread, is) {
  if (is) unreadable.add(thread);
  else unreadable.delete(thread);
}

// What a thread in the list stands at.
function statusOf({ thread, running, status }) {
  return running ? "running" : unreadable.has(thread) ? "unreadable" : status;
}

// Looks at the threads now and then, and tells who listens.
export function watchThreads() {
  const look = async (signal) => {
    const [waiting, running, listed] = await Promise.all([
      get("/waiting?limit=200", signal),
      get("/running", signal),
      get(`/threads?brief=true&limit=${shared.limit}`, signal),
    ]);
    Object.assign(shared, {
      waiting: waiting.waiting,
      running: running.running,
      threads: listed.threads,
      next: listed.next,
      isKnown: true,
    });
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

// Has `listener` hear what the list says of a thread, each time it was looked at. A stream tells what happens in a run; it
// does not tell that nothing goes on any more.
export function onStatus(thread, listener) {
  return onThreads(({ threads }) => {
    const listed = threads.find((one) => one.thread === thread);
    if (listed) listener(statusOf(listed));
  });
}

// The list beside every view.
export function threadList() {
  const view = { text: "", status: "", found: [], next: null };
  const list = h("ul", { class: "threads" });
  const none = h("p", { class: "quiet" });
  const found = h("p", { class: "unseen", role: "status" });
  const searchId = newId("search");
  const draw = () => {
    const items = select(view);
    keep(list, items, (item) => item.thread, threadLine);
    const isAll = !view.text && !view.status;
    none.textContent = items.length || !shared.isKnown ? "" : isAll ? "There is no thread yet." : "No thread is like this.";
    mark(list);
    more.hidden = view.text ? !view.next : !shared.next;
  };
  // What was found stays until something else is found: what is typed is asked for once it rests.
  let rests = null;
  const ask = async (after = "") => {
    const { text } = view;
    const query = new URLSearchParams({ brief: true, limit: 200, words: text, ...(after ? { after } : {}) });
    const page = await get(`/threads?${query}`).catch(() => ({ threads: [], next: null }));
    if (view.text !== text) return;
    Object.assign(view, { found: after ? [...view.found, ...page.threads] : page.threads, next: page.next });
    draw();
    found.textContent = `${list.children.length} found`;
  };
  const search = h("input", {
    id: searchId,
    type: "search",
    placeholder: "Name, question or answer",
    autocomplete: "off",
    dir: "auto",
    oninput: () => {
      view.text = search.value.trim();
      clearTimeout(rests);
      if (view.text) rests = setTimeout(() => ask(), 200);
      else Object.assign(view, { found: [], next: null });
      draw();
    },
  });
  const name = newId("status");
  const filters = h(
    "fieldset",
    { class: "filters" },
    h("legend", { class: "unseen" }, "Status"),
    FILTERS.map(([status, word]) =>
      h(
        "label",
        null,
        h("input", {
          type: "radio",
          name,
          value: status,
          checked: status === "",
          onchange: () => {
            view.status = status;
            draw();
          },
        }),
        h("span", null, word),
      ),
    ),
  );
  const more = h(
    "button",
    {
      type: "button",
      class: "link",
      onclick: () => {
        if (view.text) return ask(view.next);
        shared.limit = Math.min(1000, shared.limit + 200);
        shared.wake();
      },
    },
    "Show more",
  );
  window.addEventListener("hashchange", () => mark(list));
  onThreads(draw);
  return h(
    "nav",
    { class: "rail", "aria-label": "Threads" },
    h("label", { for: searchId, class: "unseen" }, "Search threads"),
    search,
    filters,
    found,
    list,
    none,
    more,
  );
}

// The threads of a filter: who waits on top, the longest first, then the last written to.
function select({ text, status, found }) {
  const since = new Map(shared.waiting.map((waits, at) => [waits.thread, { at, waits }]));
  const all = new Map([...found, ...shared.threads].map((thread) => [thread.thread, thread]));
  // One that waits may be older than the page of the list.
  for (const waits of shared.waiting) {
    if (!all.has(waits.thread))
      all.set(waits.thread, {
        thread: waits.thread,
        title: waits.question ?? "",
        status: waits.status,
        updated: waits.since,
      });
  }
  const says = new Set(found.map(({ thread }) => thread));
  const words = text.toLowerCase().split(/\s+/);
  const isAsked = (thread) => {
    const stands = statusOf(thread) === "in_doubt" ? "waiting" : statusOf(thread);
    const shown = `${thread.thread}\n${thread.title}`.toLowerCase();
    return (!status || stands === status) && (says.has(thread.thread) || words.every((word) => shown.includes(word)));
  };
  const place = (thread) => since.get(thread.thread)?.at ?? Infinity;
  const items = [...all.values()].filter(isAsked);
  items.sort((a, b) => (place(a) === place(b) ? (b.updated ?? 0) - (a.updated ?? 0) : place(a) - place(b)));
  return items.map((item) => ({
    thread: item.thread,
    title: item.title,
    origin: item.forked_from,
    status: statusOf(item),
    when: ago(since.get(item.thread)?.waits.since ?? item.updated),
  }));
}

function threadLine({ thread, title, origin, status, when }) {
  return h(
    "li",
    null,
    h(
      "a",
      { href: threadAddress(thread) },
      h("span", { class: "threads-name" }, bdi(thread, 60)),
      statusChip(status),
      h("span", { class: "threads-title" }, bdi(title, 100)),
      h("span", { class: "quiet" }, when),
      origin ? h("span", { class: "threads-title" }, "Forked from ", bdi(origin, 60)) : null,
    ),
  );
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
      if (waiting.length > Number(badge.textContent || 0) && badge.textContent)
        announce(`${many(waiting.length, "thread")} now need a person`);
      badge.replaceChildren(String(waiting.length), h("span", { class: "unseen" }, " need a person"));
      badge.dataset.count = waiting.length;
    }
    badge.hidden = waiting.length === 0;
  });
  return badge;
}
