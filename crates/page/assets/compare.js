// Two runs side by side: where they part, what stands in one alone, and what is different in what stands in both.

import { getUntilReached, threadPath } from "./api.js";
import { diffBlock, unifiedBlock } from "./diff.js";
import { effectView } from "./effect.js";
import { bdi, block, h, keep, marked, newId, pretty, show, scrollTable, tag } from "./dom.js";
import { count, duration, many, money } from "./format.js";
import { longList } from "./list.js";
import { lazy } from "./plan.js";
import { phaseGraph } from "./graph.js";
import { forkedFrom, onThreads, statusChip, threadAddress, threadLink } from "./threads.js";

// Shows two turns, a turn beside its replay, or asks which.
export function showCompare(main, threadA = "", turnA = "", threadB = "", turnB = "") {
  const isReplay = threadB === "replay" && !turnB;
  const a = [threadA, turnA || "1"];
  const b = isReplay ? ["", "1"] : [threadB, turnB || "1"];
  const place = h("div", { class: "run" });
  const problem = h("p", { class: "refusal", role: "alert" });
  const state = { isOver: false };
  // The threads that are known, to choose from while one types.
  const known = h("datalist", { id: newId("known") });
  const stop = onThreads(({ threads }) =>
    keep(known, threads.map(({ thread }) => thread), String, (value) => h("option", { value })),
  );
  show(main, h("h1", null, "Compare two runs"), picker(a, b, isReplay, known), problem, place);
  const get = (path) => getUntilReached(path, () => state.isOver);
  const view = ([thread, turn]) => get(`${threadPath(thread, "turns", turn)}/view`);
  const two = async () => {
    const [one, other] = [a, b].map((side) => encodeURIComponent(side.join(":")));
    return Promise.all([get(`/compare?a=${one}&b=${other}`), view(a), view(b)]);
  };
  const replayed = async () => {
    const [viewA, reply] = await Promise.all([view(a), get(`${threadPath(a[0], "turns", a[1])}/replay`)]);
    return [reply.comparison, viewA, reply.view];
  };
  const read = async () => {
    const shown = await (isReplay ? replayed() : two());
    if (!state.isOver) place.replaceChildren(...comparePage(...shown));
  };
  const lacks = lacking(threadA, threadB);
  if (lacks) problem.replaceWith(lacks);
  else read().catch((error) => problem.replaceChildren(bdi(error.message, 1000)));
  return () => {
    state.isOver = true;
    stop();
  };
}

// What an address does not say yet, in words; nothing where it names both.
function lacking(a, b) {
  if (a && b) return null;
  const rest = "give a thread and a turn of it, or choose the replay of the first";
  const words = a
    ? ["Compare ", bdi(a, 80), ` with what? For the other one ${rest}.`]
    : b
      ? ["Compare what with ", bdi(b, 80), "? For the first one give a thread and a turn of it."]
      : [`Compare which two? For each one ${rest}.`];
  return h("p", { class: "quiet", role: "status" }, words);
}

// Which two turns.
function picker(a, b, isReplay, known) {
  const side = (name, [thread, turn]) => {
    const [threadId, turnId] = [newId("thread"), newId("turn")];
    const named = { id: threadId, value: thread, required: true, dir: "auto", autocomplete: "off", list: known.id };
    const threadField = h("input", named);
    const turnField = h("input", { id: turnId, value: turn, required: true, type: "number", min: 1, class: "short" });
    const fields = h(
      "fieldset",
      { class: "row" },
      h("legend", null, name),
      h("label", { for: threadId }, "Thread"),
      h("span", { class: "field" }, threadField),
      h("label", { for: turnId }, "Turn"),
      turnField,
    );
    return { threadField, turnField, fields };
  };
  const [one, other] = [side("One", a), side("Other", b)];
  const replay = h("input", { type: "checkbox", checked: isReplay });
  const follow = () => {
    other.fields.disabled = replay.checked;
  };
  replay.addEventListener("change", follow);
  follow();
  const address = ({ threadField, turnField }) => [threadField.value.trim(), turnField.value];
  return h(
    "form",
    {
      class: "card stack",
      "aria-label": "Which runs",
      onsubmit: (event) => {
        event.preventDefault();
        const names = [...address(one), ...(replay.checked ? ["replay"] : address(other))];
        location.hash = `#/compare/${names.map(encodeURIComponent).join("/")}`;
      },
    },
    known,
    h("div", { class: "pair" }, one.fields, other.fields),
    h(
      "div",
      { class: "row" },
      h("label", { class: "check" }, replay, " with its replay under the agent as it is now"),
      h("button", { class: "primary" }, "Compare"),
    ),
  );
}

// The comparison on a page, from what the service says of it and both runs. Of a replay that stopped, what it did not
// reach is left out.
export function comparePage(comparison, a, b) {
  const { steps, equal, parting, replay } = comparison;
  const effects = comparison.effects.slice(0, (replay?.stopped_at ?? Infinity) + 1);
  const names = replay ? ["Recording", "Replay"] : ["One", "Other"];
  // Runs of two questions part before anything is asked.
  const first = effects.findIndex((row) => !row.same);
  const parts = parting?.row ?? (first < 0 ? null : first);
  const requests = rowsView("Side by side", effects, parts, sideOfEffect, [a, b], names);
  const planned = rowsView("Steps side by side", steps, null, sideOfStep, [a, b], names);
  const differing = effects.filter((row) => !row.same).length;
  const verdict = equal
    ? "Both runs are the same."
    : parting || !replay
      ? `They part at ${where(parting)}; ${count(differing)} of ${many(effects.length, "request")} differ.`
      : `The replay drifts, and no request differs${comparison.differences.length ? "; see below what does" : ""}.`;
  const toParting =
    parts === null
      ? null
      : h("button", { type: "button", onclick: () => requests.list.choose(parts, true) }, "Show where they part");
  const part = (name, ...children) =>
    h("section", { class: "part", "aria-label": name }, h("h2", null, name), children);
  const isUntrusted = a.tainted || b.tainted;
  return [
    part(
      "Both at a glance",
      h("p", { class: "row" }, h("strong", null, verdict), toParting),
      replay ? drift(replay, comparison.effects.length - effects.length) : null,
      h("div", { class: "pair" }, head(names[0], a), head(names[1], b)),
      totals(comparison, a, b, names),
      comparison.differences.map((difference) => differenceView(difference, isUntrusted)),
    ),
    part("Side by side", requests.node),
    steps.length ? part("Steps side by side", planned.node) : null,
    part("Plans", diffBlock(planText(a), planText(b), isUntrusted)),
    part(
      "Phases of both",
      h(
        "div",
        { class: "pair" },
        [a, b].map((view) => phaseGraph(view.graphs[view.runs[0].agent] ?? [], view.runs[0].taken, view.runs[0].phase)),
      ),
    ),
  ].filter(Boolean);
}

// How a replay drifts from its recording, and where it stopped.
function drift({ drift: drifts, stopped, misfit }, unreached) {
  const line = (name, text) => h("li", null, h("strong", null, name), block(text));
  const lines = [
    ...drifts.map(({ kind, message }) => line(`The replay drifts (${kind})`, message)),
    stopped ? line("The replay stopped", stopped) : null,
    unreached ? h("li", null, `${many(unreached, "recorded request")} behind it: not reached by the replay`) : null,
    misfit ? line("The recording is shown up to an answer that no longer fits", misfit) : null,
  ].filter(Boolean);
  return lines.length ? h("ul", { class: "told" }, lines) : null;
}

// The first record at which they are no longer the same.
function where(parting) {
  if (!parting) return "their ends";
  const { a, b, what } = parting;
  if (a === null) return `record #${b} of the other: the one has nothing that belongs to it`;
  if (b === null) return `record #${a} of the one: the other has nothing that belongs to it`;
  const place = a === b ? `record #${a}` : `record #${a} of the one and #${b} of the other`;
  return what ? `${place} (${what})` : place;
}

// What is different, as the service says it.
function differenceView({ what, of, diff }, isUntrusted, isOpen = false) {
  const none = what === "instructions" ? "It stands above, under Both at a glance." : "It is not written out here.";
  return lazy(
    h(
      "span",
      null,
      h("strong", null, what),
      of ? [" of ", bdi(of, 60)] : null,
      " ",
      h("span", { class: "differs" }, "differs"),
    ),
    () => (diff ? unifiedBlock(diff, isUntrusted && !["agent", "instructions"].includes(what)) : h("p", { class: "quiet" }, none)),
    isOpen,
  );
}

// Rows of both runs, aligned by what they are. `sideOf` gives the name of a side, and draws it whole.
function rowsView(label, rows, parting, sideOf, views, names) {
  const place = h("div", { class: "stack" });
  const sides = (row) => [row.a, row.b].map((side, at) => (side ? sideOf(views[at], side, row) : null));
  const list = longList(label, {
    line: () => {
      const cells = [h("span"), h("span"), h("span")];
      const fill = (at) =>
        line(rows[at], at === parting, sides(rows[at]), names).forEach((cell, nth) => cells[nth].replaceChildren(cell));
      return { cells, fill };
    },
    open: (at) => {
      place.replaceChildren(detail(rows[at], sides(rows[at]), names, views));
      place.querySelector("h3").focus({ preventScroll: true });
      place.scrollIntoView({ block: "nearest" });
    },
  });
  list.node.classList.add("compared");
  list.update(rows.map((_, at) => at));
  return { list, node: h("div", { class: "stack" }, list.node, place) };
}

function sideOfEffect(view, side, row) {
  const name = [bdi(row.asked, 50), " ", h("code", { class: "quiet" }, `${side.id} #${side.record ?? "–"}`)];
  const { tainted, untrusted } = view.timeline[side.at];
  return { name, isUntrusted: tainted || untrusted, whole: () => effectView(view, side.at) };
}

function sideOfStep(view, side) {
  const step = view.runs.find((run) => run.path === side.path)?.steps[side.at];
  const name = [bdi(side.id, 50), " ", h("span", { class: "quiet" }, step?.status ?? "")];
  const output = () => marked(step?.gave_untrusted, step?.output ?? "", "what came of it");
  const whole = () => h("div", { class: "stack" }, block(step?.planned ?? ""), output());
  return { name, isUntrusted: step?.gave_untrusted || step?.read_untrusted, whole };
}

function head(name, view) {
  return h(
    "div",
    { class: "card stack" },
    h(
      "p",
      { class: "row" },
      h("strong", null, name),
      view.thread
        ? threadLink(threadAddress(view.thread, view.turn), bdi(view.thread, 60), ` turn ${view.turn}`)
        : null,
      statusChip(view.status),
    ),
    view.origin ? h("p", null, forkedFrom(view.origin)) : null,
    h("p", null, bdi(view.question, 400)),
    view.result ? h("p", { class: "quiet" }, tag(view.tainted), bdi(view.result, 400)) : null,
  );
}

function totals(comparison, a, b, names) {
  const tokens = (view) => view.summary.all.tokens.input_tokens + view.summary.all.tokens.output_tokens;
  const rows = [
    ["Agent", a.agent, b.agent],
    ["Requests", count(a.summary.all.calls), count(b.summary.all.calls)],
    ["Replans", count(a.counters.replans), count(b.counters.replans)],
    ["Tokens", count(tokens(a)), count(tokens(b))],
    ["Cost", money(a.summary.all.cost, a.currency), money(b.summary.all.cost, b.currency)],
    ["Time", duration(comparison.a.ms), duration(comparison.b.ms)],
    ["Time that models are told", comparison.a.now ?? "–", comparison.b.now ?? "–"],
  ];
  const draw = ([name, one, other]) =>
    h(
      "tr",
      { class: one === other ? null : "row-differs" },
      h("th", { scope: "row" }, name),
      h("td", null, bdi(one)),
      h("td", null, bdi(other)),
      h("td", null, one === other ? "same" : "differs"),
    );
  const heads = ["", ...names, ""].map((name) => (name ? h("th", { scope: "col" }, name) : h("td")));
  return scrollTable("Both in figures", heads, h("tbody", null, rows.map(draw)));
}

function planText(view) {
  return view.runs[0].drafts
    .map((draft) => [`Draft ${draft.draft}`, ...(draft.edited ?? draft.planned).map(pretty)].join("\n"))
    .join("\n");
}

function line(row, isParting, sides, names) {
  const draw = (side) => h("span", { class: side ? null : "quiet" }, side?.name ?? "—");
  const words = !row.b
    ? `only in the ${names[0].toLowerCase()}`
    : !row.a
      ? `only in the ${names[1].toLowerCase()}`
      : row.same
        ? "same"
        : row.differences.map(({ what }) => what).join(", ");
  return [
    draw(sides[0]),
    draw(sides[1]),
    h("span", { class: words === "same" ? "quiet" : "differs" }, isParting ? "parts here: " : "", words),
  ];
}

function detail(row, sides, names, views) {
  const title = h("h3", { tabindex: -1, id: newId("row") }, sides.find(Boolean).name);
  const isAlone = sides.some((side) => !side);
  const whole = sides.map((side, at) => side && lazy(`${names[at]}, whole`, side.whole, isAlone));
  return h(
    "section",
    { class: "card stack", "aria-labelledby": title.id },
    title,
    spent(row, names, views),
    row.same ? h("p", { class: "quiet" }, "Nothing differs that counts.") : null,
    row.differences.map((difference) =>
      differenceView(
        difference,
        sides.some((side) => side?.isUntrusted),
        true,
      ),
    ),
    whole,
  );
}

// What each side took, which makes no difference by itself.
function spent({ a, b }, names, views) {
  const facts = (side, { currency }) => [
    typeof side.ms === "number" ? duration(side.ms) : null,
    side.tokens ? `${count(side.tokens.input_tokens + side.tokens.output_tokens)} tokens` : null,
    side.cost ? `cost ${money(side.cost, currency)}` : null,
  ];
  const told = [a, b].map((side, at) => [names[at], (side ? facts(side, views[at]) : []).filter(Boolean)]);
  return h(
    "p",
    { class: "quiet" },
    told.filter(([, said]) => said.length).map(([name, said]) => `${name}: ${said.join(", ")}. `),
  );
}
