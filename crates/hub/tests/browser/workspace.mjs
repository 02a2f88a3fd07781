// A person at work on the page, at one size: posts, opens a thread, fills in,
// clicks, uploads, reacts; the page stays accessible, live and inert.
import { expect, judge, launch, logIn, open } from "./common.mjs";

const { HUB, LOGIN, CHANNEL, ROOT, LONG, BOT_TOKEN, SIZE } = process.env;

const asAgent = async (text) => {
  const answer = await fetch(`${HUB}api/chat.postMessage`, {
    method: "POST",
    headers: { authorization: `Bearer ${BOT_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ channel: CHANNEL, thread_ts: ROOT, text, username: "codebutler.pm" }),
  });
  expect((await answer.json()).ok, "the agent posts");
};

// A red dot: the smallest picture there is.
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  const message = (text) => page.locator(".message", { hasText: text });

  await page.goto(`${HUB}login`);
  await judge(page, "login", SIZE === "desktop" ? undefined : ["light"]);
  await logIn(page, LOGIN);
  // The session is good under the name that the login led to.
  const home = new URL("/", page.url()).href;

  // A new thread opens itself.
  await page.getByRole("textbox", { name: "What would you like" }).fill(`a request at ${SIZE} size`);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
  await message(`a request at ${SIZE} size`).waitFor();
  await page.goto(`${home}c/${CHANNEL}`);
  await message(`a request at ${SIZE} size`).waitFor();
  await judge(page, "channel");

  // The seeded thread, by its link.
  await page.locator(`.entry:has(#m${ROOT.replace(".", "\\.")}) .open a`).click();
  await page.waitForURL(new RegExp(`${ROOT}$`));
  await page.waitForSelector("html[data-ready]");
  await message("Pick").first().waitFor();
  await judge(page, "thread");
  const bar = await page.locator(".rail").evaluate((rail) => rail.getBoundingClientRect().width);
  if (SIZE !== "desktop") {
    expect(bar >= page.viewportSize().width - 1, `no message shows beside the status: ${bar}`);
  }

  // What arrives while somebody writes takes neither words, ticks nor focus.
  const box = page.getByRole("textbox", { name: "Reply in this thread" });
  const why = page.getByLabel(`Why at ${SIZE}`);
  await why.fill("half a reason");
  await asAgent(`news at ${SIZE} size`);
  await message(`news at ${SIZE} size`).waitFor();
  expect((await why.inputValue()) === "half a reason", "a half-filled field stays");
  expect(await why.evaluate((field) => field === document.activeElement), "focus stays");

  // Fields and buttons.
  const fields = page.locator(".message", { has: why });
  await fields.getByRole("checkbox", { name: "Two" }).check();
  await why.fill("because");
  await fields.getByRole("button", { name: "Send" }).click();

  // A decision; the card says it once.
  const card = message(`Plan at ${SIZE}`).filter({ has: page.locator("[data-action]") });
  await card.getByRole("button", { name: "Approve" }).click();
  const decided = page.locator(".message.decided", { hasText: `Plan at ${SIZE}` });
  await decided.waitFor();
  expect((await decided.innerText()).match(/Approved by/g)?.length === 1, "the decision is said once");

  // A picture, shown in place.
  await page.locator(".composer input[type=file]").setInputFiles({ name: `dot <b>${SIZE}</b>.png`, mimeType: "image/png", buffer: dot });
  await page.locator(".chosen li").waitFor();
  await box.fill(`a picture at ${SIZE} size`);
  await page.getByRole("button", { name: "Send", exact: true }).last().click();
  const shown = message(`a picture at ${SIZE} size`).locator("img");
  await shown.scrollIntoViewIfNeeded();
  await page.waitForFunction((image) => image.complete && image.naturalWidth === 1, await shown.elementHandle());

  // A message that changes under the hand keeps what was filled in.
  const second = page.getByLabel(`Why at ${SIZE}`);
  await second.fill("not sent yet");
  const holder = page.locator(".message", { has: second });
  const mark = await fetch(`${HUB}api/reactions.add`, {
    method: "POST",
    headers: { authorization: `Bearer ${BOT_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ channel: CHANNEL, timestamp: (await holder.getAttribute("id")).slice(1), name: "eyes" }),
  });
  expect((await mark.json()).ok, "the agent reacts");
  await holder.locator(".pill").waitFor();
  expect((await second.inputValue()) === "not sent yet", "a field stays filled when its message changes");

  // A reaction, added and taken back.
  const mine = message(`a picture at ${SIZE} size`);
  const react = async () => {
    await mine.hover();
    await mine.locator(".react summary").click();
    await mine.locator(".react").getByRole("button", { name: "tada" }).click();
  };
  await react();
  await mine.locator(".pill[aria-pressed=true]").waitFor();
  await mine.locator(".pill").click();
  await mine.locator(".pill").waitFor({ state: "detached" });
  await react();
  await mine.locator(".pill[aria-pressed=true]").waitFor();

  // By keyboard.
  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("k");
  expect(await page.evaluate(() => document.activeElement.matches(".message")), "k goes to a message");
  await judge(page, "thread after work", ["light"]);

  // A long thread: the newest part first, the rest on demand, each message once.
  await page.goto(`${home}c/${CHANNEL}/${LONG}`);
  await message("reply 119.").waitFor();
  expect((await message("reply 5.").count()) === 0, "old replies are not loaded at first");
  await page.getByRole("link", { name: "Show earlier messages" }).click();
  await message("reply 5.").waitFor({ state: "attached" });
  await page.locator(".earlier").waitFor({ state: "detached" });
  const ids = await page.locator(".message").evaluateAll((all) => all.map((one) => one.id));
  expect(ids.length === 121 && new Set(ids).size === 121, `121 messages once, but ${ids.length}`);
  expect(ids.join() === [...ids].sort().join(), "messages stand in the order of time");

  // The hub goes away and comes back.
  await page.route("**/v1/events", (route) => route.abort());
  await page.reload();
  await page.locator(".offline").waitFor();
  await page.unroute("**/v1/events");
  await page.locator(".offline").waitFor({ state: "hidden" });

  const hacked = await page.evaluate(() => window.hacked);
  expect(hacked === undefined, "no probe ran");
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
