// Swaps in what changed. A part is replaced only when the server's words for it
// are new, and a list message by message, so that focus, half-filled forms and
// opened folds stay as the reader left them.
import { localTimes } from "./clock.js";

const shell = document.querySelector(".shell");
const offline = document.querySelector(".offline");
// What the server last said, by id; the page itself may have moved on since.
const said = new Map();

const scroller = document.scrollingElement;
const atEnd = () => window.innerHeight + window.scrollY >= scroller.scrollHeight - 120;
const toEnd = () => window.scrollTo(0, scroller.scrollHeight);

const remember = (part) => {
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

export const swap = (html, older = false) => {
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
        part.innerHTML = next.innerHTML;
      }
    }
    localTimes(part);
  }
  refocus(focused);
};

// Once older messages were loaded, the link to them is the reader's, not the server's.
let loadedEarlier = false;
const keepsEarlier = (part) => part.dataset.part === "earlier" && loadedEarlier;

let pending = false;
let again = false;

export const refresh = async () => {
  if (!shell?.dataset.live) return;
  if (pending) {
    again = true;
    return;
  }
  pending = true;
  const follow = document.querySelector(".messages") && atEnd();
  try {
    const answer = await fetch(shell.dataset.live, { credentials: "same-origin" });
    if (answer.redirected) window.location.reload();
    else if (answer.ok) {
      swap(await answer.text());
      if (follow) toEnd();
    }
  } catch {
    offline.hidden = false;
  } finally {
    pending = false;
    if (again) {
      again = false;
      setTimeout(refresh, 100);
    }
  }
};

const listen = () => {
  const source = new EventSource("/v1/events");
  const { channel, root } = shell.dataset;
  const heard = (event) => {
    const data = JSON.parse(event.data);
    const mine = (!channel || data.channel === channel) && (!root || data.root === root);
    if (mine) refresh();
  };
  source.addEventListener("event", heard);
  source.addEventListener("page", heard);
  source.addEventListener("agents", refresh);
  source.addEventListener("reload", refresh);
  source.addEventListener("open", () => {
    // Also at the first time: something may have changed since the page was made.
    offline.hidden = true;
    refresh();
  });
  source.addEventListener("error", () => {
    offline.hidden = false;
    // After a refusal the browser gives up; a look at the page says why.
    if (source.readyState === EventSource.CLOSED) {
      setTimeout(() => refresh().then(listen), 3000);
    }
  });
};

const loadEarlier = async (event) => {
  const link = event.target.closest("[data-earlier]");
  if (!link) return;
  event.preventDefault();
  const before = scroller.scrollHeight - window.scrollY;
  const answer = await fetch(link.dataset.earlier, { credentials: "same-origin" });
  if (!answer.ok) return;
  loadedEarlier = true;
  swap(await answer.text(), true);
  window.scrollTo(0, scroller.scrollHeight - before);
};

export const startLive = () => {
  if (!shell) return;
  for (const part of document.querySelectorAll("[data-part]")) remember(part);
  document.addEventListener("click", loadEarlier);
  if (shell.dataset.live) {
    listen();
    if (!window.location.hash && document.querySelector(".messages")) toEnd();
  }
};
