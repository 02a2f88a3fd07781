// Every view of a seeded workspace, and what holds for all of them.
import { expect, judge, launch, logIn, open } from "./common.mjs";
import { tour, viewsOf, widths } from "./tour.mjs";

const { LOGIN, CHANNEL, ROOT } = process.env;
const thread = `/c/${CHANNEL}/${ROOT}`;

const browser = await launch();
try {
  const { page, context, faults } = await open(browser, "desktop");
  await logIn(page, LOGIN);
  await tour(page, viewsOf(CHANNEL, thread, "1-2"));
  // Tabs stay in sight on a phone, however far one has scrolled.
  await page.goto(new URL(thread, page.url()).href);
  await page.waitForSelector("html[data-ready]");
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await page.waitForTimeout(100);
  const top = await page.locator(".tabs").evaluate((tabs) => tabs.getBoundingClientRect().top);
  expect(top >= 0 && top < 90, `tabs stay in sight, but are at ${top}`);
  const side = await page.locator(".side").evaluate((bar) => bar.getBoundingClientRect().top);
  expect(side === 0, `the way to everything stays in sight, but is at ${side}`);
  // A time says how long ago, and when exactly.
  const time = page.locator(".message time").first();
  expect(/^(just now|\d+ (min|h) ago)$/.test(await time.textContent()), "a time says how long ago");
  expect(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(await time.getAttribute("title")), "and when exactly");
  await context.clearCookies();
  for (const [width, height] of widths) {
    await page.setViewportSize({ width, height });
    await page.goto(new URL("/login", page.url()).href);
    await judge(page, `login at ${width}`);
  }
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
