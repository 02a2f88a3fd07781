// Every view at the widths that people have, in light and dark: nothing serious for axe,
// nothing wider than the screen, and a picture of each where pictures are wanted.
import { expect, judge, picture } from "./common.mjs";

export const widths = [
  [1440, 900],
  [1024, 720],
  [375, 740],
];

// All views of a workspace with one thread that is worth looking at, and lines of its first
// file that can be commented on.
export const viewsOf = (channel, thread, lines) => ({
  needs: "/needs",
  channel: `/c/${channel}`,
  thread,
  timeline: `${thread}/timeline`,
  changes: `${thread}/changes`,
  split: `${thread}/changes?view=split`,
  comment: `${thread}/changes?at=f0R${lines}`,
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
});

// What stands around every view: who is there, and on a phone the way to everything.
const frame = async (page, name, width) => {
  const team = page.locator(".side .team li").first();
  await team.waitFor({ state: "attached" });
  if (width > 700) {
    expect(await team.isVisible(), `the team stands beside ${name}`);
    return;
  }
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  const out = page.getByRole("button", { name: "Log out" });
  await page.getByRole("checkbox", { name: "Menu" }).check();
  for (const one of [team, out, page.locator(".side .search input")]) await one.waitFor();
  await judge(page, `the menu of ${name}`, ["light"]);
  await page.getByRole("checkbox", { name: "Menu" }).uncheck();
  await page.evaluate(() => window.scrollTo(0, 0));
};

export const tour = async (page, views) => {
  for (const [name, address] of Object.entries(views)) {
    await page.goto(new URL(address, page.url()).href);
    await page.waitForSelector("html[data-ready]");
    for (const [width, height] of widths) {
      await page.setViewportSize({ width, height });
      await judge(page, `${name} at ${width}`);
      if (await page.locator(".side").count()) await frame(page, name, width);
      for (const colorScheme of process.env.PICTURES ? ["light", "dark"] : []) {
        await page.emulateMedia({ colorScheme });
        // What the view is about, not what stands above it.
        if (address.includes("/changes?")) await page.locator(".surface").evaluate((one) => one.scrollIntoView());
        await picture(page, `${name}-${width}-${colorScheme}`);
      }
    }
  }
};
