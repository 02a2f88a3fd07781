// Listens to the hub, and asks for what changed.
import { tellNeeds } from "./notify.js";
import { remember, swap } from "./swap.js";

const shell = document.querySelector(".shell");
const offline = document.querySelector(".offline");

const scroller = document.scrollingElement;
const atEnd = () => window.innerHeight + window.scrollY >= scroller.scrollHeight - 120;
const toEnd = () => window.scrollTo(0, scroller.scrollHeight);

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
    // What comes in under the reader's eyes is read.
    const address = new URL(shell.dataset.live, window.location.href);
    if (document.visibilityState === "visible") address.searchParams.set("seen", "1");
    const answer = await fetch(address, { credentials: "same-origin" });
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

// What waits and what is new: at the side of every page, in its title and its icon.
let around;
const refreshAround = () => {
  around ??= setTimeout(async () => {
    around = undefined;
    const nav = document.querySelector("[data-part=nav]");
    const answer = await fetch(`/nav?at=${encodeURIComponent(nav.dataset.at)}`, { credentials: "same-origin" }).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    swap(await answer.text());
    const count = Number(nav.querySelector("[data-waiting]")?.dataset.waiting ?? 0);
    document.title = (count ? `(${count}) ` : "") + document.title.replace(/^\(\d+\) /, "");
    document.querySelector("link[rel=icon]").href = `/assets/${count ? "waiting" : "icon"}.svg`;
    tellNeeds();
  }, 700);
};

const listen = () => {
  const source = new EventSource("/v1/events");
  const { channel, root } = shell.dataset;
  const heard = (event) => {
    const data = JSON.parse(event.data);
    const mine = (!channel || data.channel === channel) && (!root || data.root === root);
    if (mine) refresh();
    refreshAround();
  };
  source.addEventListener("event", heard);
  source.addEventListener("page", heard);
  source.addEventListener("agents", () => {
    refresh();
    refreshAround();
  });
  source.addEventListener("reload", refresh);
  source.addEventListener("open", () => {
    // Also at the first time: something may have changed since the page was made.
    offline.hidden = true;
    refresh();
    refreshAround();
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
  swap(await answer.text(), true);
  window.scrollTo(0, scroller.scrollHeight - before);
};

export const startLive = () => {
  if (!shell) return;
  for (const part of document.querySelectorAll("[data-part]")) remember(part);
  document.addEventListener("click", loadEarlier);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
  listen();
  if (shell.dataset.live) {
    if (!window.location.hash && document.querySelector(".messages .message")) toEnd();
  }
};
