// Stands in for a page in the background: a click on a notification leads to what waits.
// It keeps nothing and answers no requests.
const lead = async (address) => {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find((one) => one.url === address) ?? pages[0];
  if (!page) return self.clients.openWindow(address);
  await page.focus();
  return page.url === address ? page : page.navigate(address).catch(() => self.clients.openWindow(address));
};

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const address = new URL(event.notification.data?.address ?? "/needs", self.location.origin);
  if (address.origin === self.location.origin) event.waitUntil(lead(address.href));
});
