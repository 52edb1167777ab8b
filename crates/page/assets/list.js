// A long list of lines of one height, of which those are drawn that are in view. One stop for the Tab key; arrows move,
// Enter opens.

import { h, newId } from "./dom.js";

const HEIGHT = 36;
// So many lines are drawn above and below those in view; once the scrolling rests, where it went farther than the list
// is high.
const BESIDE = 12;
const REST = 80;

// A list of this name. `draw` gives the children of an item's line, and `open` is called with an item that is chosen.
export function longList(label, { draw, open }) {
  const id = newId("list");
  const space = h("div", { class: "list-space", role: "presentation" });
  const node = h("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": label, id }, space);
  const state = { items: [], chosen: -1, first: -1, last: -1, top: 0 };
  const line = (at) => {
    const item = state.items[at];
    const isChosen = at === state.chosen;
    const made = h(
      "div",
      {
        role: "option",
        id: `${id}-${at}`,
        class: "list-line",
        "aria-selected": String(isChosen),
        "aria-setsize": state.items.length,
        "aria-posinset": at + 1,
        onclick: () => choose(at, true),
      },
      draw(item),
    );
    made.style.top = `${at * HEIGHT}px`;
    return made;
  };
  const paint = (isForced) => {
    state.isToPaint = false;
    const [top, high] = [node.scrollTop, node.clientHeight || 400];
    const isFar = Math.abs(top - state.top) > high;
    state.top = top;
    clearTimeout(state.rests);
    if (isFar) state.rests = setTimeout(() => paint(false), REST);
    const beside = isFar ? 0 : BESIDE;
    const first = Math.max(0, Math.floor(top / HEIGHT) - beside);
    const last = Math.min(state.items.length, Math.ceil((top + high) / HEIGHT) + beside);
    if (!isForced && first === state.first && last === state.last) return;
    if (isForced) space.replaceChildren();
    const drawn = new Map([...space.children].map((child) => [Number(child.dataset.at), child]));
    drawn.forEach((child, at) => (at < first || at >= last) && child.remove());
    // What is in view already stays where it is.
    for (let at = last - 1, after = null; at >= first; at -= 1) {
      let made = drawn.get(at);
      if (!made) {
        made = line(at);
        made.dataset.at = at;
        space.insertBefore(made, after);
      }
      after = made;
    }
    Object.assign(state, { first, last });
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
    const page = Math.max(1, Math.floor(node.clientHeight / HEIGHT) - 1);
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
  new ResizeObserver(() => paint(false)).observe(node);
  // Drawn with the next frame, once all parts of the page stand: what is in view is then known without another layout.
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
