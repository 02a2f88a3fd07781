// Notifications of the browser, for whoever asked for them: what newly waits is told once,
// also by a tab in the background, unless the reader is looking at it.
const KNOWN = "codebutler.needs";
const WANTED = "codebutler.notify";
const can = window.isSecureContext && "Notification" in window && "serviceWorker" in navigator;
const button = document.getElementById("notify");

const wants = () => localStorage.getItem(WANTED) === "yes" && Notification.permission === "granted";

const label = () => {
  if (!button) return;
  button.hidden = !can;
  button.textContent = can && wants() ? "Stop telling me in this browser" : "Tell me in this browser";
};

const asked = async () => {
  if (wants()) localStorage.removeItem(WANTED);
  else if ((await Notification.requestPermission()) === "granted") {
    localStorage.setItem(WANTED, "yes");
    await navigator.serviceWorker.register("/sw.js");
  } else {
    button.insertAdjacentHTML("afterend", "<p class='soft' role='status'>Your browser says no: allow notifications for this page in its settings.</p>");
  }
  label();
};

// Whether this very page shows it to somebody.
const isSeen = ({ address }) => {
  const here = window.location.pathname;
  return document.visibilityState === "visible" && (here === "/needs" || here === address.split("#")[0]);
};

// After every look at what waits. The first one of a browser only takes note.
export const tellNeeds = async () => {
  const list = JSON.parse(document.querySelector("[data-needs]")?.dataset.needs ?? "[]");
  const known = JSON.parse(localStorage.getItem(KNOWN) ?? "null");
  localStorage.setItem(KNOWN, JSON.stringify(list.map(({ key }) => key)));
  if (!can || !wants() || !known) return;
  const fresh = list.filter((need) => !known.includes(need.key) && !isSeen(need));
  if (fresh.length === 0) return;
  const worker = await navigator.serviceWorker.register("/sw.js");
  await navigator.serviceWorker.ready;
  // The same tag in several tabs is one notification.
  for (const { key, title, why, address } of fresh.slice(0, 5)) {
    await worker.showNotification(why, { body: title, tag: key, data: { address }, icon: "/assets/waiting.svg" });
  }
};

export const startNotify = () => {
  if (!document.querySelector("[data-needs]")) return;
  button?.addEventListener("click", asked);
  label();
  tellNeeds();
};
