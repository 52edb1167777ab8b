// A run, live while it runs and the same when it is over; and as it was after any of its records.

import { Problem, get, isMissing, noteThere, post, threadPath } from "./api.js";
import { announce, bdi, h, keepFocus, scrollRests, show, tag, tellMissing } from "./dom.js";
import { statusWord } from "./format.js";
import { phaseGraph } from "./graph.js";
import { personPanel, askedPanel, replacePanel } from "./person.js";
import { lazy, planView } from "./plan.js";
import { recordList, traceTable, travel } from "./records.js";
import { follow } from "./stream.js";
import { summaryView } from "./summary.js";
import { onStatus, statusChip, threadAddress } from "./threads.js";
import { timelineView } from "./timeline.js";

// Shows the run of a turn, after `records` of its records or after all. Gives what closes it.
export function showRun(main, thread, turn, records) {
  const state = { at: records ? Number(records) : null, isOver: false, isReading: false, isStale: false, size: 0 };
  const problem = h("p", { class: "refusal", role: "alert" });
  const goTo = (count) => {
    state.at = state.size && count >= state.size ? null : count;
    history.replaceState(null, "", threadAddress(thread, turn, ...(state.at ? [state.at] : [])));
    read();
  };
  const fork = async (to, count) => {
    const { thread: made } = await post(threadPath(thread, "fork"), { to, turn: Number(turn), records: count });
    announce(`Forked as ${made}`);
    location.hash = threadAddress(made);
  };
  const page = runPage({
    thread,
    onRecord: goTo,
    onFork: fork,
    onAnswered: () => read(),
    textOf: recordTexts(thread, turn),
  });
  page.node.hidden = true;
  const gone = h("div", { role: "status" });
  const status = h("span");
  show(
    main,
    h(
      "header",
      { class: "head" },
      h("h1", null, bdi(thread, 120), h("span", { class: "quiet" }, ` turn ${turn}`)),
      h(
        "div",
        { class: "row" },
        status,
        h("a", { class: "button", href: `#/compare/${encodeURIComponent(thread)}/${turn}` }, "Compare"),
        h("a", { class: "button", href: threadAddress(thread) }, "Chat"),
      ),
    ),
    problem,
    gone,
    page.node,
  );
  const read = async () => {
    if (state.isReading) {
      state.isStale = true;
      return;
    }
    state.isReading = true;
    // The first is not waited for, nor one that was asked for: what is drawn anew by itself waits for a scroll.
    if (state.size && state.at === state.shown) await scrollRests();
    const [began, { at }] = [performance.now(), state];
    try {
      const view = await get(`${threadPath(thread, "turns", turn)}/view${at ? `?records=${at}` : ""}`);
      // Where another state was asked for since, that one is read next.
      if (state.isOver || at !== state.at) return;
      // What stands in the middle of a turn had not stopped.
      const isEarlier = view.shown_records < view.all_records;
      if (isEarlier && view.status === "unfinished") view.status = "running";
      Object.assign(state, { size: view.all_records, status: view.status, shown: at });
      state.hasEnded = !state.at && ["done", "failed"].includes(view.status);
      const isBeyond = state.at > view.all_records;
      problem.replaceChildren(isBeyond ? `There are ${view.all_records} records here; all are shown.` : "");
      status.replaceChildren(statusChip(view.status));
      document.title = `${thread}, turn ${turn} – planwright`;
      page.node.hidden = false;
      gone.replaceChildren();
      noteThere(thread);
      page.update(view);
    } catch (error) {
      if (error instanceof Problem && error.word !== "no-such-thread")
        problem.replaceChildren(bdi(error.message, 1000), error.hint ? ` (${error.hint})` : "");
      if (isMissing(error, thread)) {
        page.node.hidden = true;
        [problem, status].forEach((place) => place.replaceChildren());
        tellMissing(gone, state.size > 0);
      }
    } finally {
      state.isReading = false;
      // A long run is not read without a pause.
      const isStale = state.isStale && !state.isOver && !(state.hasEnded && at === state.at);
      state.isStale = false;
      if (isStale) {
        setTimeout(read, Math.max(250, 2 * (performance.now() - began)));
      }
    }
  };
  read();
  // What once was does not change, and neither does what is over.
  const stop = follow(thread, null, (name) => {
    if (name === "missing" || (name !== "token" && !state.at && !state.hasEnded)) read();
  });
  const unlisten = onStatus(thread, (status) => {
    if (state.status && status !== state.status && !state.at && !state.hasEnded) read();
  });
  return () => {
    state.isOver = true;
    stop();
    unlisten();
  };
}

// Gives what a record says. All are asked for at once, and again where there are more.
function recordTexts(thread, turn) {
  let known = [];
  return async (number) => {
    if (number >= known.length) known = (await get(threadPath(thread, "turns", turn, "records"))).records;
    return known[number]?.text;
  };
}

// The parts of a run on a page, in the order in which one asks: how did it go, who has to do what, where is it, what
// was planned, what took how long, what is on record. Without `links` it is a page that asks nobody anything.
export function runPage(links = {}) {
  const parts = { asked: h("div", { class: "stack", hidden: true }), nested: new Map() };
  const timeline = timelineView(links.onRecord);
  const openEffect = (at) => {
    timeline.node.closest("section").scrollIntoView({ block: "start" });
    timeline.openEffect(at);
  };
  const summary = summaryView(openEffect, links.onRecord);
  const going = travel(links.onRecord, links.onFork);
  const records = recordList(links.onRecord, links.textOf);
  const outer = partView({ ...links, openEffect }, parts);
  const jumps = h("nav", { class: "jumps", "aria-label": "Parts of the run" });
  const section = (name, ...children) => {
    const title = h("h2", { tabindex: -1 }, name);
    jumps.append(
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            title.focus({ preventScroll: true });
            title.scrollIntoView({ block: "start" });
          },
        },
        name,
      ),
    );
    return h("section", { class: "part", "aria-label": name }, title, children);
  };
  const node = h(
    "div",
    { class: "run" },
    jumps,
    section("At a glance", summary.node),
    parts.asked,
    section("Phases", outer.graph),
    links.onRecord ? section("Time travel", going.node) : null,
    section("Plan", outer.plan.node),
    section("Timeline", timeline.node),
    section("Trace", outer.trace.node),
    section("Records", records.node),
  );
  const update = (view) => {
    parts.view = view;
    summary.update(view);
    const titles = () => [parts.asked.querySelector("h2"), node.querySelector("h2")];
    keepFocus(() => drawAsked(parts.asked, view, links), titles);
    outer.update(view, view.runs[0]);
    timeline.update(view);
    going.update(view);
    records.update(view);
    parts.nested.forEach((nested, path) => {
      const part = view.runs.find((one) => one.path === path);
      if (part) nested.update(view, part);
    });
    const where =
      view.shown_records < view.all_records ? `After ${view.shown_records} of ${view.all_records} records: ` : "";
    announce(`${where}phase ${view.runs[0].phase}, ${statusWord(view.status)}`);
  };
  return { node, update };
}

// One of the runs of a turn: the outermost, or one that is nested in a step.
function partView(links, parts) {
  const graph = h("div", { class: "stack" });
  const trace = traceTable(links.onRecord);
  const plan = planView({
    effect: links.openEffect,
    effectName: (at) => parts.view.timeline[at].effect,
    nested: (path) => nestedRun(path, links, parts),
  });
  const update = (view, part) => {
    const edges = view.graphs[part.agent] ?? [];
    const print = JSON.stringify([part.phase, part.taken]);
    if (graph.dataset.print !== print) {
      graph.dataset.print = print;
      graph.replaceChildren(phaseGraph(edges, part.taken, part.phase), takenList(part.taken, links.onRecord));
    }
    plan.update(part);
    trace.update(part.trace);
  };
  return { graph, trace, plan, update };
}

function takenList(taken, onRecord) {
  const line = ({ from, exit, to, record }, at) =>
    h(
      "li",
      null,
      `${at + 1}. ${from} — ${exit} → ${to} `,
      onRecord
        ? h("button", { type: "button", class: "link", onclick: () => onRecord(record + 1) }, `#${record}`)
        : h("span", { class: "quiet" }, `#${record}`),
    );
  return lazy(`Edges taken: ${taken.length}`, () => h("ol", { class: "taken" }, taken.slice(0, 500).map(line)));
}

// A run that is nested in a step, open inside it.
function nestedRun(path, links, parts) {
  const part = parts.view.runs.find((one) => one.path === path);
  if (!part) return null;
  const summary = h(
    "span",
    null,
    "Run of ",
    bdi(part.agent, 80),
    " ",
    h("code", null, path),
    " ",
    h("span", { class: "chip" }, part.phase),
  );
  return lazy(summary, () => {
    const nested = partView(links, parts);
    parts.nested.set(path, nested);
    nested.update(parts.view, part);
    return h(
      "div",
      { class: "nested stack" },
      h("p", null, h("span", { class: "quiet" }, "Asked: "), tag(part.question_untrusted), bdi(part.question, 1000)),
      nested.graph,
      nested.plan.node,
      lazy("Trace", () => nested.trace.node),
      part.result
        ? h("p", null, h("span", { class: "quiet" }, "Answered: "), tag(part.tainted), bdi(part.result, 2000))
        : null,
    );
  });
}

// What the run waits for: to be answered where the run stands, to be seen where it once stood.
function drawAsked(place, view, links) {
  const { pending } = view;
  const shown = place.querySelector(".asked");
  place.hidden = false;
  if (!pending) return replacePanel(place, null);
  const isNow = view.shown_records === view.all_records && links.onAnswered && view.thread;
  if (shown?.dataset.token === pending.token && shown.dataset.now === String(Boolean(isNow))) return;
  const about = covers(view, pending);
  const panel = isNow
    ? personPanel(links.thread, pending, about, (what) => what === "taken" && links.onAnswered())
    : askedPanel(pending, about);
  panel.dataset.now = String(Boolean(isNow));
  replacePanel(place, panel);
}

// What the answer is about: the steps that are left, or the input of the call.
function covers(view, pending) {
  const path = String(pending.effect).split("/").slice(0, -1).join("/");
  const part = view.runs.find((run) => run.path === path) ?? view.runs[0];
  const name = String(pending.effect).split("/").pop().split(".");
  const current = part.steps.filter((step) => step.current);
  const call = name[0] === "permit" ? current.find((step) => step.step === Number(name[2])) : null;
  const results = part.steps
    .filter((step) => step.output !== null)
    .map((step) => `${step.id}: ${step.output}`)
    .join("\n\n");
  const left = current.length
    ? current
    : (part.drafts.at(-1)?.planned ?? []).map((planned) => ({ planned, status: "pending" }));
  return {
    steps: left.filter((step) => !["completed", "failed", "skipped"].includes(step.status)).map((step) => step.planned),
    input: call?.planned.input,
    results,
  };
}
