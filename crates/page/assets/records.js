// The trace as a table, and the journal's records by number: choosing one shows the run as it was there.

import { bdi, h, keep, marked, pretty, scrollTable, tag, untrusted, write } from "./dom.js";
import { needs } from "./api.js";
import { effectView } from "./effect.js";
import { time } from "./format.js";
import { longList } from "./list.js";
import { lazy } from "./plan.js";

// How many lines of the trace are drawn before more are asked for.
const FIRST = 200;

// The trace of one run of a turn.
export function traceTable(onRecord) {
  const body = h("tbody");
  const state = { most: FIRST, lines: [] };
  const more = h(
    "button",
    {
      type: "button",
      class: "link",
      onclick: () => {
        state.most += 1000;
        draw();
      },
    },
    "Show more lines",
  );
  const draw = () => {
    keep(
      body,
      state.lines.slice(0, state.most).map((line, at) => ({ ...line, at })),
      ({ at }) => at,
      (line) => row(line, onRecord),
    );
    more.hidden = state.lines.length <= state.most;
  };
  const update = (lines) => {
    state.lines = lines;
    draw();
  };
  const heads = ["#", "Phase", "Passed", "What it says", "Record"].map((name) => h("th", { scope: "col" }, name));
  return {
    node: scrollTable("Trace table", heads, body, more),
    update,
  };
}

function row({ at, record, line, tainted }, onRecord) {
  const { phase, ok, ...rest } = line;
  const fields = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
  const says = fields.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text.length <= 140
      ? h("div", null, h("span", { class: "quiet" }, `${name} `), bdi(text, 140))
      : lazy(h("span", null, h("span", { class: "quiet" }, `${name} `), bdi(text, 90)), () =>
          marked(tainted, pretty(value), h("span", null, "after untrusted text was read")),
        );
  });
  return h(
    "tr",
    null,
    h("td", null, String(at + 1)),
    h("td", null, h("code", null, phase)),
    h("td", null, ok === undefined ? "" : ok ? "yes" : h("span", { class: "chip tone-bad" }, "no")),
    h("td", null, tag(tainted, "after untrusted text"), says),
    h(
      "td",
      null,
      onRecord
        ? h("button", { type: "button", class: "link", onclick: () => onRecord(record + 1) }, `#${record}`)
        : `#${record}`,
    ),
  );
}

// The records by number. One that is chosen is shown with what it says, which `textOf` asks for, and the run as it was
// after it; in a file with the request that it is of.
export function recordList(onRecord, textOf) {
  const place = h("div");
  let view = null;
  const tell = async (record) => {
    if (!textOf) return place.replaceChildren(ofFile(view, record));
    const name = `record #${record.record}, ${record.kind} ${record.effect ?? ""}`;
    const text = await textOf(record.record).catch((error) => error.message);
    place.replaceChildren(
      text ? untrusted(text, h("span", null, name)) : h("p", { class: "quiet" }, `${name}: nothing more is on it`),
    );
  };
  const list = longList("Records", {
    line: () => {
      const cells = [["span", "line-number"], ["span"], ["code", "quiet"], ["span", "line-fact"]];
      const drawn = cells.map(([tag, name]) => h(tag, { class: name }));
      const fill = ({ record, kind, effect, at }) =>
        [`#${record}`, kind, effect ?? "", time(at)].forEach((text, nth) => write(drawn[nth], text));
      return { cells: drawn, fill };
    },
    open: (record) => {
      onRecord?.(record.record + 1);
      tell(record);
    },
  });
  list.node.classList.add("records");
  // Where an earlier state is shown, those that came after it can still be chosen.
  let known = [];
  const update = (shown) => {
    view = shown;
    if (view.records.length >= known.length || view.all_records < known.length) known = view.records;
    list.update(known);
    list.mark(view.shown_records - 1);
  };
  return { node: h("div", { class: "stack" }, list.node, place), update };
}

// What a record says in a file that holds no more than it shows.
function ofFile(view, { record, kind, effect }) {
  const at = view.timeline.findIndex((one) => one.requested === record || one.answered === record);
  const name = `record #${record}, ${kind} ${effect ?? ""}`;
  const what = record === 0 ? untrusted(view.question, "the question") : at < 0 ? null : effectView(view, at);
  return h("div", { class: "stack" }, h("p", { class: "quiet" }, what ? name : `${name}: nothing more is on it`), what);
}

// Goes through the records of a turn: the state at each, and a fork from there.
export function travel(onRecord, onFork) {
  const state = { all: 1, shown: 1 };
  const range = h("input", {
    type: "range",
    min: 1,
    "aria-label": "Record",
    onchange: () => onRecord(Number(range.value)),
  });
  const words = h("output", { class: "quiet" });
  const go = (name, to) =>
    h(
      "button",
      {
        type: "button",
        onclick: () => {
          // Pressed again before the state is there, it goes on from where it will be.
          state.shown = Math.min(state.all, Math.max(1, to()));
          onRecord(state.shown);
        },
      },
      name,
    );
  const [back, on] = [go("Back", () => state.shown - 1), go("On", () => state.shown + 1)];
  const now = go("Now", () => state.all);
  // Where the slider stands, in words.
  const say = () => {
    const isNow = Number(range.value) === state.all;
    words.textContent = isNow ? `all ${state.all} records` : `after ${range.value} of ${state.all} records`;
    range.setAttribute("aria-valuetext", words.textContent);
  };
  range.addEventListener("input", say);
  const name = h("input", { id: "fork-name", autocomplete: "off", dir: "auto", maxlength: 120, required: true });
  // The name follows the record until a person gives one.
  name.addEventListener("input", () => {
    state.isNamed = name.value !== "";
  });
  const refusal = h("p", { class: "refusal", role: "alert", id: "fork-refusal" });
  name.setAttribute("aria-describedby", "fork-refusal");
  const form = h(
    "form",
    {
      class: "row",
      onsubmit: async (event) => {
        event.preventDefault();
        refusal.textContent = "";
        try {
          await onFork(name.value.trim(), state.shown);
        } catch (error) {
          refusal.replaceChildren(h("strong", null, "Not forked: "), bdi(error.message, 500));
          name.setAttribute("aria-invalid", "true");
          name.focus();
        }
      },
    },
    h("label", { for: "fork-name" }, "Fork from here as"),
    h("span", { class: "field" }, name),
    h("button", null, "Fork"),
  );
  const update = (view) => {
    Object.assign(state, { all: view.all_records, shown: view.shown_records });
    range.max = String(state.all);
    range.value = String(state.shown);
    const isNow = state.shown === state.all;
    say();
    // What does nothing now keeps the focus.
    back.setAttribute("aria-disabled", String(state.shown <= 1));
    [on, now].forEach((button) => button.setAttribute("aria-disabled", String(isNow)));
    if (!state.isNamed && view.thread) name.value = `${view.thread.slice(0, 110)}-${state.shown}`;
  };
  const node = h(
    "div",
    { class: "travel stack" },
    h("div", { class: "row" }, back, h("span", { class: "fill" }, range), on, now, words),
    onFork ? needs("run", form) : null,
    refusal,
  );
  return { node, update };
}
