// What changed between two texts: lines that were added and lines that are gone.

import { h, parts, tag } from "./dom.js";

// Where two texts have more lines than this that differ, the rest is told as replaced.
const MOST_EDITS = 800;
const AROUND = 2;
// How much of a line is shown.
const MOST_LETTERS = 2000;

// The way from one list to another, as [sign, item]: " " kept, "-" gone, "+" added (Myers).
export function compareLists(one, other) {
  let begin = 0;
  while (begin < one.length && begin < other.length && one[begin] === other[begin]) begin += 1;
  let end = 0;
  while (
    end < one.length - begin &&
    end < other.length - begin &&
    one[one.length - 1 - end] === other[other.length - 1 - end]
  )
    end += 1;
  const keep = (items) => items.map((item) => [" ", item]);
  const middle = shortest(one.slice(begin, one.length - end), other.slice(begin, other.length - end));
  return [...keep(one.slice(0, begin)), ...middle, ...keep(one.slice(one.length - end))];
}

function shortest(one, other) {
  const whole = [...one.map((item) => ["-", item]), ...other.map((item) => ["+", item])];
  if (!one.length || !other.length) return whole;
  const rounds = [];
  let reach = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(one.length + other.length, MOST_EDITS); edits += 1) {
    rounds.push(new Map(reach));
    for (let line = -edits; line <= edits; line += 2) {
      const down = line === -edits || (line !== edits && (reach.get(line - 1) ?? -1) < (reach.get(line + 1) ?? -1));
      let x = down ? (reach.get(line + 1) ?? 0) : (reach.get(line - 1) ?? 0) + 1;
      while (x < one.length && x - line < other.length && one[x] === other[x - line]) x += 1;
      reach.set(line, x);
      if (x >= one.length && x - line >= other.length) return walkBack(rounds, one, other);
    }
  }
  return whole;
}

function walkBack(rounds, one, other) {
  const way = [];
  let [x, y] = [one.length, other.length];
  for (let edits = rounds.length - 1; edits >= 0; edits -= 1) {
    const reach = rounds[edits];
    const line = x - y;
    const down = line === -edits || (line !== edits && (reach.get(line - 1) ?? -1) < (reach.get(line + 1) ?? -1));
    const [px, py] =
      edits === 0
        ? [0, 0]
        : (() => {
            const from = down ? line + 1 : line - 1;
            const at = reach.get(from) ?? 0;
            return [at, at - from];
          })();
    while (x > px && y > py && (x > (down ? px : px + 1) || edits === 0)) {
      x -= 1;
      y -= 1;
      way.push([" ", one[x]]);
    }
    if (edits === 0) break;
    if (down) way.push(["+", other[(y -= 1)]]);
    else way.push(["-", one[(x -= 1)]]);
  }
  return way.reverse();
}

// How many lines were added and are gone.
export function countEdits(way) {
  return { added: way.filter(([sign]) => sign === "+").length, gone: way.filter(([sign]) => sign === "-").length };
}

const WORDS = { "+": "added", "-": "gone" };

// Two texts as one list of lines: what stayed is shown around what changed.
export function diffBlock(before, after, isUntrusted = false) {
  const way = compareLists(before.split("\n"), after.split("\n"));
  const isNear = way.map(() => false);
  way.forEach(([sign], at) => {
    if (sign === " ") return;
    for (let near = Math.max(0, at - AROUND); near <= Math.min(way.length - 1, at + AROUND); near += 1)
      isNear[near] = true;
  });
  const near = way.flatMap((line, at) => (isNear[at] ? [line] : at === 0 || isNear[at - 1] ? [["⋯", ""]] : []));
  return drawWay(near, isUntrusted);
}

// The same from a unified diff, as the service writes one.
export function unifiedBlock(diff, isUntrusted = false) {
  const lines = diff.split("\n").filter(Boolean);
  return drawWay(
    lines.map((line) => {
      if (line.startsWith("@@")) return ["⋯", ""];
      return line.startsWith("…") ? ["⋯", line.slice(1)] : [line[0], line.slice(1)];
    }),
    isUntrusted,
  );
}

function drawWay(way, isUntrusted) {
  const { added, gone } = countEdits(way);
  if (!added && !gone) return h("p", { class: "quiet" }, "Nothing changed.");
  const begins = beginnings(way);
  return h(
    "div",
    { class: isUntrusted ? "untrusted" : null },
    h("p", { class: "quiet" }, tag(isUntrusted), `${added} added, ${gone} gone`),
    h(
      "pre",
      { class: "block diff", tabindex: 0, role: "group", "aria-label": "Difference" },
      way.slice(0, 2000).map(([sign, text], at) => drawLine(sign, text, begins[at])),
    ),
  );
}

function drawLine(sign, text, begin) {
  if (sign === "⋯") return h("span", { class: "diff-gap" }, `⋯${text}\n`);
  const mark = WORDS[sign];
  const shown = `${begin ? "…" : ""}${text.slice(begin, begin + MOST_LETTERS)}`;
  return h(
    "span",
    { class: mark ? `diff-${mark}` : null },
    mark ? h("span", { class: "unseen" }, `${mark}: `) : null,
    h("span", { "aria-hidden": "true" }, `${sign} `),
    h("bdi", { dir: "auto" }, parts(shown), begin + MOST_LETTERS < text.length ? "…" : ""),
    "\n",
  );
}

// Where each line begins to be shown: a long one a little before it differs from the line that it came from.
function beginnings(way) {
  const begins = way.map(() => 0);
  for (let at = 0; at < way.length; at += 1) {
    if (way[at][0] !== "-") continue;
    const ends = (sign, from) => {
      let end = from;
      while (way[end]?.[0] === sign) end += 1;
      return end;
    };
    const middle = ends("-", at);
    for (let gone = at, added = middle; gone < middle && way[added]?.[0] === "+"; gone += 1, added += 1) {
      const [one, other] = [way[gone][1], way[added][1]];
      let same = 0;
      while (same < one.length && one[same] === other[same]) same += 1;
      begins[gone] = same > MOST_LETTERS / 2 ? same - 200 : 0;
      begins[added] = begins[gone];
    }
    at = middle - 1;
  }
  return begins;
}
