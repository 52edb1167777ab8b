// The service's HTTP interface: requests with the key, problems as errors, and whether the service is reached.

import { scrollRests } from "./dom.js";

const KEY = "planwright.key";

// What the service answered that is not success: its problem (RFC 9457).
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `the service answered ${status}`);
    this.status = status;
    this.word = String(body?.type ?? "")
      .split(":")
      .pop();
    this.hint = body?.hint ?? "";
    this.retryAfter = body?.retry_after ?? null;
  }
}

const listeners = new Set();
let reached = true;
let asksForKey = async () => false;

// Has `listener` hear whether the service is reached, whenever that changes.
export function onConnection(listener) {
  listeners.add(listener);
}

// Says whether the service was reached just now.
export function noteConnection(now) {
  if (now === reached) return;
  reached = now;
  listeners.forEach((listener) => listener(now));
}

// Names what asks a person for a key. It gives whether there is a new one.
export function onKeyWanted(ask) {
  asksForKey = ask;
}

// Keeps the key as long as the tab is open.
export function saveKey(key) {
  rights = null;
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

// Whether there is a key.
export function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

let rights = null;

// What the key may do: `run`, `answer`. It is asked for once, and again with another key.
export async function mayDo(right) {
  rights ??= get("/key").then(({ may }) => may);
  try {
    return (await rights).includes(right);
  } catch {
    rights = null;
    return true;
  }
}

// Takes an element away that the key would be refused for; with a word in its place, where there is one.
export function needs(right, element, word = "") {
  mayDo(right).then((may) => {
    if (!may) element.replaceWith(word);
  });
  return element;
}

// The threads that were begun here: what has no record yet may still stand in line.
const begun = new Set();

// Notes that a thread was begun here.
export function noteBegun(thread) {
  begun.add(thread);
}

// Notes that a thread is there, so that it is missed where it no longer is.
export function noteThere(thread) {
  begun.delete(thread);
}

// Whether a thread was begun here.
export function wasBegun(thread) {
  return begun.has(thread);
}

// Whether a problem says that there is no such thread, nor will be.
export function isMissing(error, thread) {
  return error instanceof Problem && error.word === "no-such-thread" && !begun.has(thread);
}

// Sends a request. A refused connection is noted and thrown; a wanted key is asked for once, and the request sent
// again.
export async function request(path, options = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    noteConnection(false);
    throw new Error("the service is not reached", { cause: error });
  }
  noteConnection(true);
  if (response.status === 401 && (await asksForKey(key))) return request(path, options);
  if (response.ok) return response;
  throw new Problem(response.status, await response.json().catch(() => null));
}

// Reads JSON.
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

// Reads JSON once the service is reached.
export async function getUntilReached(path, isOver = () => false) {
  for (;;) {
    try {
      return await get(path);
    } catch (error) {
      if (error instanceof Problem || isOver()) throw error;
      await pause(1500);
    }
  }
}

// Sends JSON and reads JSON. Under the same `once` it is done once, however often it is sent, and what may be told as a
// stream is asked for as one: a run that somebody watches from its beginning has its words told as they come.
export async function post(path, body, once) {
  const further = once ? { "Idempotency-Key": once, Accept: "text/event-stream" } : {};
  const headers = { "Content-Type": "application/json", ...further };
  const response = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (response.headers.get("Content-Type") === "text/event-stream") return response.body.pipeTo(new WritableStream());
  return response.status === 204 ? null : response.json();
}

// Deletes.
export async function remove(path) {
  await request(path, { method: "DELETE" });
}

// The path of a thread.
export function threadPath(thread, ...rest) {
  return ["/threads", ...[thread, ...rest].map((part) => encodeURIComponent(part))].join("/");
}

// A pause.
export function pause(ms) {
  return new Promise((resume) => setTimeout(resume, ms));
}

// Sends until the service is reached, so that what a person said is not lost with a connection. `away` is told each
// time that it is not reached.
export async function postUntilReached(path, body, once, isOver = () => false, away = () => {}) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
    try {
      return await post(path, body, once);
    } catch (error) {
      const isBusy = error instanceof Problem && error.word === "thread-is-running" && once;
      const isAway = !(error instanceof Problem) || error.word === "stopping";
      if (!(isAway || isBusy) || isOver()) throw Object.assign(error, { isRepeated: wait > 500 });
      if (isAway) away();
      await pause(wait);
    }
  }
}

// A name for one request, or for a thread: random.
export function randomName(prefix) {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Calls `work` now and then while the page is seen, until it is stopped.
export function poll(work, every) {
  let isOver = false;
  const abort = new AbortController();
  const run = async () => {
    while (!isOver) {
      await scrollRests();
      if (!document.hidden) await work(abort.signal).catch(() => {});
      await pause(every);
    }
  };
  run();
  return () => {
    isOver = true;
    abort.abort();
  };
}
