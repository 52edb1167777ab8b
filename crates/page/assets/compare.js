// Two runs side by side: where they part, what stands in one alone, and what is different in what stands in both.

import { get, threadPath } from "./api.js";
import { diffBlock } from "./diff.js";
import { readable, wholeRequest } from "./effect.js";
import { bdi, h, newId, pretty, show } from "./dom.js";
import { count, duration, many } from "./format.js";
import { longList } from "./list.js";
import { lazy } from "./plan.js";
import { phaseGraph } from "./graph.js";
import { statusChip, threadAddress } from "./threads.js";

// Shows two turns, or asks which.
export function showCompare(main, ...sides) {
  const [a, b] = [sides.slice(0, 2), sides.slice(2)];
  const place = h("div", { class: "run" });
  const problem = h("p", { class: "refusal", role: "alert" });
  const state = { isOver: false };
  show(main, h("h1", null, "Compare two runs"), picker(a, b), problem, place);
  const read = async () => {
    const query = [["a", a], ["b", b]].map(([name, side]) => `${name}=${encodeURIComponent(side.join(":"))}`).join("&");
    const view = ([thread, turn]) => get(`${threadPath(thread, "turns", turn)}/view`);
    const [comparison, viewA, viewB] = await Promise.all([get(`/compare?${query}`), view(a), view(b)]);
    if (!state.isOver) place.replaceChildren(...comparePage(comparison, viewA, viewB));
  };
  if (b.length === 2 && b[1]) read().catch((error) => problem.replaceChildren(bdi(error.message, 1000)));
  return () => { state.isOver = true; };
}

// Which two turns.
function picker(a, b) {
  const side = (name, [thread = "", turn = "1"]) => {
    const [threadId, turnId] = [newId("thread"), newId("turn")];
    const threadField = h("input", { id: threadId, value: thread, required: true, dir: "auto", autocomplete: "off" });
    const turnField = h("input", { id: turnId, value: turn ?? "1", required: true, type: "number", min: 1, class: "short" });
    return [[threadField, turnField], h("fieldset", { class: "row" }, h("legend", null, name), h("label", { for: threadId }, "Thread"), h("span", { class: "field" }, threadField), h("label", { for: turnId }, "Turn"), turnField)];
  };
  const [[first, one], [second, other]] = [side("One", a), side("Other", b)];
  return h("form", {
    class: "card stack", "aria-label": "Which runs",
    onsubmit: (event) => {
      event.preventDefault();
      const names = [...first, ...second].map((field) => encodeURIComponent(field.value.trim()));
      location.hash = `#/compare/${names.join("/")}`;
    },
  }, h("div", { class: "pair" }, one, other), h("div", { class: "row" }, h("button", { class: "primary" }, "Compare")));
}

// The comparison on a page, from what the service says of it and both runs.
export function comparePage(comparison, a, b) {
  const { rows, parts_at: parts } = comparison;
  const place = h("div", { class: "stack" });
  const list = longList("Side by side", {
    draw: (at) => line(rows[at], at === parts, a, b),
    open: (at) => {
      place.replaceChildren(detail(rows[at], a, b));
      place.querySelector("h3").focus({ preventScroll: true });
      place.scrollIntoView({ block: "nearest" });
    },
  });
  list.node.classList.add("compared");
  list.update(rows.map((_, at) => at));
  const differing = rows.filter((row) => row.differs.length || isAlone(row)).length;
  const verdict = comparison.same ? "Both runs are the same." : parts === null || parts === undefined ? `${many(differing, "place")} differ.`
    : `They part at ${rows[parts].name}; ${many(differing, "place")} of ${count(rows.length)} differ.`;
  const toParting = parts === null || parts === undefined ? null : h("button", { type: "button", onclick: () => list.choose(parts, true) }, "Show where they part");
  return [
    h("section", { class: "part", "aria-label": "Both" }, h("h2", null, "At a glance"), h("p", { class: "row" }, h("strong", null, verdict), toParting), h("div", { class: "pair" }, head("One", a), head("Other", b)), totals(a, b)),
    h("section", { class: "part", "aria-label": "Side by side" }, h("h2", null, "Side by side"), list.node, place),
    h("section", { class: "part", "aria-label": "Plans" }, h("h2", null, "Plans"), diffBlock(planText(a), planText(b))),
    h("section", { class: "part", "aria-label": "Phases of both" }, h("h2", null, "Phases"), h("div", { class: "pair" }, [a, b].map((view) => phaseGraph(view.graphs[view.runs[0].agent] ?? [], view.runs[0].taken, view.runs[0].phase)))),
  ];
}

const isAlone = (row) => row.effect_a === null || row.effect_b === null;

function head(name, view) {
  return h("div", { class: "card stack" }, h("p", { class: "row" }, h("strong", null, name), view.thread ? h("a", { href: threadAddress(view.thread, view.turn) }, bdi(view.thread, 60), ` turn ${view.turn}`) : null, statusChip(view.status)),
    h("p", null, bdi(view.question, 400)), view.result ? h("p", { class: "quiet" }, bdi(view.result, 400)) : null);
}

function totals(a, b) {
  const took = (view) => (view.began && view.ended ? view.ended - view.began : null);
  const tokens = (view) => view.summary.all.tokens.input_tokens + view.summary.all.tokens.output_tokens;
  const rows = [
    ["Agent", a.agent, b.agent], ["Requests", count(a.summary.all.calls), count(b.summary.all.calls)], ["Replans", count(a.counters.replans), count(b.counters.replans)],
    ["Tokens", count(tokens(a)), count(tokens(b))], ["Cost", a.summary.all.cost ?? "–", b.summary.all.cost ?? "–"], ["Time", duration(took(a)), duration(took(b))],
  ];
  const draw = ([name, one, other]) => h("tr", { class: one === other ? null : "row-differs" }, h("th", { scope: "row" }, name), h("td", null, bdi(one)), h("td", null, bdi(other)), h("td", null, one === other ? "same" : "differs"));
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Both in figures" }, h("table", null, h("thead", null, h("tr", null, ["", "One", "Other", ""].map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))))), h("tbody", null, rows.map(draw))));
}

function planText(view) {
  return view.runs[0].drafts.map((draft) => [`Draft ${draft.draft}`, ...(draft.edited ?? draft.planned).map(pretty)].join("\n")).join("\n");
}

function line(row, isParting, a, b) {
  const side = (view, at) => (at === null ? h("span", { class: "quiet" }, "—") : h("span", null, bdi(view.timeline[at].asked, 50), " ", h("code", { class: "quiet" }, view.timeline[at].effect)));
  const words = isAlone(row) ? (row.effect_b === null ? "only in one" : "only in the other") : row.differs.join(", ") || "same";
  return [side(a, row.effect_a), side(b, row.effect_b), h("span", { class: words === "same" ? "quiet" : "differs" }, isParting ? "parts here: " : "", words)];
}

function detail(row, a, b) {
  const title = h("h3", { tabindex: -1, id: newId("row") }, bdi(row.name, 120));
  const texts = (view, at) => (at === null ? null : { request: requestOf(view, at), reply: replyOf(view.timeline[at]) });
  const [one, other] = [texts(a, row.effect_a), texts(b, row.effect_b)];
  const part = (name, before, after) => lazy(h("span", null, name, " ", h("span", { class: "quiet" }, before === after ? "the same" : "differs")), () => diffBlock(before, after), before !== after);
  return h("section", { class: "card stack", "aria-labelledby": title.id }, title,
    part("Request", one?.request ?? "", other?.request ?? ""), part("Reply", one?.reply ?? "", other?.reply ?? ""));
}

function requestOf(view, at) {
  const { request } = view.timeline[at];
  if (request.kind !== "model") return pretty(request.input ?? request.question ?? request.delay_ms);
  const whole = wholeRequest(view, at);
  return [readable(whole.payload), ...whole.messages.map((message) => readable(JSON.stringify(message)))].join("\n");
}

function replyOf({ reply }) {
  const said = reply?.returned?.output ?? reply?.text;
  return typeof said === "string" && said ? readable(said) : pretty(reply ?? "");
}
