// The composer: grows with its text, shows what will be sent, takes files by
// paste and drop, and shows how far an upload is.
import { add, choose, chosen } from "./chosen.js";
import { reasonOf, say } from "./forms.js";
import { refresh } from "./live.js";

const form = document.querySelector(".composer");
const text = form?.querySelector("textarea");
const picker = form?.querySelector("input[type=file]");
const sending = form?.querySelector(".sending");
const draftKey = `draft ${window.location.pathname}`;

const grow = () => {
  // Scripts may set a height; a style attribute in HTML could not.
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, 260)}px`;
};

const keepDraft = () => {
  if (text.value) sessionStorage.setItem(draftKey, text.value);
  else sessionStorage.removeItem(draftKey);
};

const rest = () => {
  sending.hidden = true;
  form.removeAttribute("aria-busy");
};

const progress = (step) => {
  if (!step.lengthComputable) return;
  const part = Math.round((100 * step.loaded) / step.total);
  sending.querySelector("progress").value = part;
  sending.querySelector("output").textContent = part < 100 ? `${part} %` : "Sent, being kept…";
};

const done = (request) => {
  rest();
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
  if (form.getAttribute("aria-busy") || (!text.value.trim() && chosen().length === 0)) return;
  const body = new FormData(form);
  body.delete("file");
  for (const file of chosen()) body.append("file", file, file.name || "picture.png");
  form.setAttribute("aria-busy", "true");
  sending.hidden = chosen().length === 0;
  progress({ lengthComputable: true, loaded: 0, total: 1 });
  // Not fetch: only this way the browser says how much has been sent.
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", progress);
  request.addEventListener("load", () => done(request));
  request.addEventListener("error", () => {
    rest();
    say("The hub does not answer. Your text is still here.");
  });
  request.send(body);
};

// Pictures become files, and so does a text that nobody would have typed.
const pasted = (event) => {
  const { files: brought, types } = event.clipboardData;
  const words = types.includes("text/plain") ? event.clipboardData.getData("text/plain") : "";
  const long = words.length > Number(form.dataset.typed);
  if (!brought.length && !long) return;
  event.preventDefault();
  add(brought.length ? brought : [new File([words], "pasted.txt", { type: "text/plain" })]);
};

const over = (event) => {
  event.preventDefault();
  document.documentElement.toggleAttribute("data-dropping", event.type === "dragover");
};

const dropped = (event) => {
  over(event);
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
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", over);
  document.addEventListener("drop", dropped);
  // On a phone the keyboard would hide what is to be read.
  if (window.matchMedia("(pointer: fine)").matches) text.focus({ preventScroll: true });
};
