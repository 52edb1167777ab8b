// Elements. Text from a run goes into text nodes here and nowhere else, so that none of it can be markup.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// An element with attributes (`onclick` is a listener) and children; strings become text.
export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

// The same in SVG.
export function s(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

// Characters that reorder or hide text, and controls: they are shown by their number. A joiner is one of them where it
// joins nothing: in an emoji, behind a letter of Arabic and beside a mark of an Indic word it is part of the writing.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]|(?<!^|[\p{M}\p{Emoji_Modifier}\p{Extended_Pictographic}\p{Script=Arabic}])[\u200c\u200d](?!\p{M})/u;

// A text of somebody else as children of an element.
export function parts(text) {
  if (!HIDDEN.test(text)) return [text];
  const pieces = text.split(new RegExp(`(${HIDDEN.source})`, "u"));
  if (pieces.length > 2000) return [text.replace(new RegExp(HIDDEN.source, "gu"), "\ufffd")];
  return pieces.map((piece, at) => {
    if (at % 2 === 0) return piece;
    const number = piece.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return h("span", { class: "control", dir: "ltr" }, `U+${number}`);
  });
}

// JSON with the same characters by their numbers, which a field shows and JSON takes.
export function escaped(json) {
  const number = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(new RegExp(HIDDEN.source, "gu"), (hidden) => hidden.split("").map(number).join(""));
}

// A short text of somebody else, such as a name: on one line, isolated, in its own direction.
export function bdi(text, most = 200) {
  return h("bdi", { dir: "auto" }, shortParts(text, most));
}

// The same as children of an element.
export function shortParts(text, most = 200) {
  const whole = String(text ?? "");
  const shown = whole.length > most ? `${whole.slice(0, most)}…` : whole;
  return parts(shown.replace(/\s+/g, " "));
}

// Writes children into an element in place of what is there. One text takes the place of another without a new node.
export function write(element, ...children) {
  const [child, ...further] = children;
  const { firstChild: there } = element;
  const isText = typeof child === "string" && !further.length && there?.nodeType === Node.TEXT_NODE && !there.nextSibling;
  if (!isText) element.replaceChildren(...children);
  else if (there.data !== child) there.data = child;
}

// How much of a long text is shown before it is asked for.
const FIRST = 4000;

// A text of somebody else, whole, with its line breaks. A long one shows its beginning first, unless `most` says that
// more is shown.
export function block(text, className = "", most = FIRST) {
  const whole = typeof text === "string" ? text : pretty(text);
  // What may scroll can be reached by the keyboard.
  const isLong = whole.length > 600 || whole.split("\n", 16).length > 15;
  const body = h("pre", {
    class: `block ${className}`.trim(),
    dir: "auto",
    ...(isLong ? { tabindex: 0, role: "group", "aria-label": "Long text" } : {}),
  });
  body.append(...parts(whole.slice(0, most)));
  if (whole.length <= most) return body;
  const more = h(
    "button",
    {
      type: "button",
      class: "link",
      onclick: () => {
        body.replaceChildren(...parts(whole));
        more.remove();
        body.focus();
      },
    },
    `Show all ${whole.length.toLocaleString("en")} characters`,
  );
  body.append("…");
  return h("div", null, body, more);
}

// The same, marked as what no person and no rule of this program has vouched for.
export function untrusted(text, from, most = FIRST) {
  return h(
    "figure",
    { class: "untrusted" },
    h("figcaption", null, h("span", { class: "tag" }, "untrusted"), " ", from),
    block(text, "", most),
  );
}

// The sign of what is untrusted, where it stands within a line; nothing where it is not.
export function tag(isUntrusted, word = "untrusted") {
  return isUntrusted ? [h("span", { class: "tag" }, word), " "] : null;
}

// A text whole, marked where it is untrusted.
export function marked(isUntrusted, text, from) {
  return isUntrusted ? untrusted(text, from) : block(text);
}

// A table of this name that scrolls by itself, with what stands behind it.
export function scrollTable(name, heads, body, ...behind) {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": name },
    h("table", null, h("thead", null, h("tr", null, heads)), body),
    ...behind,
  );
}

// JSON for people.
export function pretty(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

let unique = 0;

// An id that no other element has.
export function newId(name) {
  unique += 1;
  return `${name}-${unique}`;
}

// Keeps the children of an element in step with a list: what stayed the same stays the same element, with its focus,
// its text and what is open in it. `make` builds the element of an item anew where the item is not as it was: `print` is
// the item that an element was made of, as JSON.
export function keep(parent, items, key, make) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let before = null;
  for (const item of items) {
    const name = String(key(item));
    const print = JSON.stringify(item);
    let child = known.get(name);
    if (child?.print !== print) {
      const made = make(item, child);
      const hadFocus = child?.contains(document.activeElement);
      if (child && child !== made) child.replaceWith(made);
      if (hadFocus && !made.contains(document.activeElement)) made.querySelector("a, summary, button")?.focus();
      child = made;
      keepAs(child, name, item);
    }
    known.delete(name);
    const place = before ? before.nextSibling : parent.firstChild;
    if (place !== child) parent.insertBefore(child, place);
    before = child;
  }
  known.forEach((child) => child.remove());
}

// Notes of which item an element was made, for who keeps it later.
export function keepAs(element, key, item) {
  element.dataset.key = key;
  element.print = JSON.stringify(item);
}

const live = h("div", { role: "status", "aria-live": "polite", class: "unseen", id: "announcements" });

// The element that a screen reader listens to.
export function liveRegion() {
  return live;
}

// Tells a screen reader something, once.
export function announce(text) {
  if (live.textContent !== text) live.textContent = text;
}

let scrolled = -Infinity;
document.addEventListener("scroll", () => (scrolled = performance.now()), { capture: true, passive: true });

// Waits until nobody scrolls, for a few seconds at most: what is read anew then disturbs no scroll.
export async function scrollRests() {
  const began = performance.now();
  while (performance.now() < Math.min(scrolled + 250, began + 5000)) await new Promise((on) => setTimeout(on, 100));
}

// A button for what cannot be taken back. The second press counts, once there was time to read the question.
export function sureButton(name, question, kind, work) {
  const button = h("button", { type: "button", class: kind }, name);
  const state = { timer: null, isWorking: false };
  const reset = () => {
    if (state.isWorking) return;
    clearTimeout(state.timer);
    delete button.dataset.sure;
    button.removeAttribute("aria-disabled");
    button.textContent = name;
  };
  button.addEventListener("blur", reset);
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    if (!button.dataset.sure) {
      button.dataset.sure = "yes";
      button.textContent = question;
      announce(`${question} Press again.`);
      state.timer = setTimeout(() => button.removeAttribute("aria-disabled"), 700);
      return;
    }
    state.isWorking = true;
    await work();
    state.isWorking = false;
    reset();
  });
  return button;
}

// Writes into `place` that there is no such thread; that it is gone, where it was seen before.
export function tellMissing(place, wasThere) {
  if (place.firstChild) return;
  const words = wasThere ? "This thread was deleted. " : "There is no thread of this name. ";
  const link = h("a", { href: "#/" }, "Go to the threads");
  place.append(h("p", { class: "card" }, h("strong", null, words), wasThere ? "" : "It may have been deleted. ", link));
}

// Draws, and leaves the focus on what is there: the first of `places` that can be seen, where what had it is gone.
export function keepFocus(draw, places) {
  const before = document.activeElement;
  draw();
  if (before === document.body || (before.isConnected && before.checkVisibility())) return;
  places()
    .find((place) => place?.checkVisibility())
    ?.focus({ preventScroll: true });
}

// Puts something in the place of a view, and its heading in the focus.
export function show(parent, ...children) {
  parent.replaceChildren(...children);
  const heading = parent.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}
