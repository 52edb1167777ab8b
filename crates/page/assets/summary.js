// A run at a glance: how it ended, who did what, what was sent back and why, what failed, and what cost most.

import { grantItem, grantLines, grantsByStep } from "./allowed.js";
import { bdi, block, h, scrollTable, tag } from "./dom.js";
import { tokens } from "./effect.js";
import { count, duration, many, money, time } from "./format.js";
import { forkedFrom, statusChip } from "./threads.js";

const MOST = 20;

// The glance of a turn. `openEffect` opens an effect by its place in the timeline, `openRecord` shows the run after so
// many records.
export function summaryView(openEffect, openRecord) {
  const node = h("div", { class: "stack" });
  const update = (view) => {
    node.replaceChildren(...[said(view), facts(view), told(view, openEffect, openRecord), table(view)].filter(Boolean));
  };
  return { node, update };
}

function said(view) {
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "said said-alone" }, h("span", { class: "unseen" }, "Question: "), block(view.question)),
    view.result
      ? h(
          "div",
          { class: `answer${view.status === "failed" ? " answer-bad" : ""}` },
          h("span", { class: "unseen" }, "Answer: "),
          tag(view.tainted, "rests on untrusted text"),
          block(view.result),
        )
      : null,
  );
}

function facts(view) {
  const { all } = view.summary;
  const figure = (name, value) => h("div", { class: "figure" }, h("dt", null, name), h("dd", null, value));
  const took = view.began ? (view.ended ?? view.records.at(-1)?.at ?? view.began) - view.began : null;
  return h(
    "dl",
    { class: "figures" },
    figure("Status", statusChip(view.status)),
    figure("Agent", bdi(view.agent, 60)),
    view.model ? figure("Model", bdi(view.model, 60)) : null,
    figure("Requests", count(all.calls)),
    took === null ? null : figure("Time", duration(took)),
    all.tokens.input_tokens + all.tokens.output_tokens > 0
      ? figure("Tokens", count(all.tokens.input_tokens + all.tokens.output_tokens))
      : null,
    all.cost ? figure("Cost", money(all.cost, view.currency)) : null,
    figure("Replans", count(view.counters.replans)),
    view.began ? figure("Begun", time(view.began)) : null,
    view.tainted ? figure("Has read", tag(true, "untrusted text")) : null,
  );
}

// The first few items, and how many there are besides.
function few(items, word, draw) {
  const rest = items.length - MOST;
  return [...items.slice(0, MOST).map(draw), rest > 0 ? h("li", { class: "quiet" }, `and ${many(rest, `more ${word}`)}`) : null];
}

// What is worth a sentence.
function told(view, openEffect, openRecord) {
  const { summary, timeline, origin, thread, turn, unknown, error, tainted, currency } = view;
  const link = (at) => {
    const words = [bdi(timeline[at].asked, 60), " ", h("code", null, timeline[at].effect)];
    return openEffect
      ? h("button", { type: "button", class: "link", onclick: () => openEffect(at) }, words)
      : h("span", null, words);
  };
  // What was refused is told as that.
  const grants = new Map(view.runs.map((part) => [part.path, grantsByStep(part)]));
  const isRefused = ({ path, draft, step }) => grants.get(path)?.get(`${draft}.${step}`)?.phase === "DENIED";
  const failed = summary.failed.filter((step) => !isRefused(step));
  const again = summary.by.filter((of) => of.again > 0);
  const lines = [
    origin
      ? h(
          "li",
          null,
          forkedFrom(origin),
          thread && document.body.dataset.view !== "file"
            ? [
                ". ",
                h(
                  "a",
                  { href: `#/compare/${[origin.thread, origin.turn, thread, turn].map(encodeURIComponent).join("/")}` },
                  "Compare with it",
                ),
              ]
            : "",
        )
      : null,
    error ? h("li", null, h("strong", null, "No answer: "), tag(tainted), bdi(error, 500)) : null,
    ...few(summary.sent_back, "rejected draft", ({ draft, reason, tainted: isUntrusted }) =>
      h("li", null, h("strong", null, `Draft ${draft} was sent back: `), tag(isUntrusted), bdi(reason, 400)),
    ),
    ...few(failed, "failed step", ({ id, draft, output, untrusted: isUntrusted }) =>
      h(
        "li",
        null,
        h("strong", null, "Step ", bdi(id, 60), ` of draft ${draft} failed: `),
        tag(isUntrusted || tainted),
        bdi(output, 400),
      ),
    ),
    ...unknown.map((write) =>
      h(
        "li",
        null,
        h("strong", null, "Nobody knows whether it happened: "),
        tag(true),
        bdi(`${write.tool} ${write.input ?? ""}`, 400),
      ),
    ),
    ...few(grantLines(view), "call", (line) => grantItem(line, openRecord)),
    summary.skipped ? h("li", null, `${many(summary.skipped, "step")} left out`) : null,
    again.length
      ? h(
          "li",
          null,
          "Asked again: ",
          again.map((of, at) => [at ? ", " : "", bdi(of.asked, 60), ` ${of.again}×`]),
        )
      : null,
    summary.costliest !== null && timeline[summary.costliest]
      ? h(
          "li",
          null,
          "Cost most: ",
          link(summary.costliest),
          ` (${timeline[summary.costliest].cost ? money(timeline[summary.costliest].cost, currency) : tokens(timeline[summary.costliest].tokens)})`,
        )
      : null,
    summary.slowest !== null && timeline[summary.slowest]
      ? h(
          "li",
          null,
          "Took longest: ",
          link(summary.slowest),
          ` (${duration(timeline[summary.slowest].ended - timeline[summary.slowest].began)})`,
        )
      : null,
  ].filter(Boolean);
  return lines.length ? h("ul", { class: "told" }, lines) : null;
}

// Who did what, in the order in which they were first asked.
function table({ summary, timeline, currency }) {
  const first = new Map([...timeline].reverse().map(({ asked }, at) => [asked, timeline.length - at]));
  const by = summary.by.toSorted((a, b) => first.get(a.asked) - first.get(b.asked));
  if (!by.length) return null;
  const names = ["Who", "Kind", "Asked", "Again", "Failed", "Time", "Tokens read", "Written", "Cost"];
  const number = (value) => h("td", { class: "number" }, value);
  const rows = by.map((of) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, bdi(of.asked, 60)),
      h("td", null, of.kind),
      number(count(of.calls)),
      number(of.again ? count(of.again) : ""),
      number(of.failed ? count(of.failed) : ""),
      number(of.ms ? duration(of.ms) : ""),
      number(of.tokens.input_tokens ? count(of.tokens.input_tokens) : ""),
      number(of.tokens.output_tokens ? count(of.tokens.output_tokens) : ""),
      number(of.cost ? money(of.cost, currency) : ""),
    ),
  );
  const heads = names.map((name, at) => h("th", { scope: "col", class: at > 1 ? "number" : null }, name));
  return scrollTable("Who did what", heads, h("tbody", null, rows));
}
