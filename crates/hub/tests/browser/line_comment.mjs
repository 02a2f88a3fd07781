// One story by clicks at one size: the plan is approved, the change reviewed on its page,
// a line commented on with a suggestion, the fix seen as new since the last round, merged.
import { expect, launch, logIn, open } from "./common.mjs";

const { LOGIN, THREAD, SIZE } = process.env;
// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const patience = 240_000;

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  page.setDefaultTimeout(patience);
  const ready = () => page.waitForSelector("html[data-ready]");
  const go = async (below) => {
    await page.goto(new URL(`${THREAD}${below}`, page.url()).href);
    await ready();
  };
  const button = (ending) => page.locator(`.message.waiting button[data-action$="${ending}"]`).last();
  await logIn(page, LOGIN);
  await go("");
  await button(":approve").click();
  await button(":merge").waitFor();
  await page.getByRole("link", { name: "Review the changes" }).last().click();
  await page.waitForURL(/\/changes$/);
  await ready();
  await page.locator("#f0R1 .no a").click();
  await page.waitForURL(/at=f0R1/);
  await ready();
  await page.getByLabel("What should the Coder change here?").fill("Greet ana, please.");
  await page.getByText("Suggest other lines").click();
  await page.getByLabel("These lines become exactly").fill("hello ana");
  await page.getByRole("button", { name: "Add to the review" }).click();
  await page.getByRole("button", { name: "Send 1 comment to the Coder" }).click();

  // The fix comes in while the page is open; the comment is marked, and stays.
  await page.locator("#f0R1", { hasText: "hello ana" }).waitFor();
  await page.locator(".comment", { hasText: "Greet ana, please." }).getByText("changed since").waitFor();
  await page.locator(".message.waiting", { hasText: "One line for ana." }).waitFor();
  await go("/changes?since=1");
  await page.locator(".fresh", { hasText: "hello ana" }).waitFor();
  await button(":merge").click();
  await go("");
  await page.locator(".message", { hasText: /Merged #\d+ as/ }).first().waitFor();
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
