// What a person can do to a thread at any time, by clicks on the buttons beside it:
// hold, resume, merge and archive one story, close another.
import { expect, launch, logIn, open } from "./common.mjs";

const { LOGIN, STORIES } = process.env;
const [first, second] = JSON.parse(STORIES);
// Generous: the machine may be busy. Reaching it is a failure, not a measure.
const patience = 240_000;

const browser = await launch();
try {
  const { page, faults } = await open(browser, "desktop");
  page.setDefaultTimeout(patience);
  const card = (ending) => page.locator(`.message.waiting button[data-action$="${ending}"]`).last();
  const said = (text) => page.locator(".message", { hasText: text });
  const beside = page.getByRole("region", { name: "Act on this thread" });
  const act = (name) => beside.getByRole("button", { name, exact: true });
  const offered = async () => (await beside.getByRole("button").allTextContents()).map((name) => name.trim());

  // A story up to its merge card; whatever else is asked on the way is allowed.
  const build = async (request) => {
    await page.goto(new URL("/", page.url()).href);
    await page.waitForSelector("html[data-ready]");
    await page.locator(".requests button", { hasText: request }).click();
    await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
    await page.waitForSelector("html[data-ready]");
    await card(":approve").waitFor();
    expect((await offered()).join() === "Archive", "before there is a pull request a thread can be archived");
    await card(":approve").click();
    const end = Date.now() + patience;
    while (!(await card(":merge").isVisible())) {
      expect(Date.now() < end, `${request}: the merge card comes`);
      const other = page.locator('.message.waiting button.primary[data-action^="cb:"]:not([data-action$=":merge"])').first();
      // It may be gone by the time of the click, which must not wait for it.
      if (await other.isVisible()) await other.click({ timeout: 2_000 }).catch(() => {});
      await page.waitForTimeout(100);
    }
    await act("Merge…").waitFor();
    expect((await offered()).join() === "Merge…,Hold,Close…,Archive", `with a pull request: ${await offered()}`);
  };

  await logIn(page, LOGIN);
  await build(first);
  await act("Hold").click();
  await said(/Held by/).first().waitFor();
  await act("Resume").waitFor();
  expect(!(await card(":merge").isVisible()), "no card is open");
  await act("Resume").click();
  await card(":merge").waitFor();
  await act("Merge…").click();
  await said(/Merged #\d+ as/).first().waitFor();
  await act("Merge…").waitFor({ state: "detached" });
  expect((await offered()).join() === "Archive", `after the merge: ${await offered()}`);
  await act("Archive").click();
  await said(/Archived|put away/).first().waitFor();

  await build(second);
  // Held first, so that no card is open: closing brings one.
  await card(":hold").click();
  await act("Resume").waitFor();
  await act("Close…").click();
  await card(":close").click();
  await said(/Closed #\d+ without merging/).first().waitFor();
  await act("Close…").waitFor({ state: "detached" });
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
