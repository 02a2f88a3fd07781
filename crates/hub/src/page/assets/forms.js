// Sends small forms in place: buttons of messages, reactions, Stop. What went
// wrong is said on the page, and nothing typed is lost.
import { refresh } from "./live.js";

const toast = document.querySelector(".toast");
let hiding;

export const say = (text) => {
  if (!toast) return;
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (toast.hidden = true), 6000);
};

// The server answers a refusal with a page that says what is wrong.
export const reasonOf = (html) =>
  new DOMParser().parseFromString(html, "text/html").querySelector(".problem")?.textContent.trim() ??
  "That did not work.";

const send = async (form, submitter) => {
  const body = new URLSearchParams(new FormData(form, submitter));
  form.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, { method: "POST", body, credentials: "same-origin" });
    if (!answer.ok) say(reasonOf(await answer.text()));
    form.querySelector("details[open]")?.removeAttribute("open");
  } catch {
    say("The hub does not answer. Try again in a moment.");
  } finally {
    form.removeAttribute("aria-busy");
    await refresh();
  }
};

const submitted = (event) => {
  const form = event.target;
  if (!form.matches("[data-quiet]")) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy")) return;
  const question = event.submitter?.dataset.confirm;
  if (question && !window.confirm(question)) return;
  send(form, event.submitter);
};

// A checkbox or a select tells at once that it was used.
const changed = (event) => {
  const name = event.target.dataset?.dispatch;
  const form = event.target.form;
  if (!name || !form) return;
  const press = document.createElement("button");
  press.type = "submit";
  press.name = "press";
  press.value = name;
  press.hidden = true;
  form.append(press);
  form.requestSubmit(press);
  press.remove();
};

export const startForms = () => {
  document.addEventListener("submit", submitted);
  document.addEventListener("change", changed);
  // One menu at a time.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.react[open]")) {
      if (!menu.contains(event.target)) menu.removeAttribute("open");
    }
  });
};
