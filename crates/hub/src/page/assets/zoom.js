// A picture that is clicked fills the window, in the browser's own dialog: Escape
// closes it, the arrow keys go to the next one, a second click shows it at its own
// size. Without script the same link opens the picture.
const all = () => [...document.querySelectorAll("a.zoom")];
let dialog;
let image;
let title;
let at;

const button = (words, sign, act) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = sign;
  made.setAttribute("aria-label", words);
  made.addEventListener("click", act);
  return made;
};

const show = (link) => {
  at = link;
  const small = link.querySelector("img");
  image.src = link.href;
  image.alt = small.alt;
  title.textContent = small.alt;
  dialog.classList.remove("whole");
  const alone = all().length < 2;
  for (const step of dialog.querySelectorAll(".step")) step.hidden = alone;
};

const step = (by) => {
  const links = all();
  const here = links.findIndex((link) => link.href === at.href);
  show(links[(here + by + links.length) % links.length]);
};

const build = () => {
  dialog = document.createElement("dialog");
  dialog.className = "lightbox";
  dialog.setAttribute("aria-label", "Picture");
  image = document.createElement("img");
  title = document.createElement("p");
  const tools = document.createElement("div");
  const back = button("Previous picture", "‹", () => step(-1));
  const next = button("Next picture", "›", () => step(1));
  back.className = next.className = "step";
  tools.append(title, back, next, button("Zoom", "⤢", zoom), button("Close", "✕", () => dialog.close()));
  const frame = document.createElement("div");
  frame.className = "frame";
  frame.tabIndex = 0;
  frame.append(image);
  dialog.append(tools, frame);
  image.addEventListener("click", zoom);
  frame.addEventListener("click", (event) => {
    if (event.target === frame) dialog.close();
  });
  dialog.addEventListener("keydown", keys);
  dialog.addEventListener("close", () => at.focus({ preventScroll: true }));
  document.body.append(dialog);
};

const zoom = () => dialog.classList.toggle("whole");

const keys = (event) => {
  const act = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), "+": zoom, "-": zoom }[event.key];
  // In a picture at its own size the arrows move it.
  if (!act || (dialog.classList.contains("whole") && event.key.startsWith("Arrow"))) return;
  event.preventDefault();
  act();
};

const clicked = (event) => {
  const link = event.target.closest?.("a.zoom");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  if (!dialog) build();
  show(link);
  dialog.showModal();
};

export const startZoom = () => document.addEventListener("click", clicked);
