// Every view, in light and dark, at the widths that people have.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT } = process.env;
const thread = `/c/${CHANNEL}/${ROOT}`;
const views = {
  needs: "/needs",
  channel: `/c/${CHANNEL}`,
  thread,
  timeline: `${thread}/timeline`,
  changes: `${thread}/changes`,
  split: `${thread}/changes?view=split`,
  comment: `${thread}/changes?at=f0R1-2`,
  "thread-cost": `${thread}/cost`,
  board: "/board",
  agents: "/agents",
  cost: "/cost",
  memory: "/memory",
  servers: "/servers",
  people: "/people",
  search: "/search?q=json",
  "search-nothing": "/search?q=nothinglikethis",
  problem: "/c/CNOBODY",
  nowhere: "/no/such/page",
};
const sizes = [
  [1440, 900],
  [1024, 720],
  [375, 740],
];

const browser = await launch();
try {
  const { page, context, faults } = await open(browser, "desktop");
  await logIn(page, LOGIN);
  for (const [name, address] of Object.entries(views)) {
    await page.goto(new URL(address, page.url()).href);
    await page.waitForSelector("html[data-ready]");
    for (const [width, height] of sizes) {
      await page.setViewportSize({ width, height });
      await judge(page, `${name} at ${width}`);
      for (const colorScheme of width === 1024 ? ["light", "dark"] : []) {
        await page.emulateMedia({ colorScheme });
        await picture(page, `${name}-${colorScheme}`);
      }
    }
  }
  // Tabs stay in sight on a phone, however far one has scrolled.
  await page.goto(new URL(thread, page.url()).href);
  await page.waitForSelector("html[data-ready]");
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await page.waitForTimeout(100);
  const top = await page.locator(".tabs").evaluate((tabs) => tabs.getBoundingClientRect().top);
  expect(top >= 0 && top < 60, `tabs stay in sight, but are at ${top}`);
  // A time says how long ago, and when exactly.
  const time = page.locator(".message time").first();
  expect(/^(just now|\d+ (min|h) ago)$/.test(await time.textContent()), "a time says how long ago");
  expect(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(await time.getAttribute("title")), "and when exactly");
  await context.clearCookies();
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height });
    await page.goto(new URL("/login", page.url()).href);
    await judge(page, `login at ${width}`);
  }
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
