// The whole demo by clicks, at one size: a request, the plan, Approve, the pull
// request, Merge.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, REQUEST, SIZE } = process.env;
// Colours do not depend on the size: dark is judged once.
const schemes = SIZE === "desktop" ? ["light", "dark"] : ["light"];

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  await page.locator(".composer textarea").fill(REQUEST);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const button = (choice) => page.locator(`.message.waiting button[data-action$=":${choice}"]`);
  await button("approve").waitFor();
  await judge(page, "the plan", schemes);
  await button("approve").scrollIntoViewIfNeeded();
  await picture(page, `${SIZE}-plan`);
  await button("approve").click();
  await page.locator(".status .working").waitFor();
  // Whatever else is asked on the way is accepted.
  const merged = page.locator(".message", { hasText: /^(?:(?!Ready).)*Merged #\d+ as/s }).first();
  const end = Date.now() + 100_000;
  while (!(await merged.isVisible())) {
    expect(Date.now() < end, "the story comes to its end");
    const next = page.locator('.message.waiting button.primary[data-action^="cb:"]').first();
    if (await next.isVisible()) {
      if ((await next.getAttribute("data-action")).endsWith(":merge")) {
        await judge(page, "the merge card", ["light"]);
      }
      await next.click().catch(() => {});
    }
    await page.waitForTimeout(100);
  }
  await picture(page, `${SIZE}-merged`);
  await judge(page, "the merged thread", ["light"]);

  // The other views of the same story.
  const thread = page.url();
  const views = {
    timeline: [`${thread}/timeline`, ".timeline .tool summary"],
    changes: [`${thread}/changes`, "table.diff .add"],
    "thread-cost": [`${thread}/cost`, ".bill .coder"],
    board: [new URL("/board", thread).href, ".column .ticket"],
    cost: [new URL("/cost", thread).href, ".chart .column"],
    agents: [new URL("/agents", thread).href, ".agent .ready"],
  };
  for (const [name, [address, sign]] of Object.entries(views)) {
    await page.goto(address);
    await page.locator(sign).first().waitFor({ state: "attached" });
    if (name === "timeline") {
      const folded = page.locator(".activation:not([open]) > summary");
      while (await folded.count()) await folded.first().click();
      await page.locator(sign).first().click();
      const link = await page.locator(".activation .permalink").first().getAttribute("href");
      await page.goto(new URL(link, address).href);
      await page.locator(`[id="${link.split("#")[1]}"]`).waitFor();
    }
    await judge(page, name, schemes);
    if (SIZE === "desktop" && name !== "thread-cost") await picture(page, `${SIZE}-${name}`);
  }
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
