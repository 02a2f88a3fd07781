// Swaps fragments of the server into the page. A part is replaced only when the
// server's words for it are new, and a list message by message, so that focus,
// half-filled forms and opened folds stay as the reader left them.
import { localTimes } from "./clock.js";

// What the server last said, by id; the page itself may have moved on since.
const said = new Map();

export const remember = (part) => {
  if ("keyed" in part.dataset) {
    for (const child of part.children) said.set(child.id, child.outerHTML);
  } else {
    said.set(part.dataset.part, part.innerHTML);
  }
};

const openFolds = (element) =>
  [...element.querySelectorAll("details[id][open]")].map((fold) => fold.id);

const refocus = (id) => {
  if (id && !document.activeElement?.id) document.getElementById(id)?.focus({ preventScroll: true });
};

// What the reader filled in and has not sent stays filled in.
const keepFilled = (old, fresh) => {
  for (const field of old.querySelectorAll("input[name]:not([type=hidden]), textarea[name], select[name]")) {
    const twins = [...fresh.querySelectorAll(field.localName)].filter((twin) => twin.name === field.name);
    const ticked = field.type === "checkbox" || field.type === "radio";
    const twin = ticked ? twins.find((one) => one.value === field.value) : twins[0];
    if (!twin) continue;
    if (ticked) twin.checked = field.checked;
    else twin.value = field.value;
  }
};

const replace = (old, fresh) => {
  const folds = openFolds(old);
  keepFilled(old, fresh);
  old.replaceWith(fresh);
  for (const id of folds) document.getElementById(id)?.setAttribute("open", "");
};

const mergeList = (part, fresh, prepend) => {
  for (const child of [...fresh.children]) {
    const html = child.outerHTML;
    if (said.get(child.id) === html) continue;
    said.set(child.id, html);
    const old = document.getElementById(child.id);
    if (old) replace(old, child);
    else if (prepend) part.insertBefore(child, part.children[prepend.at++]);
    else part.append(child);
  }
};

// Messages of the shown window that the server no longer has were deleted.
const dropGone = (part, fresh) => {
  const ids = new Set([...fresh.children].map((child) => child.id));
  const oldest = fresh.children[1]?.id ?? "";
  for (const child of [...part.children]) {
    if (!ids.has(child.id) && child.id >= oldest) {
      said.delete(child.id);
      child.remove();
    }
  }
};

// Once older messages were loaded, the link to them is the reader's, not the server's.
let loadedEarlier = false;
const keepsEarlier = (part) => part.dataset.part === "earlier" && loadedEarlier;

export const swap = (html, older = false) => {
  loadedEarlier ||= older;
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const focused = document.activeElement?.id;
  for (const next of fresh.querySelectorAll("[data-part]")) {
    const part = document.querySelector(`[data-part="${next.dataset.part}"]`);
    if (!part) continue;
    if ("keyed" in next.dataset) {
      if (!older) dropGone(part, next);
      mergeList(part, next, older ? { at: 1 } : null);
    } else if (older ? next.dataset.part === "earlier" : !keepsEarlier(next)) {
      if (said.get(next.dataset.part) !== next.innerHTML) {
        said.set(next.dataset.part, next.innerHTML);
        const folds = openFolds(part);
        part.innerHTML = next.innerHTML;
        for (const id of folds) document.getElementById(id)?.setAttribute("open", "");
      }
    }
    localTimes(part);
  }
  refocus(focused);
};
