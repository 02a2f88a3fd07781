// A run over the roadmap at one size: a graph where there is room, a list elsewhere,
// both leading to the threads of the items.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { HUB, LOGIN, SIZE } = process.env;

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  await page.goto(new URL("/board", page.url()).href);
  await page.waitForSelector("html[data-ready]");
  const run = page.getByRole("region", { name: "Roadmap" });
  await run.waitFor();
  const graph = run.locator(".graph");
  expect((await graph.isVisible()) === (SIZE === "desktop"), `the graph at ${SIZE}`);
  expect((await run.locator(".node").count()) === 12, "a node for each item");
  expect((await run.locator(".items li").count()) === 12, "a line for each item");
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    await picture(page, `run-${SIZE}-${scheme}`);
  }
  await judge(page, "the board with a run");
  await run.getByRole("link", { name: /^3\. / }).click();
  await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
  expect(faults.length === 0, `no faults: ${faults}`);
  console.log("ok");
} finally {
  await browser.close();
}
