// What was asked of models, tools and people, to scale: a strip of the whole run, and a line for each, with the critical
// path marked.

import { effectView } from "./effect.js";
import { h, s, shortParts, write } from "./dom.js";
import { count, duration, many, money } from "./format.js";
import { longList } from "./list.js";

const KINDS = { model: "model", tool: "tool", person: "person", wait: "wait" };
const WIDE = 1000;

// The timeline of a turn. `onRecord` is told which record to go to.
export function timelineView(onRecord) {
  const state = { view: null, scale: null };
  const strip = h("div", { class: "strip" });
  const place = h("div", { class: "stack", "aria-live": "off" });
  const list = longList("Requests and replies", {
    line: () => {
      const { cells, fill } = newLine();
      return { cells, fill: (at) => fill(state.view.timeline[at], state.scale, state.view.currency) };
    },
    open: (at) => show(at, true),
  });
  const note = h("p", { class: "quiet" });
  const legend = h(
    "p",
    { class: "legend quiet" },
    Object.values(KINDS).map((kind) => h("span", null, h("span", { class: `key bar-${kind}` }), kind)),
    h("span", null, h("span", { class: "key key-critical" }), "critical path ◆"),
  );
  const show = (at, isAsked) => {
    place.replaceChildren(effectView(state.view, at, onRecord));
    if (isAsked) {
      const title = place.querySelector("h3");
      title.focus({ preventScroll: true });
      place.scrollIntoView({ block: "nearest" });
    }
    state.shown = at;
  };
  const update = (view) => {
    const hasNew =
      state.shown !== undefined &&
      JSON.stringify(state.view?.timeline[state.shown]) !== JSON.stringify(view.timeline[state.shown]);
    state.view = view;
    state.scale = scaleOf(view.timeline);
    note.textContent = state.scale.isTimed
      ? `${many(view.timeline.length, "request")} in ${duration(state.scale.end - state.scale.begin)}`
      : `${many(view.timeline.length, "request")}, in their order: no times are on record`;
    strip.replaceChildren(drawStrip(view.timeline, state.scale));
    list.update(view.timeline.map((_, at) => at));
    if (hasNew && view.timeline[state.shown]) show(state.shown, false);
  };
  const openEffect = (at) => {
    list.choose(at, true);
  };
  return {
    node: h("div", { class: "stack" }, h("div", { class: "row" }, note, legend), strip, list.node, place),
    update,
    openEffect,
  };
}

// From when to when the whole goes: by the clock, or by the numbers of the records where no times are known.
function scaleOf(timeline) {
  const isTimed = timeline.length > 0 && timeline.every((effect) => effect.began !== null);
  const begins = (effect) => (isTimed ? effect.began : effect.requested);
  const open = isTimed
    ? Math.max(...timeline.map((effect) => effect.ended ?? effect.began), 0)
    : Math.max(...timeline.map((effect) => effect.answered ?? effect.requested + 1), 1);
  const ends = (effect) => (isTimed ? effect.ended : effect.answered) ?? open;
  const begin = timeline.reduce((least, effect) => Math.min(least, begins(effect)), Infinity);
  const end = timeline.reduce((most, effect) => Math.max(most, ends(effect)), 0);
  const length = Math.max(1, end - begin);
  const x = (at) => ((at - begin) / length) * WIDE;
  return { isTimed, begin, end, begins, ends, x };
}

function look(effect) {
  return `bar-${effect.kind}${effect.failure ? " bar-failed" : ""}`;
}

// The whole run in a strip: what ran side by side stands one below the other.
function drawStrip(timeline, scale) {
  const lanes = [];
  // One shape for all bars of a look: a long run has thousands.
  const shapes = new Map();
  for (const effect of timeline) {
    const [from, to] = [scale.x(scale.begins(effect)), scale.x(scale.ends(effect))];
    let lane = lanes.findIndex((free) => free <= from + 0.01);
    if (lane < 0) lane = lanes.length;
    lanes[lane] = to;
    const width = Math.max(3, to - from).toFixed(2);
    const bar = `M${from.toFixed(2)} ${4 + lane * 14}h${width}v10h-${width}z`;
    shapes.set(look(effect), (shapes.get(look(effect)) ?? "") + bar);
    if (!effect.critical) continue;
    // A line below: a frame would hide a bar that is thinner than it.
    const line = `M${from.toFixed(2)} ${14.5 + lane * 14}h${width}v2h-${width}z`;
    shapes.set("bar-critical", (shapes.get("bar-critical") ?? "") + line);
  }
  const bars = [...shapes].map(([name, d]) => s("path", { class: name, d }));
  const height = 8 + Math.max(1, lanes.length) * 14;
  return s(
    "svg",
    {
      viewBox: `0 0 ${WIDE} ${height}`,
      height,
      width: "100%",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `The whole run: ${many(timeline.length, "request")}, at most ${count(lanes.length)} side by side`,
    },
    bars,
  );
}

// A line of the list, which is filled with one request after the other.
function newLine() {
  const [mark, name, id] = [h("span", { class: "quiet" }), h("bdi", { dir: "auto" }), h("code", { class: "quiet" })];
  const bar = s("rect", { y: 5, height: 10, rx: 2 });
  const facts = [0, 1, 2].map(() => h("span", { class: "line-fact" }));
  const end = h("span", { class: "line-fact" });
  const cells = [
    h("span", { class: "line-name" }, mark, name, " ", id),
    s("svg", { class: "line-bar", viewBox: `0 0 ${WIDE} 20`, preserveAspectRatio: "none", "aria-hidden": "true" }, bar),
    ...facts,
    end,
  ];
  let signs = "";
  const fill = (effect, scale, currency) => {
    const [from, to] = [scale.x(scale.begins(effect)), scale.x(scale.ends(effect))];
    const used = effect.tokens ? effect.tokens.input_tokens + effect.tokens.output_tokens : 0;
    write(mark, effect.path ? "↳ " : "");
    write(name, ...shortParts(effect.asked, 60));
    write(id, effect.effect);
    // As wide as can be seen.
    const width = Math.max(14, to - from);
    const shape = { class: look(effect), x: Math.min(from, WIDE - width).toFixed(2), width: width.toFixed(2) };
    Object.entries(shape).forEach(([attribute, value]) => bar.setAttribute(attribute, value));
    const texts = [took(effect, scale), used ? `${count(used)} tok` : "", effect.cost ? money(effect.cost, currency) : ""];
    texts.forEach((text, at) => write(facts[at], text));
    const stands = effect.failure ? "failed" : effect.answered === null ? "open" : "";
    if (signs === `${effect.critical} ${stands}`) return;
    signs = `${effect.critical} ${stands}`;
    end.replaceChildren(...signsOf(effect.critical, stands));
  };
  return { cells, fill };
}

function signsOf(isCritical, stands) {
  const words = [h("span", { "aria-hidden": "true" }, "◆"), h("span", { class: "unseen" }, "on the critical path")];
  return [
    isCritical ? h("span", { class: "critical" }, words) : "",
    stands ? h("span", { class: `chip tone-${stands === "failed" ? "bad" : "busy"}` }, stands) : "",
  ];
}

function took(effect, scale) {
  if (!scale.isTimed) return `#${effect.requested}`;
  return effect.ended ? duration(effect.ended - effect.began) : "…";
}
