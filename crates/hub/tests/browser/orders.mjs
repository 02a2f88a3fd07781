// The demo's stories by clicks, one after another, in the order of STORIES. Each
// meets one obstacle on its way, a plan that is changed, a plan that is rejected,
// a merge that is held, and a person who says something that no story knows.
import { expect, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, STORIES } = process.env;
const stories = JSON.parse(STORIES);

// Other stories in the same project must not depend on which was merged before.
const obstacles = ["modify", "reject", "hold"];
// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const patience = 240_000;

const browser = await launch();
try {
  const { page, faults } = await open(browser, "desktop");
  page.setDefaultTimeout(patience);
  const button = (ending) => page.locator(`.message.waiting button[data-action$="${ending}"]`).last();
  const any = (ending) => page.locator(`button[data-action$="${ending}"]`).last();
  const said = (text) => page.locator(".message", { hasText: text });
  const reply = async (text) => {
    await page.getByRole("textbox", { name: "Reply in this thread" }).fill(text);
    await page.keyboard.press("Enter");
    await said(text).first().waitFor();
  };
  const press = async (locator) => {
    await locator.waitFor();
    await locator.click();
  };
  // A card is drawn anew when it was decided, so the next one is another one.
  const gone = async (locator, act) => {
    await locator.waitFor();
    const action = await locator.getAttribute("data-action");
    await locator.click();
    await act?.();
    await page.locator(`button[data-action="${action}"]`).waitFor({ state: "detached" });
  };
  const ask = async (request) => {
    await page.goto(new URL("/", page.url()).href);
    await page.waitForSelector("html[data-ready]");
    await page.locator(".requests button", { hasText: request }).click();
    await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
    await page.waitForSelector("html[data-ready]");
  };

  await logIn(page, LOGIN);
  for (const [number, { request, allow }] of stories.entries()) {
    const obstacle = obstacles[(number + Number(process.env.TURN ?? 0)) % obstacles.length];
    await ask(request);
    await button(":approve").waitFor();
    if (obstacle === "modify") {
      await gone(button(":modify"), () => said("What should be different?").first().waitFor());
      await reply("please make it blue");
      await said("please make it blue").nth(1).waitFor();
    }
    if (obstacle === "reject") {
      await gone(button(":reject"));
      await press(any("cb-why-big"));
    }
    await button(":approve").waitFor();
    await picture(page, `order-${number}-${obstacle}`);
    await gone(button(":approve"));
    // Said while they work, or when they have just finished: somebody answers.
    // Whoever waits for a click says so; everybody else, that they play a script.
    const answers = "script|waits for your click";
    const before = await said(new RegExp(answers)).count();
    await reply("how long will this take?");

    // Whatever else is asked is decided, until the merge card is there.
    const end = Date.now() + patience;
    while (!(await button(":merge").isVisible())) {
      expect(Date.now() < end, `${request}: the merge card comes`);
      const command = said("May I run this?").locator(`button[data-action$=":${allow ? "approve" : "reject"}"]`);
      const learning = button(allow ? ":accept" : ":reject");
      if (await command.isVisible()) await command.click().catch(() => {});
      else if (await learning.isVisible()) await learning.click().catch(() => {});
      await page.waitForTimeout(100);
    }
    await page.waitForFunction(
      ([answers, count]) => [...document.querySelectorAll(".message")].filter((one) => new RegExp(answers).test(one.textContent)).length > count,
      [answers, before],
    );
    if (obstacle === "hold") {
      await gone(button(":hold"));
      await reply("let us go on with it");
      await button(":merge").waitFor();
    }
    await gone(button(":merge"));
    await said(/Merged #\d+ as/).last().waitFor();
    await said("Now your repo").first().waitFor();
    await picture(page, `order-${number}-end`);
  }

  // The first one again: it is there already.
  await ask(stories[0].request);
  await said(/already/).first().waitFor();
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
