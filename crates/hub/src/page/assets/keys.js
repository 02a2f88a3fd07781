// Keys for people who do not like the mouse. Nothing that decides or spends has
// a key of its own. `?` shows them all.
const places = { n: () => "/needs", c: () => document.querySelector(".side .channels a")?.href, b: () => "/board", a: () => "/agents", m: () => "/cost", p: () => "/people" };
let going = false;

const messages = () => [...document.querySelectorAll(".message")];

const step = (by) => {
  const all = messages();
  if (all.length === 0) return;
  const current = document.activeElement?.closest(".message");
  const at = current ? all.indexOf(current) + by : by > 0 ? 0 : all.length - 1;
  const next = all[Math.max(0, Math.min(all.length - 1, at))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
};

const openThread = () =>
  document.activeElement?.closest(".entry")?.querySelector(".open a")?.click();

const actions = {
  j: () => step(1),
  k: () => step(-1),
  o: openThread,
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
  if (event.key === "Enter" && event.target.matches(".message")) {
    openThread();
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
