// What a run did to the world and by whose leave: each call that needed authority with what allowed it, and each that was
// refused.

import { bdi, h, tag } from "./dom.js";

// The lines of a run's trace that say so.
function linesOf(part) {
  return part.trace.filter(({ line }) => ["AUTHORITY", "DENIED"].includes(line.phase));
}

// The same by the steps that they are of, as `draft.step`: a step may have the name of one in an earlier draft.
export function grantsByStep(part) {
  const grants = new Map();
  for (const { record, line } of linesOf(part)) {
    const draft = part.drafts.findLast((one) => one.record <= record)?.draft ?? 1;
    const step = part.steps.findLast((one) => one.id === line.step && one.draft <= draft);
    if (step) grants.set(`${step.draft}.${step.step}`, line);
  }
  return grants;
}

// What allowed a call, or why it was refused, in words.
export function grantWords({ phase, by, code, message, parts = [] }) {
  const words =
    phase === "DENIED"
      ? [message ?? "", " ", h("code", null, code)]
      : by.plan
        ? [bdi(by.plan.step, 60), ` of draft ${by.plan.draft}, planned before anything untrusted was read`]
        : ["a person, asked at ", h("code", null, by.approval)];
  return h("span", null, words, parts.length ? h("ul", { class: "told" }, parts.map(partItem)) : null);
}

// An argument that is no literal: where it stands, who chose it, and where it comes from.
function partItem({ place, label, origin }) {
  const isUntrusted = !["literal", "system", "located"].includes(label);
  // A value that a model wrote where the plan left it open.
  const read = origin.startsWith("$fill ← ") ? origin.slice("$fill ← ".length) : null;
  const words = read === null ? ` ${label} from ` : " written by a model after reading ";
  return h("li", null, h("code", null, bdi(place || "/", 80)), words, bdi(read ?? origin, 240), " ", tag(isUntrusted));
}

// The same of all runs of a turn.
export function grantLines(view) {
  return view.runs.flatMap((part) => linesOf(part).map((one) => ({ ...one, path: part.path })));
}

// Such a line as one of a list.
export function grantItem({ record, line, path }, openRecord) {
  const isDenied = line.phase === "DENIED";
  const step = h("code", null, bdi(path ? `${path}/${line.step}` : line.step, 80));
  const words = `#${record}`;
  const link = openRecord
    ? h("button", { type: "button", class: "link", onclick: () => openRecord(record + 1) }, words)
    : words;
  const head = h("strong", null, isDenied ? "Refused: " : "Allowed: ");
  return h("li", null, head, bdi(line.tool, 60), " ", step, " ", link, isDenied ? ", " : " by ", grantWords(line));
}
