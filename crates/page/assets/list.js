// A long list of lines of one height, of which those are drawn that are in view: what goes out of it at one end comes in
// at the other, filled anew. One stop for the Tab key; arrows move, Enter opens.

import { h, newId } from "./dom.js";

const HEIGHT = 36;
// So many lines are drawn above and below those in view; once the scrolling rests, where it went farther than the list
// is high.
const BESIDE = 12;
const REST = 80;

// A list of this name. `line` makes the cells of a line and what fills them with an item, and `open` is called with an
// item that is chosen.
export function longList(label, { line, open }) {
  const id = newId("list");
  const space = h("div", { class: "list-space", role: "presentation" });
  const node = h("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": label, id }, space);
  const state = { items: [], chosen: -1, first: 0, top: 0, high: 400, lines: [] };
  const makeLine = () => {
    const { cells, fill } = line();
    const made = { at: -1, fill, node: h("div", { role: "option", class: "list-line" }, cells) };
    made.node.addEventListener("click", () => choose(made.at, true));
    space.append(made.node);
    return made;
  };
  const fillLine = (made, at) => {
    made.at = at;
    made.node.id = `${id}-${at}`;
    made.node.style.top = `${at * HEIGHT}px`;
    const [size, place] = [state.items.length, at + 1];
    const says = { "aria-selected": at === state.chosen, "aria-setsize": size, "aria-posinset": place };
    Object.entries(says).forEach(([name, value]) => made.node.setAttribute(name, value));
    made.fill(state.items[at]);
  };
  // Has the lines that go out of view stand where others come into it, so that those that stay are not touched.
  const turn = (by) => {
    const { lines } = state;
    if (Math.abs(by) >= lines.length) return;
    for (let left = by; left > 0; left -= 1) space.append(lines[lines.push(lines.shift()) - 1].node);
    for (let left = by; left < 0; left += 1) {
      lines.unshift(lines.pop());
      space.prepend(lines[0].node);
    }
  };
  const paint = (isForced) => {
    state.isToPaint = false;
    const { top, high, lines } = Object.assign(state, { before: state.top, top: node.scrollTop });
    const isFar = Math.abs(top - state.before) > high;
    clearTimeout(state.rests);
    if (isFar) state.rests = setTimeout(() => paint(false), REST);
    const beside = isFar ? 0 : BESIDE;
    const first = Math.max(0, Math.floor(top / HEIGHT) - beside);
    const last = Math.min(state.items.length, Math.ceil((top + high) / HEIGHT) + beside);
    turn(first - state.first);
    while (lines.length < last - first) lines.push(makeLine());
    while (lines.length > Math.max(0, last - first)) lines.pop().node.remove();
    lines.forEach((made, nth) => (isForced || made.at !== first + nth) && fillLine(made, first + nth));
    state.first = first;
    if (state.chosen >= first && state.chosen < last)
      node.setAttribute("aria-activedescendant", `${id}-${state.chosen}`);
    else node.removeAttribute("aria-activedescendant");
  };
  const choose = (at, opens) => {
    if (at < 0 || at >= state.items.length) return;
    state.chosen = at;
    const top = at * HEIGHT;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + HEIGHT > node.scrollTop + node.clientHeight) node.scrollTop = top + HEIGHT - node.clientHeight;
    paint(true);
    if (opens) open(state.items[at], at);
  };
  node.addEventListener("scroll", () => paint(false), { passive: true });
  node.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(state.high / HEIGHT) - 1);
    const last = state.items.length - 1;
    const to = {
      ArrowDown: state.chosen + 1,
      ArrowUp: Math.max(0, state.chosen - 1),
      Home: 0,
      End: last,
      PageDown: Math.min(last, state.chosen + page),
      PageUp: Math.max(0, state.chosen - page),
      Enter: state.chosen,
      " ": state.chosen,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to, event.key === "Enter" || event.key === " ");
  });
  // How high the list is is told here, and asked for nowhere else: a scroll measures nothing.
  new ResizeObserver(([{ contentRect }]) => {
    state.high = contentRect.height;
    paint(false);
  }).observe(node);
  // Drawn with the next frame, once all parts of the page stand.
  const paintSoon = () => {
    if (!state.isToPaint) requestAnimationFrame(() => paint(true));
    state.isToPaint = true;
  };
  const update = (items) => {
    state.items = items;
    state.chosen = Math.min(state.chosen, items.length - 1);
    space.style.height = `${items.length * HEIGHT}px`;
    node.style.height = `${Math.min(Math.max(items.length, 1) * HEIGHT + 2, 432)}px`;
    paintSoon();
  };
  // Marks a line without opening it.
  const mark = (at) => {
    state.chosen = at;
    paintSoon();
  };
  return { node, update, choose, mark };
}
