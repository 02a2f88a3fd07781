// The composer: grows with its text, shows what will be sent, takes files by
// paste and drop, and shows how far an upload is.
import { reasonOf, say } from "./forms.js";
import { refresh } from "./live.js";

const form = document.querySelector(".composer");
const text = form?.querySelector("textarea");
const picker = form?.querySelector("input[type=file]");
const chosen = form?.querySelector(".chosen");
const progress = form?.querySelector("progress");
const draftKey = `draft ${window.location.pathname}`;
let files = [];

const grow = () => {
  // Scripts may set a height; a style attribute in HTML could not.
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, 260)}px`;
};

const keepDraft = () => {
  if (text.value) sessionStorage.setItem(draftKey, text.value);
  else sessionStorage.removeItem(draftKey);
};

const chip = (file, index) => {
  const item = document.createElement("li");
  item.append(file.name || "picture");
  const drop = document.createElement("button");
  drop.type = "button";
  drop.textContent = "✕";
  drop.setAttribute("aria-label", `Do not send ${file.name}`);
  drop.addEventListener("click", () => choose(files.filter((_, at) => at !== index)));
  item.append(" ", drop);
  return item;
};

const choose = (list) => {
  files = list;
  chosen.replaceChildren(...files.map(chip));
  chosen.hidden = files.length === 0;
};

const add = (list) => choose([...files, ...list]);

const done = (request) => {
  progress.hidden = true;
  form.removeAttribute("aria-busy");
  if (request.status < 200 || request.status >= 400) {
    say(reasonOf(request.responseText));
    return;
  }
  text.value = "";
  sessionStorage.removeItem(draftKey);
  choose([]);
  grow();
  if ("stays" in form.dataset) refresh().then(() => window.scrollTo(0, document.body.scrollHeight));
  else window.location.assign(request.responseURL);
};

const send = (event) => {
  event.preventDefault();
  if (form.getAttribute("aria-busy") || (!text.value.trim() && files.length === 0)) return;
  const body = new FormData(form);
  body.delete("file");
  for (const file of files) body.append("file", file, file.name || "picture.png");
  form.setAttribute("aria-busy", "true");
  progress.hidden = files.length === 0;
  // Not fetch: only this way the browser says how much has been sent.
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (step) => {
    if (step.lengthComputable) progress.value = (100 * step.loaded) / step.total;
  });
  request.addEventListener("load", () => done(request));
  request.addEventListener("error", () => {
    progress.hidden = true;
    form.removeAttribute("aria-busy");
    say("The hub does not answer. Your text is still here.");
  });
  request.send(body);
};

const pasted = (event) => {
  if (event.clipboardData?.files.length) {
    event.preventDefault();
    add(event.clipboardData.files);
  }
};

const dropped = (event) => {
  event.preventDefault();
  if (event.dataTransfer?.files.length) add(event.dataTransfer.files);
};

const typed = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
};

export const startComposer = () => {
  if (!form) return;
  text.value ||= sessionStorage.getItem(draftKey) ?? "";
  grow();
  form.addEventListener("submit", send);
  text.addEventListener("keydown", typed);
  text.addEventListener("input", () => {
    grow();
    keepDraft();
  });
  text.addEventListener("paste", pasted);
  picker.addEventListener("change", () => {
    add(picker.files);
    picker.value = "";
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", dropped);
  // On a phone the keyboard would hide what is to be read.
  if (window.matchMedia("(pointer: fine)").matches) text.focus({ preventScroll: true });
};
