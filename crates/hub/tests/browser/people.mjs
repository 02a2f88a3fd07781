// Several people at one size, by clicks: the owner invites a guest and an approver, who
// come by their links; the guest may ask and not approve, the approver may; a guest who
// is given more rights may too; who is sent away is out at once.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT, SIZE } = process.env;

const browser = await launch();
try {
  const owner = await open(browser, SIZE);
  await logIn(owner.page, LOGIN);
  const home = new URL("/", owner.page.url()).href;
  const go = async (page, path) => {
    await page.goto(home + path);
    await page.waitForSelector("html[data-ready]");
  };

  const invite = async (name, may) => {
    await go(owner.page, "people");
    await owner.page.getByLabel("Name").fill(name);
    await owner.page.getByRole("combobox", { name: "Rights" }).selectOption({ label: may });
    await owner.page.getByRole("button", { name: "Make a link" }).click();
    const link = await owner.page.getByLabel("Invitation").inputValue();
    const visitor = await open(browser, SIZE);
    await logIn(visitor.page, link);
    return { ...visitor, link };
  };
  const guest = await invite(`gus-${SIZE}`, "may ask");
  const approver = await invite(`abe-${SIZE}`, "may ask and approve");

  // A link works once.
  const late = await open(browser, SIZE);
  await late.page.goto(guest.link);
  await late.page.getByRole("button", { name: "Open the workspace" }).click();
  await late.page.locator(".problem").waitFor();

  // The guest asks, and is told that approving is not theirs.
  await go(guest.page, `c/${CHANNEL}/${ROOT}`);
  const card = (page) => page.locator(".message", { hasText: `Plan at ${SIZE}` }).filter({ has: page.locator("[data-action]") });
  const shown = guest.page.locator(".message.waiting", { hasText: `Plan at ${SIZE}` });
  await shown.getByText("Waiting for somebody who may decide it").waitFor();
  expect((await guest.page.locator("[data-action]").count()) === 0, "a guest sees no button that would refuse them");
  await guest.page.getByRole("textbox", { name: "Reply in this thread" }).fill(`a question of gus at ${SIZE}`);
  await guest.page.keyboard.press("Enter");
  await guest.page.locator(".message", { hasText: `a question of gus at ${SIZE}` }).waitFor();
  await go(guest.page, "people");
  expect(!(await guest.page.getByText("Invite somebody").isVisible()), "a guest invites nobody");
  await guest.page.getByText("Where you are logged in").waitFor();
  await judge(guest.page, "people of a guest", ["light"]);

  // The approver decides, under their own name.
  await go(approver.page, `c/${CHANNEL}/${ROOT}`);
  await card(approver.page).getByRole("button", { name: "Approve" }).click();
  await approver.page.locator(".message.decided", { hasText: `Approved by abe-${SIZE}` }).waitFor();

  // Rights change while somebody looks; then the door closes.
  await go(owner.page, "people");
  await judge(owner.page, "people");
  await picture(owner.page, `${SIZE}-people`);
  const row = owner.page.getByRole("row", { name: new RegExp(`gus-${SIZE}`) }).first();
  await row.getByRole("combobox").selectOption({ label: "may ask, approve and merge" });
  const changed = owner.page.waitForResponse((answer) => answer.request().method() === "POST");
  await row.getByRole("button", { name: "Change" }).click();
  await changed;
  await go(guest.page, "people");
  await guest.page.getByText("may ask, approve and merge").first().waitFor();
  await go(guest.page, `c/${CHANNEL}/${ROOT}`);
  owner.page.removeAllListeners("dialog");
  owner.page.once("dialog", (dialog) => dialog.accept());
  await row.getByRole("button", { name: "Send away" }).click();
  await guest.page.waitForURL(/\/login/);
  for (const { faults } of [owner, guest, approver]) expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
