// The phase graph of an agent, drawn from the edges that its machine has: the phase that a run is in is lit, and each
// edge that it took carries the numbers of its steps.

import { h, newId, s } from "./dom.js";

const ORDER = ["PLAN", "EXECUTE", "VALIDATE", "WRITE", "DONE"];
const [WIDTH, HEIGHT, GAP, LEFT] = [108, 44, 92, 24];
// How far the error is below the row of phases.
const BELOW = 132;

// The graph of a run.
export function phaseGraph(edges, taken, phase) {
  // Some agents judge what they have written.
  const writesFirst = edges.some(({ from, to }) => from === "WRITE" && to === "VALIDATE");
  const order = writesFirst ? ["PLAN", "EXECUTE", "WRITE", "VALIDATE", "DONE"] : ORDER;
  const phases = order.filter((name) => edges.some((edge) => edge.from === name || edge.to === name));
  // What jumps over phases or goes round needs room above them.
  const jumps = edges
    .map(({ from, to }) => phases.indexOf(to) - phases.indexOf(from))
    .filter((steps) => steps > 1 && steps < phases.length);
  const loops = edges.some(({ from, to }) => from === to);
  const top = Math.max(loops ? 62 : 24, jumps.length ? 44 + 18 * Math.max(...jumps) : 0);
  const places = new Map(phases.map((name, at) => [name, { x: LEFT + at * (WIDTH + GAP), y: top }]));
  const hasError = edges.some((edge) => edge.to === "ERROR");
  const width = LEFT * 2 + phases.length * WIDTH + (phases.length - 1) * GAP;
  if (hasError) places.set("ERROR", { x: width / 2 - WIDTH / 2, y: top + BELOW });
  const head = newId("head");
  const drawn = joined(edges, taken).map((edge) => drawEdge(edge, places, head));
  const nodes = [...places].map(([name, place]) => drawPhase(name, place, name === phase));
  const height = top + (hasError ? BELOW : 60) + HEIGHT + 12;
  const label = `Phases of the agent. The run is in ${phase}, after ${taken.length} moves.`;
  const picture = s(
    "svg",
    { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, width, height },
    s(
      "defs",
      null,
      ["plain", "taken"].map((kind) =>
        s(
          "marker",
          {
            id: `${head}-${kind}`,
            viewBox: "0 0 8 8",
            refX: 7,
            refY: 4,
            markerWidth: 7,
            markerHeight: 7,
            orient: "auto-start-reverse",
            class: `head-${kind}`,
          },
          s("path", { d: "M0 0 8 4 0 8z" }),
        ),
      ),
    ),
    drawn.map(([line]) => line),
    nodes,
    drawn.map(([, words]) => words),
  );
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Phase graph" }, picture);
}

// The edges between the same two phases as one, with what each is taken by.
function joined(edges, taken) {
  const numbers = new Map();
  taken.forEach(({ from, exit, to }, at) => {
    const key = `${from} ${exit} ${to}`;
    numbers.set(key, [...(numbers.get(key) ?? []), at + 1]);
  });
  const pairs = new Map();
  for (const { from, exit, to } of edges) {
    const pair = pairs.get(`${from} ${to}`) ?? { from, to, exits: [] };
    pair.exits.push({ exit, numbers: numbers.get(`${from} ${exit} ${to}`) ?? [] });
    pairs.set(`${from} ${to}`, pair);
  }
  return [...pairs.values()];
}

function drawPhase(name, { x, y }, isLit) {
  const kind = name === "ERROR" ? " phase-error" : "";
  return s(
    "g",
    { class: `phase${kind}${isLit ? " phase-lit" : ""}`, "data-phase": name },
    s("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 12 }),
    s("text", { x: x + WIDTH / 2, y: y + HEIGHT / 2 + 5, "text-anchor": "middle" }, name),
  );
}

function drawEdge({ from, to, exits }, places, head) {
  const isTaken = exits.some(({ numbers }) => numbers.length > 0);
  const { path, x, y, isShort } = way(from, to, places);
  const line = s("path", {
    class: `edge${isTaken ? " edge-taken" : ""}`,
    d: path,
    "marker-end": `url(#${head}-${isTaken ? "taken" : "plain"})`,
    "data-edge": `${from} ${to}`,
  });
  const words = s(
    "text",
    { class: `edge-words${isTaken ? " edge-words-taken" : ""}`, x, y, "text-anchor": "middle" },
    isShort
      ? onLine(exits, x)
      : exits.map(({ exit, numbers }, at) =>
          s("tspan", { x, dy: at === 0 ? 0 : 14 }, `${exit}${numbers.length ? ` ${short(numbers)}` : ""}`),
        ),
  );
  return [line, words];
}

// The words of a short edge: what it is taken by above the line, when below it.
function onLine(exits, x) {
  const numbers = exits.flatMap((one) => one.numbers).sort((a, b) => a - b);
  return [
    s("tspan", { x }, exits.map(({ exit }) => exit).join(", ")),
    numbers.length ? s("tspan", { x, dy: 28 }, short(numbers)) : null,
  ];
}

// The numbers of an edge: `①` reads badly at 40, so they are plain.
function short(numbers) {
  if (numbers.length <= 3) return `#${numbers.join(" #")}`;
  return `#${numbers[0]} … #${numbers.at(-1)} (${numbers.length}×)`;
}

// The line of an edge, and where its words stand.
function way(from, to, places) {
  const [a, b] = [places.get(from), places.get(to)];
  const [ax, bx] = [a.x + WIDTH / 2, b.x + WIDTH / 2];
  if (from === to) {
    const top = a.y;
    return {
      path: `M${ax - 18} ${top} C${ax - 34} ${top - 40} ${ax + 34} ${top - 40} ${ax + 18} ${top}`,
      x: ax,
      y: top - 38,
    };
  }
  if (to === "ERROR") {
    const middle = (a.y + HEIGHT + b.y) / 2 + 8;
    const end = bx + Math.max(-40, Math.min(40, (ax - bx) / 6));
    return {
      path: `M${ax} ${a.y + HEIGHT} C${ax} ${middle + 20} ${end} ${middle - 30} ${end} ${b.y}`,
      x: ax + (ax < bx ? -30 : 34),
      y: a.y + HEIGHT + 20,
    };
  }
  const steps = (bx - ax) / (WIDTH + GAP);
  if (steps === 1)
    return { path: `M${a.x + WIDTH} ${a.y + 22} H${b.x - 2}`, x: (a.x + WIDTH + b.x) / 2, y: a.y + 13, isShort: true };
  const rise = 30 + 22 * Math.abs(steps);
  if (steps > 1) {
    return {
      path: `M${ax + 30} ${a.y} C${ax + 50} ${a.y - rise} ${bx - 50} ${b.y - rise} ${bx - 30} ${b.y}`,
      x: (ax + bx) / 2,
      y: a.y - rise * 0.75 - 8,
    };
  }
  const low = a.y + HEIGHT;
  const fall = 26 + 18 * Math.abs(steps);
  return {
    path: `M${ax - 30} ${low} C${ax - 50} ${low + fall} ${bx + 50} ${low + fall} ${bx + 30} ${low}`,
    x: (ax + bx) / 2,
    y: low + fall * 0.75 + 12,
  };
}
