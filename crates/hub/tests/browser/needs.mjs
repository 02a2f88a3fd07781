// What needs the person through a whole story of the demo, at one size: nothing waits, then
// the plan, then the merge, then nothing; each is in the list, the badge, the title and the
// icon, a notification that was asked for tells it on another page, and its line leads to
// it. In the end a search finds the thread by a word and by a file.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, REQUEST, SIZE, WORD, FILE } = process.env;

const browser = await launch();
try {
  const { page, context, faults } = await open(browser, SIZE);
  page.setDefaultTimeout(120_000);
  await context.grantPermissions(["notifications"]);
  await logIn(page, LOGIN);
  const home = new URL("/", page.url()).href;
  const go = async (path) => {
    await page.goto(home + path);
    await page.waitForSelector("html[data-ready]");
  };
  const waits = async (count) => {
    await page.waitForFunction((n) => Number(document.querySelector("[data-waiting]")?.dataset.waiting) === n, count);
    await page.waitForFunction((n) => document.title.startsWith(n ? `(${n}) ` : "") && (n > 0 || !/^\(\d/.test(document.title)), count);
    const icon = await page.locator("link[rel=icon]").getAttribute("href");
    expect(icon.endsWith(count ? "waiting.svg" : "icon.svg"), `the icon says ${count}, but is ${icon}`);
  };
  const told = async (words) => {
    const find = async (text) => {
      const worker = await navigator.serviceWorker.getRegistration();
      const shown = (await worker?.getNotifications()) ?? [];
      return shown.some(({ title, body, data }) => title.includes(text) && body && data.address.startsWith("/c/"));
    };
    await page.waitForFunction(find, words, { polling: 200 });
  };

  await go("needs");
  await page.getByText("Nothing waits for you").waitFor();
  await waits(0);
  const ask = page.locator("#notify");
  expect((await ask.textContent()) === "Tell me in this browser", "notifications are off until somebody asks");
  await ask.click();
  await page.getByRole("button", { name: "Stop telling me in this browser" }).waitFor();
  await judge(page, "nothing waits", ["light"]);

  await go("");
  await page.locator(".composer textarea").fill(REQUEST);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
  await go("cost");
  await waits(1);
  await told("The plan is waiting for approval");
  // The list, and from there to the card.
  const follow = async (kind) => {
    await go("needs");
    const line = page.locator(".needs li", { hasText: kind }).first();
    await line.waitFor();
    await judge(page, `what waits: ${kind}`, ["light"]);
    await picture(page, `${SIZE}-needs`);
    await line.getByRole("link").click();
    await page.waitForSelector("html[data-ready]");
  };
  await follow("Plan");
  await page.locator('.message.waiting button[data-action$=":approve"]').click();
  await page.locator(".message.decided").first().waitFor();
  await go("cost");
  await told("The change is ready to merge");
  await follow("Merge");
  const merge = page.locator('.message.waiting button[data-action$=":merge"]');
  await merge.waitFor();
  await merge.click();
  await page.locator(".message", { hasText: /^(?:(?!Ready).)*Merged #\d+ as/s }).first().waitFor();
  const thread = new URL(page.url()).pathname;
  await go("needs");
  await page.locator(".needs li", { hasText: "Merge" }).waitFor({ state: "detached" });

  for (const words of [WORD, FILE]) {
    await go(`search?q=${encodeURIComponent(words)}`);
    const hit = page.locator(`.hits a[href^="${thread}"]`).first();
    await hit.waitFor();
    await judge(page, `what a search for ${words} finds`, ["light"]);
  }
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
