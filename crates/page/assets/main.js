// The page: its frame, and which view is shown under which address.

import { hasKey, onConnection, onKeyWanted, saveKey } from "./api.js";
import { announce, h, liveRegion, newId, show } from "./dom.js";
import { showFront } from "./front.js";
import { showChat } from "./chat.js";
import { comparePage, showCompare } from "./compare.js";
import { runPage, showRun } from "./run.js";
import { threadList, waitingBadge, watchThreads } from "./threads.js";

const THEMES = ["auto", "light", "dark"];

function themeButton() {
  const button = h("button", { type: "button", class: "plain" });
  const use = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.replaceChildren(h("span", { class: "wordy" }, "Theme: "), theme);
    button.setAttribute("aria-label", `Theme: ${theme}`);
    button.dataset.theme = theme;
  };
  use(THEMES.includes(stored()) ? stored() : "auto");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length];
    use(next);
    try {
      localStorage.setItem("planwright.theme", next);
    } catch {
      /* a page from a file may keep nothing */
    }
  });
  return button;
}

function stored() {
  try {
    return localStorage.getItem("planwright.theme");
  } catch {
    return null;
  }
}

// Says that the service is not reached, and that it is again.
function connectionBar() {
  const bar = h("p", { class: "connection", role: "status" });
  bar.hidden = true;
  onConnection((reached) => {
    bar.hidden = false;
    bar.className = reached ? "connection tone-good" : "connection tone-bad";
    bar.textContent = reached ? "Connected again." : "Connection lost. Trying again…";
    if (reached)
      setTimeout(() => {
        if (bar.textContent === "Connected again.") bar.hidden = true;
      }, 4000);
  });
  return bar;
}

// Asks for the key of the service, once for all requests that want it.
function keyDialog(forget) {
  const [fieldId, hintId] = [newId("key"), newId("hint")];
  const field = h("input", {
    id: fieldId,
    type: "password",
    autocomplete: "off",
    required: true,
    "aria-describedby": hintId,
  });
  const hint = h("p", { id: hintId, class: "quiet" });
  const dialog = h("dialog", { class: "card", "aria-labelledby": `${fieldId}-title` });
  dialog.append(
    h(
      "form",
      { method: "dialog", class: "stack" },
      h("h2", { id: `${fieldId}-title` }, "This service wants a key"),
      hint,
      h("label", { for: fieldId }, "Key"),
      field,
      h("button", { class: "primary" }, "Use this key"),
    ),
  );
  let asking = null;
  const ask = (refused) => {
    if (refused !== sessionStorage.getItem("planwright.key")) return Promise.resolve(true);
    asking ??= new Promise((resolve) => {
      hint.textContent = refused ? "The key was not taken. Give another one." : "It is kept until this tab is closed.";
      field.value = "";
      dialog.showModal();
      dialog.addEventListener(
        "close",
        () => {
          asking = null;
          if (field.value) saveKey(field.value.trim());
          forget.hidden = !hasKey();
          resolve(Boolean(field.value));
        },
        { once: true },
      );
    });
    return asking;
  };
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  onKeyWanted(ask);
  return dialog;
}

const ROUTES = [
  [/^#\/t\/([^/]+)\/(\d+)(?:\/(\d+))?$/, (main, thread, turn, records) => showRun(main, thread, turn, records)],
  [
    /^#\/compare(?:\/([^/]*)(?:\/(\d*)(?:\/([^/]*)(?:\/(\d*))?)?)?)?$/,
    (main, ...sides) => showCompare(main, ...sides),
  ],
  [/^#\/t\/([^/]+)$/, (main, thread) => showChat(main, thread)],
  [/^#?\/?$/, (main) => showFront(main)],
  [/^/, (main) => show(main, h("h1", null, "There is no such page."), h("a", { href: "#/" }, "Go to the threads"))],
];

// Whether the address within the page is one: not so where it was cut in a mail.
function isReadable() {
  try {
    decodeURIComponent(location.hash);
    return true;
  } catch {
    return false;
  }
}

function route(main) {
  let close = () => {};
  const go = () => {
    close();
    for (const link of document.querySelectorAll(".bar nav a")) {
      const isHere = location.hash.startsWith(link.hash) && (link.hash !== "#/" || location.hash.length < 3);
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const hash = (isReadable() && location.hash) || "#/";
    const [pattern, view] = ROUTES.find(([one]) => one.test(hash));
    const names = (pattern.exec(hash) ?? []).slice(1).map((part) => part && decodeURIComponent(part));
    document.title = "planwright";
    document.body.dataset.view = hash === "#/" ? "front" : "one";
    window.scrollTo(0, 0);
    close = view(main, ...names) ?? (() => {});
    const unread = "This address cannot be read: part of it is missing or was changed. Here are the threads.";
    if (!isReadable()) main.prepend(h("p", { class: "card", role: "status" }, unread));
  };
  window.addEventListener("hashchange", go);
  go();
}

function begin() {
  const main = h("main", { id: "main", tabindex: -1 });
  const skip = h("button", { type: "button", class: "skip", onclick: () => main.focus() }, "Skip to content");
  const forget = h(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: () => {
        saveKey("");
        location.reload();
      },
    },
    "Forget key",
  );
  forget.hidden = !hasKey();
  document.body.append(
    skip,
    h(
      "header",
      { class: "bar" },
      h("a", { class: "brand", href: "#/" }, "planwright"),
      h(
        "nav",
        { "aria-label": "Pages" },
        h("a", { href: "#/" }, "Threads ", waitingBadge()),
        h("a", { href: "#/compare" }, "Compare"),
      ),
      h("span", { class: "fill" }),
      forget,
      themeButton(),
    ),
    connectionBar(),
    h("div", { class: "frame" }, threadList(), main),
    keyDialog(forget),
    liveRegion(),
  );
  route(main);
  watchThreads();
  announce("");
}

// A file that holds what it shows: nothing is asked of anybody.
function showDocument(text) {
  const { kind, view, comparison, a, b } = JSON.parse(text);
  const main = h("main", { id: "main", tabindex: -1 });
  document.body.dataset.view = "file";
  document.body.append(
    h(
      "header",
      { class: "bar" },
      h("span", { class: "brand" }, "planwright"),
      h("span", { class: "fill" }),
      themeButton(),
    ),
    main,
    liveRegion(),
  );
  const title = h("h1", null, document.title);
  if (kind === "compare") return show(main, title, h("div", { class: "run" }, comparePage(comparison, a, b)));
  const page = runPage();
  show(main, title, page.node);
  page.update(view);
}

const embedded = document.getElementById("document");
if (embedded) showDocument(embedded.textContent);
else begin();
