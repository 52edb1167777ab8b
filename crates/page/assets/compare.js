// Two runs side by side: where they part, what stands in one alone, and what is different in what stands in both.

import { get, threadPath } from "./api.js";
import { diffBlock, unifiedBlock } from "./diff.js";
import { effectView } from "./effect.js";
import { bdi, block, h, newId, pretty, show, scrollTable } from "./dom.js";
import { count, duration, many } from "./format.js";
import { longList } from "./list.js";
import { lazy } from "./plan.js";
import { phaseGraph } from "./graph.js";
import { statusChip, threadAddress, threadLink } from "./threads.js";

// Shows two turns, or asks which.
export function showCompare(main, ...sides) {
  const [a, b] = [sides.slice(0, 2), sides.slice(2)];
  const place = h("div", { class: "run" });
  const problem = h("p", { class: "refusal", role: "alert" });
  const state = { isOver: false };
  show(main, h("h1", null, "Compare two runs"), picker(a, b), problem, place);
  const read = async () => {
    const query = [
      ["a", a],
      ["b", b],
    ]
      .map(([name, side]) => `${name}=${encodeURIComponent(side.join(":"))}`)
      .join("&");
    const view = ([thread, turn]) => get(`${threadPath(thread, "turns", turn)}/view`);
    const [comparison, viewA, viewB] = await Promise.all([get(`/compare?${query}`), view(a), view(b)]);
    if (!state.isOver) place.replaceChildren(...comparePage(comparison, viewA, viewB));
  };
  if (b.length === 2 && b[1]) read().catch((error) => problem.replaceChildren(bdi(error.message, 1000)));
  return () => {
    state.isOver = true;
  };
}

// Which two turns.
function picker(a, b) {
  const side = (name, [thread = "", turn = "1"]) => {
    const [threadId, turnId] = [newId("thread"), newId("turn")];
    const threadField = h("input", { id: threadId, value: thread, required: true, dir: "auto", autocomplete: "off" });
    const turnField = h("input", {
      id: turnId,
      value: turn ?? "1",
      required: true,
      type: "number",
      min: 1,
      class: "short",
    });
    return [
      [threadField, turnField],
      h(
        "fieldset",
        { class: "row" },
        h("legend", null, name),
        h("label", { for: threadId }, "Thread"),
        h("span", { class: "field" }, threadField),
        h("label", { for: turnId }, "Turn"),
        turnField,
      ),
    ];
  };
  const [[first, one], [second, other]] = [side("One", a), side("Other", b)];
  return h(
    "form",
    {
      class: "card stack",
      "aria-label": "Which runs",
      onsubmit: (event) => {
        event.preventDefault();
        const names = [...first, ...second].map((field) => encodeURIComponent(field.value.trim()));
        location.hash = `#/compare/${names.join("/")}`;
      },
    },
    h("div", { class: "pair" }, one, other),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Compare")),
  );
}

// The comparison on a page, from what the service says of it and both runs.
export function comparePage(comparison, a, b) {
  const { effects, steps, equal, parting } = comparison;
  // Runs of two questions part before anything is asked.
  const first = effects.findIndex((row) => !row.same);
  const parts = parting?.row ?? (first < 0 ? null : first);
  const requests = rowsView("Side by side", effects, parts, sideOfEffect, [a, b]);
  const planned = rowsView("Steps side by side", steps, null, sideOfStep, [a, b]);
  const differing = effects.filter((row) => !row.same).length;
  const verdict = equal
    ? "Both runs are the same."
    : `They part at ${where(parting)}; ${count(differing)} of ${many(effects.length, "request")} differ.`;
  const toParting =
    parts === null
      ? null
      : h("button", { type: "button", onclick: () => requests.list.choose(parts, true) }, "Show where they part");
  const part = (name, ...children) =>
    h("section", { class: "part", "aria-label": name }, h("h2", null, name), children);
  return [
    part(
      "Both at a glance",
      h("p", { class: "row" }, h("strong", null, verdict), toParting),
      h("div", { class: "pair" }, head("One", a), head("Other", b)),
      totals(a, b),
      comparison.differences.map((difference) => differenceView(difference)),
    ),
    part("Side by side", requests.node),
    steps.length ? part("Steps side by side", planned.node) : null,
    part("Plans", diffBlock(planText(a), planText(b))),
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

// The first record at which they are no longer the same.
function where(parting) {
  if (!parting) return "their ends";
  const record = (number) => (number === null || number === undefined ? "its end" : `#${number}`);
  const place =
    parting.a === parting.b
      ? `record ${record(parting.a)}`
      : `record ${record(parting.a)} of the one and ${record(parting.b)} of the other`;
  return parting.what ? `${place} (${parting.what})` : place;
}

// What is different, as the service says it.
function differenceView({ what, of, diff }, isOpen = false) {
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
    () => (diff ? unifiedBlock(diff) : h("p", { class: "quiet" }, none)),
    isOpen,
  );
}

// Rows of both runs, aligned by what they are. `sideOf` gives the name of a side, and draws it whole.
function rowsView(label, rows, parting, sideOf, views) {
  const place = h("div", { class: "stack" });
  const sides = (row) => [row.a, row.b].map((side, at) => (side ? sideOf(views[at], side, row) : null));
  const list = longList(label, {
    draw: (at) => line(rows[at], at === parting, sides(rows[at])),
    open: (at) => {
      place.replaceChildren(detail(rows[at], sides(rows[at])));
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
  return { name, whole: () => effectView(view, side.at) };
}

function sideOfStep(view, side) {
  const step = view.runs.find((run) => run.path === side.path)?.steps[side.at];
  const name = [bdi(side.id, 50), " ", h("span", { class: "quiet" }, step?.status ?? "")];
  return { name, whole: () => h("div", { class: "stack" }, block(step?.planned ?? ""), block(step?.output ?? "")) };
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
    h("p", null, bdi(view.question, 400)),
    view.result ? h("p", { class: "quiet" }, bdi(view.result, 400)) : null,
  );
}

function totals(a, b) {
  const took = (view) => (view.began && view.ended ? view.ended - view.began : null);
  const tokens = (view) => view.summary.all.tokens.input_tokens + view.summary.all.tokens.output_tokens;
  const rows = [
    ["Agent", a.agent, b.agent],
    ["Requests", count(a.summary.all.calls), count(b.summary.all.calls)],
    ["Replans", count(a.counters.replans), count(b.counters.replans)],
    ["Tokens", count(tokens(a)), count(tokens(b))],
    ["Cost", a.summary.all.cost ?? "–", b.summary.all.cost ?? "–"],
    ["Time", duration(took(a)), duration(took(b))],
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
  const heads = ["", "One", "Other", ""].map((name) => (name ? h("th", { scope: "col" }, name) : h("td")));
  return scrollTable("Both in figures", heads, h("tbody", null, rows.map(draw)));
}

function planText(view) {
  return view.runs[0].drafts
    .map((draft) => [`Draft ${draft.draft}`, ...(draft.edited ?? draft.planned).map(pretty)].join("\n"))
    .join("\n");
}

function line(row, isParting, sides) {
  const draw = (side) => (side ? h("span", null, side.name) : h("span", { class: "quiet" }, "—"));
  const words = !row.b
    ? "only in the one"
    : !row.a
      ? "only in the other"
      : row.same
        ? "same"
        : row.differences.map(({ what }) => what).join(", ");
  return [
    draw(sides[0]),
    draw(sides[1]),
    h("span", { class: words === "same" ? "quiet" : "differs" }, isParting ? "parts here: " : "", words),
  ];
}

function detail(row, sides) {
  const title = h("h3", { tabindex: -1, id: newId("row") }, sides.find(Boolean).name);
  const isAlone = sides.some((side) => !side);
  const whole = sides.map((side, at) => side && lazy(["The one, whole", "The other, whole"][at], side.whole, isAlone));
  return h(
    "section",
    { class: "card stack", "aria-labelledby": title.id },
    title,
    spent(row),
    row.same ? h("p", { class: "quiet" }, "Nothing differs that counts.") : null,
    row.differences.map((difference) => differenceView(difference, true)),
    whole,
  );
}

// What each side took, which makes no difference by itself.
function spent({ a, b }) {
  const facts = (side) => [
    typeof side.ms === "number" ? duration(side.ms) : null,
    side.tokens ? `${count(side.tokens.input_tokens + side.tokens.output_tokens)} tokens` : null,
    side.cost ? `cost ${side.cost}` : null,
  ];
  const told = [
    ["One", a],
    ["Other", b],
  ].map(([name, side]) => [name, (side ? facts(side) : []).filter(Boolean)]);
  return h(
    "p",
    { class: "quiet" },
    told.filter(([, said]) => said.length).map(([name, said]) => `${name}: ${said.join(", ")}. `),
  );
}
