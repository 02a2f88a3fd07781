// Ctrl-K: jump to a thread, a person, a view, or an action of this page. What decides or
// spends is only led to: its button gets the focus, and the reader presses it.
const LIMIT = 12;
let dialog;
let field;
let list;
let found = [];
let at = 0;
let asking;

const label = (element) => element.textContent.replace(/\s+/g, " ").trim();

const places = () =>
  [...document.querySelectorAll(".side nav a, .tabs a")].map((link) => ({
    name: label(link), kind: "go to", run: () => window.location.assign(link.href),
  }));

const actions = () =>
  [...document.querySelectorAll("main button:not([hidden]), main summary")]
    .filter((one) => label(one).length > 1 && one.checkVisibility?.() !== false)
    .map((one) => ({ name: label(one), kind: "on this page", run: () => (one.scrollIntoView({ block: "center" }), one.focus()) }));

// Threads and people by words: what the pages of the server say.
const look = async (address, links, kind) => {
  const answer = await fetch(address, { credentials: "same-origin" }).catch(() => null);
  if (!answer?.ok || answer.redirected) return [];
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return [...page.querySelectorAll(links)].map((one) => ({
    name: label(one), kind, run: () => window.location.assign(one.getAttribute("href") ?? "/people"),
  }));
};

const fits = (words) => ({ name }) => words.every((word) => name.toLowerCase().includes(word));

const show = () => {
  at = Math.max(0, Math.min(at, found.length - 1));
  list.replaceChildren(...found.map(({ name, kind }, number) => {
    const row = document.createElement("li");
    row.id = `palette-${number}`;
    row.role = "option";
    row.ariaSelected = String(number === at);
    row.dataset.number = number;
    const soft = document.createElement("span");
    soft.className = "soft";
    soft.textContent = kind;
    row.append(name.slice(0, 120), " ", soft);
    return row;
  }));
  if (found.length) field.setAttribute("aria-activedescendant", `palette-${at}`);
  else field.removeAttribute("aria-activedescendant");
  list.children[at]?.scrollIntoView({ block: "nearest" });
};

const typed = async () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const here = [...places(), ...actions()].filter(fits(words));
  found = here.slice(0, LIMIT);
  at = 0;
  show();
  clearTimeout(asking);
  if (words.join("").length < 2) return;
  asking = setTimeout(async () => {
    const wanted = field.value;
    const threads = await look(`/search?q=${encodeURIComponent(wanted)}`, ".hits a", "thread");
    const people = (await look("/people", "table.people tbody th", "person")).filter(fits(words));
    if (field.value !== wanted) return;
    found = [...here, ...people, ...threads].slice(0, LIMIT);
    show();
  }, 150);
};

const choose = (number) => {
  const chosen = found[number];
  if (!chosen) return;
  dialog.close();
  chosen.run();
};

const pressed = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) at = (at + step + found.length) % Math.max(1, found.length);
  if (event.key === "Enter") choose(at);
  if (!step && event.key !== "Enter") return;
  event.preventDefault();
  if (step) show();
};

const build = () => {
  dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.ariaLabel = "Jump to";
  dialog.innerHTML = `<input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list"
    aria-autocomplete="list" aria-label="Jump to a thread, a person, a view or an action" placeholder="Jump to…" autocomplete="off">
    <ul id="palette-list" role="listbox" aria-label="Where to"></ul>`;
  document.body.append(dialog);
  field = dialog.querySelector("input");
  list = dialog.querySelector("ul");
  field.addEventListener("input", typed);
  field.addEventListener("keydown", pressed);
  list.addEventListener("click", (event) => choose(Number(event.target.closest("li")?.dataset.number)));
};

export const startPalette = () => {
  if (!document.querySelector(".shell")) return;
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    if (!dialog) build();
    if (dialog.open) return dialog.close();
    field.value = "";
    dialog.showModal();
    typed();
  });
};
