// Live work at one size: a command runs and waits; what the model said, what the command has
// written, the checklist and the change so far are seen on the page; only then the command is
// let go. Nothing of it becomes a message.
import { writeFileSync } from "node:fs";
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT, SIZE, GO, SECRET } = process.env;

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  const home = new URL("/", page.url()).href;
  await page.goto(`${home}c/${CHANNEL}`);
  await page.locator(".open .at", { hasText: "Coder" }).waitFor();
  await page.goto(`${home}c/${CHANNEL}/${ROOT}`);
  await page.waitForSelector("html[data-ready]");
  const work = page.locator("#work");
  expect(!(await work.locator(".output").isVisible()), "the work is folded away at first");
  await work.locator("> summary").click();
  await work.locator(".output", { hasText: "compiling one" }).waitFor();
  await work.locator(".saying", { hasText: "look at the output" }).waitFor();
  const shown = await work.locator(".output").textContent();
  expect(!shown.includes(SECRET), `no secret in ${shown}`);
  expect(!shown.includes("all compiled"), "the command has not ended");
  await work.locator("summary", { hasText: "Checklist" }).click();
  await work.locator(".steps .doing", { hasText: "build it" }).waitFor();
  await work.locator("summary", { hasText: "Change so far" }).click();
  await work.locator(".code", { hasText: "+hello" }).waitFor();
  await judge(page, "live work");
  await picture(page, `${SIZE}-work`);
  writeFileSync(GO, "");
  await page.locator(".message", { hasText: "Is this the greeting you meant?" }).waitFor();
  await work.getByText("Nobody is working here right now.").waitFor();
  expect((await page.locator(".message", { hasText: "compiling one" }).count()) === 0, "output is no message");
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
