// The pictures of every view, from a demo with two stories: one that was merged, and one
// whose plan waits. Everything is judged on the way, with what a team really says.
import { expect, launch, logIn, open } from "./common.mjs";
import { tour, viewsOf } from "./tour.mjs";

const { LOGIN, REQUEST, OTHER } = process.env;

const browser = await launch();
try {
  const { page, faults } = await open(browser, "desktop");
  page.setDefaultTimeout(120_000);
  await logIn(page, LOGIN);
  const channel = new URL(page.url()).pathname.split("/")[2];
  const home = page.url();
  const ask = async (words) => {
    await page.goto(home);
    await page.waitForSelector("html[data-ready]");
    await page.locator(".composer textarea").fill(words);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
    return new URL(page.url()).pathname;
  };
  const press = async (choice) => {
    const button = page.locator(`.message.waiting button[data-action$=":${choice}"]`).first();
    await button.waitFor();
    await button.click();
  };
  const thread = await ask(REQUEST);
  await press("approve");
  await press("merge");
  await page.locator(".message", { hasText: /^(?:(?!Ready).)*Merged #\d+ as/s }).first().waitFor();
  const waiting = await ask(OTHER);
  await page.locator('.message.waiting button[data-action$=":approve"]').first().waitFor();
  await page.goto(new URL("/people", home).href);
  await page.getByLabel("Name").fill("ana");
  await page.getByRole("button", { name: "Make a link" }).click();
  await tour(page, { ...viewsOf(channel, thread, "6-7"), plan: waiting });
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
