// The ways to answer what a person is asked: each sends at once or opens a form. What is refused is said at the field,
// and what was typed stays.

import { Problem, get, postUntilReached, randomName, threadPath } from "./api.js";
import { announce, bdi, block, h, newId } from "./dom.js";

// What tells that somebody else was first, or what an answer came to.
export const NOTE = { class: "card stack", "aria-label": "What became of your answer" };

export function noteIn(place) {
  return place?.querySelector(`[aria-label='${NOTE["aria-label"]}']`);
}

// A row of ways to answer. One without a field sends at once; each other opens its form.
export function choices(ways, state, onDone) {
  const row = h("div", { class: "row", role: "group", "aria-label": "Ways to answer" });
  const place = h("div", { class: "stack" });
  const notice = h("p", { class: "refusal", role: "alert" });
  for (const way of ways) {
    if (way.primary) {
      row.append(
        h(
          "button",
          { type: "button", class: "primary", onclick: () => send(way, undefined, state, notice, null, onDone) },
          way.name,
        ),
      );
      continue;
    }
    const form = formOf(way, state, onDone);
    form.hidden = !way.isOpen;
    const toggle = h(
      "button",
      {
        type: "button",
        "aria-expanded": String(Boolean(way.isOpen)),
        "aria-controls": form.id,
        onclick: () => {
          const opens = form.hidden;
          place.querySelectorAll("form").forEach((other) => {
            other.hidden = true;
          });
          row.querySelectorAll("[aria-expanded]").forEach((other) => other.setAttribute("aria-expanded", "false"));
          form.hidden = !opens;
          toggle.setAttribute("aria-expanded", String(opens));
          if (opens) form.querySelector("textarea, button")?.focus();
        },
      },
      way.name,
    );
    row.append(toggle);
    place.append(form);
  }
  return h("div", { class: "stack" }, row, notice, place);
}

function formOf(way, state, onDone) {
  const [id, refusalId] = [newId("answer"), newId("refusal")];
  const refusal = h("p", { class: "refusal", id: refusalId, role: "alert" });
  const field =
    way.label &&
    h("textarea", {
      id,
      dir: "auto",
      spellcheck: way.isJson ? "false" : "true",
      class: way.isJson ? "code" : "",
      "aria-describedby": refusalId,
      rows: way.isJson ? Math.min(18, Math.max(6, way.text.split("\n").length)) : 3,
      value: way.text ?? "",
    });
  if (field) field.defaultText = field.value;
  const form = h(
    "form",
    {
      id: newId("form"),
      class: "stack",
      onsubmit: (event) => {
        event.preventDefault();
        const said = read(way, field);
        if (said.problem) return refuse(refusal, field, said.problem);
        send(way, said.value, state, refusal, field, onDone);
      },
    },
    way.note ? h("p", null, way.note) : null,
    field ? h("label", { for: id }, way.label) : null,
    field,
    refusal,
    h("div", { class: "row" }, h("button", { class: "primary" }, way.button)),
  );
  return form;
}

function read(way, field) {
  if (!field) return {};
  const text = field.value;
  if (way.isJson === "maybe" && !/^\s*[[{"]/.test(text)) return { value: text };
  if (!way.isJson)
    return text.trim() || way.mayBeEmpty ? { value: text.trim() } : { problem: `${way.label}: nothing is written yet` };
  try {
    const value = JSON.parse(text);
    const isList = way.isJson === "maybe" || Array.isArray(value);
    return isList ? { value } : { problem: 'Steps are a list, such as [{"tool": "calc", "input": "1+1"}]' };
  } catch (error) {
    return { problem: `This is not JSON: ${error.message}` };
  }
}

export async function send(way, value, state, refusal, field, onDone) {
  if (state.isSending) return;
  state.isSending = true;
  refusal.replaceChildren();
  field?.removeAttribute("aria-invalid");
  const panel = refusal.closest(".asked");
  if (panel) panel.dataset.sent = "yes";
  const place = panel?.parentElement;
  noteIn(place)?.remove();
  const { path, body } = way.send(value);
  const once = path === "/hitl/resume" ? randomName("page-") : undefined;
  announce("Sent. The run goes on.");
  onDone("sent");
  try {
    await postUntilReached(path, body, once, undefined, () =>
      refusal.replaceChildren("The service is not reached. This is sent again until it is, and counts once."),
    );
    onDone("taken");
  } catch (error) {
    // What was sent without a name of its own may have been taken before the connection was lost: then nobody is asked it
    // any more.
    const open = error instanceof Problem && place ? await askedNow(state) : state;
    const taken = comeOf(error, way, open?.effect === state.effect);
    if (open?.token !== state.token) {
      if (error.isRepeated && !once && !taken) return onDone("taken");
      const words = taken || `This was answered elsewhere: your “${way.name}” was not taken.`;
      const typed = field?.value && !taken ? block(field.value) : null;
      place.prepend(h("section", NOTE, h("p", { role: "status" }, words), typed));
      return onDone("taken");
    }
    onDone("refused");
    if (panel) delete panel.dataset.sent;
    refuse(refusal, field, error.message, error instanceof Problem ? error.hint : "");
  } finally {
    state.isSending = false;
  }
}

// What is asked now. Where the thread cannot be read, it is the same as far as is known.
async function askedNow(state) {
  const shown = await get(threadPath(state.thread)).catch(() => null);
  return shown ? shown.turns.at(-1)?.open : state;
}

// What an answer came to that was taken, and whose run then stopped; nothing of one that was not taken.
function comeOf({ word, message }, { name }, isSame) {
  const taken = `Your “${name}” was taken`;
  if (word === "interrupted") return `${taken}, and then the run stopped: ${message}`;
  if (word !== "write-in-doubt") return "";
  return isSame ? `${taken}: the call was made again, and is in doubt again.` : `${taken}. A write is in doubt now.`;
}

function refuse(refusal, field, problem, hint = "") {
  refusal.replaceChildren(
    h("strong", null, "Not taken: "),
    bdi(problem.split("; the question is still: ")[0], 2000),
    hint ? h("span", null, ` (${hint})`) : "",
  );
  field?.setAttribute("aria-invalid", "true");
  field?.focus();
}
