// Numbers, times and words for people.

const RELATIVE = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

// A time in milliseconds since 1970, as how long ago it was.
export function ago(ms, now = Date.now()) {
  if (!ms) return "";
  const seconds = Math.max(0, (now - ms) / 1000);
  for (const [unit, length] of RELATIVE) {
    const count = Math.floor(seconds / length);
    if (count > 0) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

// The same time, exactly.
export function time(ms) {
  return ms
    ? new Date(ms)
        .toISOString()
        .replace("T", " ")
        .replace(/\.\d+Z$/, " UTC")
    : "";
}

// A duration in milliseconds.
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const NUMBER = new Intl.NumberFormat("en");

// A number with its thousands apart.
export function count(number) {
  return NUMBER.format(Number(number ?? 0));
}

// A count with its word: `1 step`, `2 steps`.
export function many(number, word) {
  return `${count(number)} ${word}${Number(number) === 1 ? "" : "s"}`;
}

// What something cost, with its currency where that is known.
export function money(cost, currency) {
  return cost ? [cost, currency].filter(Boolean).join(" ") : "–";
}

const STATUS = {
  running: "running",
  unfinished: "stopped",
  waiting: "waits for a person",
  in_doubt: "write in doubt",
  done: "done",
  failed: "failed",
  unreadable: "unreadable",
  damaged: "unreadable",
  completed: "done",
  pending: "to do",
  skipped: "skipped",
  waiting_human: "waits for a person",
  unknown: "unknown",
  in_progress: "running",
  unsent: "still sending",
};

// A status in words.
export function statusWord(status) {
  return STATUS[status] ?? String(status ?? "").replaceAll("_", " ");
}

// The colour of a status: one of the few that the style has.
export function statusTone(status) {
  if (["done", "completed"].includes(status)) return "good";
  if (["waiting", "waiting_human", "in_doubt", "unfinished", "unsent"].includes(status)) return "wait";
  if (["failed", "unreadable", "damaged"].includes(status)) return "bad";
  if (["running", "in_progress"].includes(status)) return "busy";
  return "calm";
}
