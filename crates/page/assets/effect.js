// One request as the world saw it, and the answer as it came; what is different from the request before to the same
// role.

import { diffBlock } from "./diff.js";
import { bdi, block, h, marked, newId, pretty, untrusted } from "./dom.js";
import { count, duration, many, money, time } from "./format.js";
import { lazy } from "./plan.js";

// The payload and the messages of a request to a model, whole: it is kept behind what it shares with one before.
function wholeRequest(view, at) {
  const chain = [];
  for (let here = at; ;) {
    const { request } = view.timeline[here];
    chain.push(request);
    if (!request.after) break;
    here = request.after.of;
  }
  let whole = { payload: "", messages: [] };
  for (const { after, payload, messages } of chain.reverse()) {
    whole = {
      payload: whole.payload.slice(0, after?.payload ?? 0) + payload,
      messages: [...whole.messages.slice(0, after?.messages ?? 0), ...messages],
    };
  }
  return whole;
}

// The request before this one to the same role of the same run.
function before(view, at) {
  const { path, asked } = view.timeline[at];
  for (let earlier = at - 1; earlier >= 0; earlier -= 1) {
    const effect = view.timeline[earlier];
    if (effect.kind === "model" && effect.asked === asked && effect.path === path) return earlier;
  }
  return null;
}

// JSON on lines of its own, with the text in its strings on lines as well, so that it can be read and compared. What a
// string says stays escaped, so that it can pass for no field.
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replaceAll("\\n", "\\n\n    ");
  } catch {
    return text;
  }
}

function requestText({ payload, messages }) {
  return [readable(payload), ...messages.map((message) => readable(JSON.stringify(message)))].join("\n");
}

// An effect whole, under its name.
export function effectView(view, at, onRecord) {
  const effect = view.timeline[at];
  const title = h(
    "h3",
    { id: newId("effect"), tabindex: -1 },
    bdi(effect.asked, 80),
    " ",
    h("code", null, effect.effect),
  );
  const records = [effect.requested, effect.answered].filter((record) => record !== null);
  const facts = [
    effect.began ? time(effect.began) : "",
    effect.ended && effect.began ? duration(effect.ended - effect.began) : "",
    effect.attempt > 1 ? `try ${effect.attempt}` : "",
    effect.model ?? "",
    effect.cached ? "from the cache" : "",
    effect.tokens ? tokens(effect.tokens) : "",
    effect.cost ? `cost ${money(effect.cost, view.currency)}` : "",
    effect.critical ? "on the critical path" : "",
    effect.writes ? "changes something in the world" : "",
    effect.tainted ? "the run had read untrusted text" : "",
    effect.redrawn ? "not as it was sent: as the present spec asks it" : "",
  ].filter(Boolean);
  return h(
    "section",
    { class: "card stack", "aria-labelledby": title.id },
    title,
    h("p", { class: "quiet" }, facts.join(" · ")),
    onRecord
      ? h(
          "p",
          { class: "row quiet" },
          "Records ",
          records.map((record) =>
            h("button", { type: "button", class: "link", onclick: () => onRecord(record + 1) }, `#${record}`),
          ),
        )
      : null,
    request(view, at, effect),
    h("h4", null, effect.failure ? "Failure" : "Reply"),
    reply(effect),
  );
}

// What was read and written.
export function tokens(usage) {
  const cached = usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : "";
  const estimated = usage.estimated_tokens ? ", in part estimated" : "";
  return `${count(usage.input_tokens)} tokens read${cached}, ${count(usage.output_tokens)} written${estimated}`;
}

function request(view, at, effect) {
  const { request: asked } = effect;
  if (asked.kind === "wait") return h("p", null, `Waits ${duration(asked.delay_ms)}.`);
  if (asked.kind === "person")
    return h("div", { class: "stack" }, h("h4", null, "Question"), untrusted(asked.question, "as the person saw it"));
  // What a run asks that has read untrusted text may hold some of it.
  const shown = (text) => marked(effect.tainted, text, "the run had read untrusted text");
  if (asked.kind === "tool") return h("div", { class: "stack" }, h("h4", null, "Call"), shown(asked.input));
  const whole = wholeRequest(view, at);
  const earlier = before(view, at);
  const frame = view.frames[effect.asked];
  return h(
    "div",
    { class: "stack" },
    h("h4", null, "Request"),
    shown(readable(whole.payload)),
    whole.messages.length
      ? lazy(many(whole.messages.length, "message"), () =>
          h(
            "ol",
            { class: "stack" },
            whole.messages.map((message) => h("li", null, shown(readable(JSON.stringify(message))))),
          ),
        )
      : null,
    frame
      ? lazy("System message, tools and schema", () =>
          h("div", { class: "stack" }, block(frame.system ?? ""), block(pretty({ ...frame, system: undefined }))),
        )
      : null,
    earlier === null
      ? h("p", { class: "quiet" }, "The first request to this role.")
      : lazy(
          h("span", null, "What changed since ", h("code", null, view.timeline[earlier].effect)),
          () => diffBlock(requestText(wholeRequest(view, earlier)), requestText(whole), effect.tainted),
          true,
        ),
  );
}

function reply(effect) {
  const { reply: said, untrusted: isUntrusted, asked } = effect;
  if (said === null || said === undefined) return h("p", { class: "quiet" }, "None yet.");
  const output = said.returned?.output ?? said.text;
  const body = typeof output === "string" && output !== "" ? readable(output) : pretty(said);
  const shown = marked(isUntrusted, body, h("span", null, "from ", bdi(asked, 60)));
  const { text: _, usage: __, ...rest } = said;
  const hasMore =
    typeof output === "string" && output !== "" && said.text !== undefined && Object.keys(rest).length > 0;
  return h("div", { class: "stack" }, shown, hasMore ? lazy("The reply as it came", () => marked(isUntrusted, pretty(said), "as it came")) : null);
}
