// Keys for people who do not like the mouse. Nothing that decides or spends has
// a key of its own. `?` shows them all.
const places = { n: () => "/needs", c: () => document.querySelector(".side .channels a")?.href, b: () => "/board", a: () => "/agents", m: () => "/cost", p: () => "/people" };
let going = false;

// What one goes through in a view: messages, or the lines, cards and files of the others.
const THINGS = ".message, .needs li, .hits li, .ticket, .files > .file, .timeline > li";

const step = (by) => {
  const all = [...document.querySelectorAll(THINGS)];
  if (all.length === 0) return;
  const current = document.activeElement?.closest(THINGS);
  const at = current ? all.indexOf(current) + by : by > 0 ? 0 : all.length - 1;
  const next = all[Math.max(0, Math.min(all.length - 1, at))];
  next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
};

// The thread of a message, or where the line or card leads; a fold opens and closes.
const openThing = () => {
  const thing = document.activeElement?.closest(THINGS);
  const entry = thing?.closest(".entry");
  if (entry) entry.querySelector(".open a")?.click();
  else if (!thing?.matches(".message")) thing?.querySelector("summary, a[href]")?.click();
};

const actions = {
  j: () => step(1),
  k: () => step(-1),
  o: openThing,
  c: () => document.querySelector(".composer textarea")?.focus(),
  "/": () => document.getElementById("search")?.focus(),
  g: () => {
    going = true;
    setTimeout(() => (going = false), 1200);
  },
  "?": () => document.getElementById("keys")?.showModal(),
};

const pressed = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && writing) {
    writing.blur();
    return;
  }
  if (writing || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && event.target.matches(THINGS)) {
    openThing();
    return;
  }
  const place = going && places[event.key]?.();
  going = false;
  if (place) {
    window.location.assign(place);
    return;
  }
  const action = actions[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
};

export const startKeys = () => document.addEventListener("keydown", pressed);
