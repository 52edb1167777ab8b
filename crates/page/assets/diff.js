// What changed between two texts: lines that were added and lines that are gone.

import { h } from "./dom.js";

// Where two texts have more lines than this that differ, the rest is told as replaced.
const MOST_EDITS = 800;
const AROUND = 2;

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
export function diffBlock(before, after) {
  const way = compareLists(before.split("\n"), after.split("\n"));
  const isNear = way.map(() => false);
  way.forEach(([sign], at) => {
    if (sign === " ") return;
    for (let near = Math.max(0, at - AROUND); near <= Math.min(way.length - 1, at + AROUND); near += 1)
      isNear[near] = true;
  });
  const { added, gone } = countEdits(way);
  if (!added && !gone) return h("p", { class: "quiet" }, "Nothing changed.");
  const lines = [];
  for (let at = 0; at < way.length && lines.length < 2000; at += 1) {
    const [sign, text] = way[at];
    if (!isNear[at]) {
      if (at === 0 || isNear[at - 1]) lines.push(h("span", { class: "diff-gap" }, "⋯\n"));
      continue;
    }
    const mark = WORDS[sign];
    const shown = text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
    lines.push(
      h(
        "span",
        { class: mark ? `diff-${mark}` : null },
        mark ? h("span", { class: "unseen" }, `${mark}: `) : null,
        h("span", { "aria-hidden": "true" }, `${sign} `),
        h("bdi", { dir: "auto" }, shown),
        "\n",
      ),
    );
  }
  return h(
    "div",
    null,
    h("p", { class: "quiet" }, `${added} added, ${gone} gone`),
    h("pre", { class: "block diff", tabindex: 0, role: "group", "aria-label": "Difference" }, lines),
  );
}
