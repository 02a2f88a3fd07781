// The palette and the keyboard at one size: Ctrl-K leads to a view, to a thread by its words
// and to an action of the page, which is only led to; nothing but keys is used.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT, SIZE, WORDS } = process.env;

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  const home = new URL("/", page.url()).href;
  const keys = page.keyboard;
  const ask = async (words) => {
    await keys.press("Control+k");
    await page.locator("dialog.palette[open] input").waitFor();
    await keys.type(words);
  };
  await ask("board");
  await page.locator(".palette li[aria-selected=true]", { hasText: "Board" }).waitFor();
  await judge(page, "the palette");
  await picture(page, `${SIZE}-palette`);
  await keys.press("Enter");
  await page.waitForURL(`${home}board`);
  await page.waitForSelector("html[data-ready]");

  await ask(WORDS);
  await page.locator(".palette li", { hasText: "thread" }).first().waitFor();
  const rows = await page.locator(".palette li").allTextContents();
  for (let step = rows.findIndex((row) => row.includes("thread")); step > 0; step--) await keys.press("ArrowDown");
  await keys.press("Enter");
  await page.waitForURL(new RegExp(`/c/${CHANNEL}/${ROOT}`));
  await page.waitForSelector("html[data-ready]");

  await ask("approve");
  await page.locator(".palette li", { hasText: "Approve" }).first().waitFor();
  await keys.press("Enter");
  const focused = await page.evaluate(() => document.activeElement?.textContent.trim());
  expect(focused.startsWith("Approve"), `the button has the focus, not ${focused}`);
  expect((await page.locator(".message.decided").count()) === 0, "nothing is decided by the palette");
  await keys.press("Control+k");
  await keys.press("Escape");
  expect(!(await page.locator("dialog.palette[open]").isVisible()), "Esc closes it");
  // In every view the same keys go through what is there and open it.
  for (const [path, thing] of [["needs", ".needs li"], ["board", ".ticket"]]) {
    await page.goto(home + path);
    await page.waitForSelector("html[data-ready]");
    await keys.press("j");
    expect(await page.locator(thing).first().evaluate((one) => one === document.activeElement), `j is at the first of ${path}`);
    await keys.press("Enter");
    await page.waitForURL(new RegExp(`/c/${CHANNEL}/${ROOT}`));
  }
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
