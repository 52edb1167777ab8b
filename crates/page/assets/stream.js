// Server-sent events, read with fetch so that a key can go with them. A lost connection is mended by itself, and each
// event is told once: it goes on behind the last id.

import { Problem, isMissing, noteConnection, pause, request, threadPath } from "./api.js";

// A stream gives a sign of life every 15 seconds. One that is silent for so long is lost.
const SILENCE = 40000;

// Follows what happens in a thread until it is stopped. `on` is told each event as (name, data).
export function follow(thread, from, on) {
  const abort = new AbortController();
  const state = { last: from, isOver: false };
  const run = async () => {
    for (let wait = 300; !state.isOver;) {
      try {
        await read(thread, state, on, abort.signal);
        wait = 300;
      } catch (error) {
        if (state.isOver) return;
        // A thread that stands in line is not there yet. What is not there nor will be is not asked for again.
        if (isMissing(error, thread)) return on("missing");
        // What is damaged stays so, and its view says it.
        if (error.word === "store" && error.hint) return;
        const isToCome = error instanceof Problem && ["no-such-thread", "stopping", "store"].includes(error.word);
        if (error instanceof Problem && !isToCome) return on("refused", error);
        if (!(error instanceof Problem)) noteConnection(false);
        wait = Math.min(wait * 1.6, 3000);
      }
      await pause(wait);
    }
  };
  run();
  return () => {
    state.isOver = true;
    abort.abort();
  };
}

async function read(thread, state, on, signal) {
  const headers = { Accept: "text/event-stream", ...(state.last ? { "Last-Event-ID": state.last } : {}) };
  const response = await request(`${threadPath(thread, "events")}?follow=true`, { headers, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const silent = setTimeout(() => reader.cancel().catch(() => {}), SILENCE);
    const { value, done } = await reader.read().finally(() => clearTimeout(silent));
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const text of events) tell(text, state, on);
  }
}

function tell(text, state, on) {
  const fields = { event: "", data: "", id: null };
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    // A comment is a sign of life.
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
  }
  if (fields.id) state.last = fields.id;
  if (fields.event) on(fields.event, JSON.parse(fields.data || "null"), fields.id);
}
