// A plan that is changed on its card and approved like that, by clicks at one size.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT, SIZE } = process.env;

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  await page.goto(new URL(`/c/${CHANNEL}/${ROOT}`, page.url()).href);
  await page.waitForSelector("html[data-ready]");
  const card = page.locator(".message", { hasText: `Plan at ${SIZE}` }).filter({ has: page.locator("[data-action]") });
  await card.getByText("Change it here").click();
  const steps = card.getByLabel("Steps, one per line");
  expect((await steps.inputValue()) === "do it", "the form holds the plan");
  await steps.fill(`do it\nand test it at ${SIZE}`);
  await card.getByLabel("Done when, one per line").fill("it works");
  await card.getByRole("combobox", { name: "Complexity" }).selectOption("complex");
  await card.getByRole("combobox", { name: "Model" }).selectOption("strong");
  await card.getByLabel("May cost, in dollars").fill("2.50");
  await judge(page, "a plan as a form");
  await picture(page, `${SIZE}-plan-form`);
  await card.getByRole("button", { name: "Approve it like this" }).click();
  const decided = page.locator(".message.decided", { hasText: `and test it at ${SIZE}` });
  await decided.waitFor();
  await decided.getByText("May cost at most: $2.50").waitFor();
  await decided.getByText("Built by: strong").waitFor();
  await decided.getByText(/Approved, with changes, by you/).waitFor();
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
