// The plan: its steps with what came of them, and the drafts before it with why they were sent back.

import { grantWords, grantsByStep } from "./allowed.js";
import { compareLists, countEdits, diffBlock } from "./diff.js";
import { bdi, h, keep, keepAs, marked, pretty, tag } from "./dom.js";
import { many } from "./format.js";
import { statusChip } from "./threads.js";

// A plan of more steps than this scrolls in a window of its own; so many are drawn at first, and more with each frame in
// which the end comes near.
const [MANY, AT_ONCE, MORE] = [30, 60, 20];
// How many of the earlier drafts are drawn before more are asked for.
const DRAFTS = 20;

// The plan of one run of a turn. `links` opens an effect of the timeline (`effect`), and draws a nested run (`nested`).
export function planView(links) {
  const current = h("div", { class: "stack" });
  const earlier = h("div", { class: "stack" });
  const beside = h("div", { class: "stack" }, h("h3", null, "Earlier drafts"), earlier);
  const none = h("p", { class: "quiet" }, "There is no plan yet.");
  const node = h("div", { class: "plan" }, h("div", { class: "stack" }, none, current), beside);
  const state = { most: DRAFTS };
  const more = h(
    "button",
    {
      type: "button",
      class: "link",
      onclick: () => {
        state.most += 5 * DRAFTS;
        update(state.part);
      },
    },
    "Show more drafts",
  );
  beside.append(more);
  const update = (part) => {
    state.part = part;
    const drafts = draftsOf(part);
    const now = drafts.filter((draft) => draft.current);
    const before = drafts.filter((draft) => !draft.current);
    more.hidden = before.length <= state.most;
    keep(
      current,
      together(now),
      () => "current",
      (draft, old) => draftCard(draft, old, links, true),
    );
    keep(
      earlier,
      before.toReversed().slice(0, state.most),
      (draft) => draft.draft,
      (draft, old) => draftCard(draft, old, links, false),
    );
    none.hidden = now.length > 0;
    beside.hidden = before.length === 0;
    node.classList.toggle("plan-alone", before.length === 0);
  };
  return { node, update };
}

// The drafts with their steps, the last one being the plan that the run is at.
function draftsOf(part) {
  const drafts = new Map(part.drafts.map((draft) => [draft.draft, { ...draft, steps: [] }]));
  const grants = grantsByStep(part);
  for (const step of part.steps) {
    if (!drafts.has(step.draft)) drafts.set(step.draft, { draft: step.draft, planned: [], steps: [] });
    const grant = grants.get(stepKey(step));
    drafts.get(step.draft).steps.push(grant ? { ...step, grant } : step);
  }
  const all = [...drafts.values()].sort((a, b) => a.draft - b.draft);
  return all.map((draft, at) => ({
    ...draft,
    current: draft.steps.some((step) => step.current) || at === all.length - 1,
    next: all[at + 1] ? { planned: all[at + 1].planned, tainted: all[at + 1].tainted } : null,
  }));
}

// The drafts of the plan that a run is at: one, or one for each round where a round plans the next steps only.
function together(drafts) {
  if (drafts.length < 2) return drafts;
  const last = drafts.at(-1);
  return [{ ...last, first: drafts[0].draft, steps: drafts.flatMap((draft) => draft.steps), edited: null }];
}

function draftCard(draft, old, links, isOpen) {
  const { draft: number, first, replanned, sent_back: back, edited, planned, next, steps, tainted } = draft;
  const name = first ? `Drafts ${first} to ${number}` : `Draft ${number}`;
  const list = old?.list ?? h("ol", { class: "steps", "aria-label": `Steps of ${name.toLowerCase()}` });
  list.classList.toggle("steps-many", steps.length > MANY);
  if (steps.length > MANY) list.tabIndex = 0;
  list.most = Math.max(list.most ?? 0, AT_ONCE);
  keep(list, steps.slice(0, list.most), stepKey, (step, before) => stepItem(step, before, links));
  list.onscroll = () => {
    if (list.most >= steps.length || list.scrollTop + 2 * list.clientHeight < list.scrollHeight) return;
    const more = steps.slice(list.most, list.most + MORE).map((step) => [step, stepItem(step, null, links)]);
    list.most += MORE;
    more.forEach(([step, item]) => keepAs(item, stepKey(step), step));
    list.append(...more.map(([, item]) => item));
  };
  const done = steps.filter((step) => step.status === "completed").length;
  const title = h("h3", null, name);
  const facts = h(
    "span",
    { class: "quiet" },
    tag(tainted, "planned after untrusted text"),
    `${many(steps.length || planned.length, "step")}, ${done} done${replanned ? ", by the replanner" : ""}`,
  );
  const body = [
    back
      ? h(
          "div",
          { class: "back" },
          h("p", null, h("strong", null, "Sent back: "), tag(back.tainted), bdi(back.reason, 1000)),
          back.fix_hint ? h("p", null, h("strong", null, "Hint: "), tag(back.tainted), bdi(back.fix_hint, 1000)) : null,
        )
      : null,
    edited ? changed("What the person changed", planned, edited, tainted) : null,
    steps.length
      ? list
      : h(
          "ol",
          { class: "steps" },
          planned.map((step, at) =>
            stepItem(
              {
                step: at + 1,
                id: step.id ?? `step_${at + 1}`,
                planned: step,
                status: "pending",
                plan_untrusted: tainted,
                sources: [],
                effects: [],
                runs: [],
                tries: 0,
              },
              null,
              links,
            ),
          ),
        ),
    back && next ? changed(`What draft ${number + 1} changed`, edited ?? planned, next.planned, next.tainted) : null,
  ];
  const card = isOpen
    ? h(
        "div",
        { class: "card stack", role: "group", "aria-label": name },
        h("div", { class: "row" }, title, facts),
        body,
      )
    : h(
        "details",
        { class: "card stack", open: old?.open ?? false },
        h(
          "summary",
          null,
          title,
          " ",
          facts,
          back ? h("p", { class: "why" }, "Sent back: ", tag(back.tainted), bdi(back.reason, 160)) : null,
        ),
        h("div", { class: "stack" }, body),
      );
  card.list = list;
  return card;
}

function stepKey(step) {
  return `${step.draft}.${step.step}`;
}

function changed(title, before, after, isUntrusted) {
  const lines = (steps) => steps.map((step) => pretty(step)).join("\n");
  const { added, gone } = countEdits(compareLists(lines(before).split("\n"), lines(after).split("\n")));
  return lazy(h("span", null, title, " ", h("span", { class: "quiet" }, `${added} lines added, ${gone} gone`)), () =>
    diffBlock(lines(before), lines(after), isUntrusted),
  );
}

// A part that is made when it is opened first.
export function lazy(summary, make, isOpen = false) {
  const details = h("details", { class: "lazy" }, h("summary", null, summary));
  const fill = () => {
    if (details.open && !details.made) {
      details.made = true;
      details.append(make());
    }
  };
  details.addEventListener("toggle", fill);
  if (isOpen) {
    details.open = true;
    fill();
  }
  return details;
}

function stepItem(step, old, links) {
  const { step: number, id, planned, status, output, tries } = step;
  const doer = planned.agent ?? planned.tool;
  const told = planned.hitl_question ?? planned.task ?? planned.description ?? oneLine(planned.input);
  const summary = h(
    "span",
    { class: "step-line" },
    h("span", { class: "step-number" }, String(number)),
    h("span", { class: "step-words" }, h("strong", null, bdi(doer, 60)), " ", bdi(told, 160)),
    h(
      "span",
      { class: "row" },
      tries > 1 ? h("span", { class: "chip tone-wait" }, `${tries} tries`) : null,
      tag(step.gave_untrusted || step.plan_untrusted),
      statusChip(status),
    ),
  );
  const item = h("li", { class: `step step-${status}`, "data-step": id });
  item.append(lazy(summary, () => stepBody(step, output, doer, links), old?.firstElementChild?.open));
  return item;
}

function oneLine(input) {
  return input === undefined || input === null ? "" : typeof input === "string" ? input : JSON.stringify(input);
}

function stepBody(step, output, doer, links) {
  const {
    id,
    planned,
    sources,
    tries,
    same_as: same,
    effects,
    runs,
    read_untrusted: read,
    gave_untrusted: isUntrusted,
    plan_untrusted: isPlanned,
  } = step;
  const words = (text) => marked(isPlanned, pretty(text), "planned after untrusted text was read");
  const list = (names) => names.map((name, at) => [at ? ", " : "", bdi(name, 80)]);
  const from = [planned.input_from ?? []].flat();
  const facts = [
    ["Name", bdi(id, 120)],
    planned.description ? ["Description", words(planned.description)] : null,
    planned.task ? ["Task", words(planned.task)] : null,
    planned.input !== undefined && planned.input !== "" ? ["Input", words(planned.input)] : null,
    from.length ? ["Input from", list(from)] : null,
    planned.depends_on?.length ? ["After", list(planned.depends_on)] : null,
    planned.hitl_question ? ["Asks a person", words(planned.hitl_question)] : null,
    tries > 0 ? ["Tries", String(tries)] : null,
    step.grant ? [step.grant.phase === "DENIED" ? "Refused" : "Allowed by", grantWords(step.grant)] : null,
    read ? ["Was given", tag(read, "untrusted text")] : null,
    same ? ["Left out", h("span", null, "repeats ", bdi(same, 80))] : null,
    output !== null && output !== undefined
      ? [
          step.status === "failed" ? "Failure" : "Result",
          marked(isUntrusted, output, h("span", null, "from ", bdi(doer, 60))),
        ]
      : null,
    sources.length
      ? ["Sources", [tag(isUntrusted), h("ul", { class: "sources" }, sources.map(sourceItem))]]
      : null,
    effects.length && links.effect
      ? [
          "Asked",
          h(
            "span",
            { class: "row" },
            effects.map((at) =>
              h("button", { type: "button", class: "link", onclick: () => links.effect(at) }, links.effectName(at)),
            ),
          ),
        ]
      : null,
  ].filter(Boolean);
  return h(
    "div",
    { class: "step-body stack" },
    h(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
    ),
    runs.map((path) => links.nested(path)),
  );
}

// A source as it is named: an address of somebody else is text here and no link.
function sourceItem(source) {
  const words =
    typeof source === "string"
      ? source
      : [source.title, source.url ?? source.path ?? source.locator].filter(Boolean).join(" – ") || pretty(source);
  return h("li", null, bdi(words, 400));
}
