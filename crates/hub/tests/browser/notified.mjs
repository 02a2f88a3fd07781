// A notification at one size: asked for on "Needs you", and shown on another page for a card
// that comes while that page is open.
import { writeFileSync } from "node:fs";
import { expect, launch, logIn, open } from "./common.mjs";

const { LOGIN, SIZE, READY } = process.env;

const browser = await launch();
try {
  const { page, context, faults } = await open(browser, SIZE);
  await context.grantPermissions(["notifications"]);
  await logIn(page, LOGIN);
  const home = new URL("/", page.url()).href;
  const go = async (path) => {
    await page.goto(home + path);
    await page.waitForSelector("html[data-ready]");
  };
  const shown = () =>
    page.evaluate(async () => {
      const worker = await navigator.serviceWorker.getRegistration();
      return ((await worker?.getNotifications()) ?? []).map(({ title, body, data }) => `${title} ${body} ${data.address}`);
    });
  await go("needs");
  await page.getByRole("button", { name: "Tell me in this browser" }).click();
  await page.getByRole("button", { name: "Stop telling me in this browser" }).waitFor();
  await go("cost");
  await page.waitForTimeout(1500);
  expect((await shown()).length === 0, "nothing waits yet, and nothing is told");
  writeFileSync(READY, "");
  await page.locator("[data-waiting='1']").waitFor({ state: "attached" });
  const end = Date.now() + 20_000;
  while ((await shown()).length === 0) {
    expect(Date.now() < end, "the card is told");
    await page.waitForTimeout(100);
  }
  const [told, ...more] = await shown();
  expect(more.length === 0 && told.includes("waiting for approval") && told.includes(`a wish at ${SIZE}`) && told.includes("/c/"), told);
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
