// The page with script switched off, on a phone: people log in, ask, review lines, decide,
// and find everything behind the menu.
import { expect, launch } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT } = process.env;

const browser = await launch();
try {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 375, height: 740 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(LOGIN);
  await page.getByRole("button", { name: "Open the workspace" }).click();
  await page.locator(".composer textarea").fill("a wish without script");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator(".message", { hasText: "a wish without script" }).waitFor();

  // Comments on lines, sent as one message.
  await page.goto(new URL(`/c/${CHANNEL}/${ROOT}/changes`, page.url()).href);
  await page.locator("#f0R2 .no a").click();
  await page.getByLabel("What should the Coder change here?").fill("Say it plainly.");
  await page.getByRole("button", { name: "Add to the review" }).click();
  await page.getByRole("button", { name: "Send 1 comment to the Coder" }).click();
  await page.locator(".comment .chip", { hasText: "P1" }).waitFor();

  // A card, and what it became.
  await page.goto(new URL(`/c/${CHANNEL}/${ROOT}`, page.url()).href);
  await page.locator('button[data-action="cb:merge1:merge"]').click();
  await page.locator(".message.decided").waitFor();
  const time = await page.locator(".message time").first().textContent();
  expect(/^\d{4}-\d\d-\d\d \d\d:\d\d$/.test(time), `a time is exact, but says ${time}`);

  // The rest is behind the menu.
  const out = page.getByRole("button", { name: "Log out" });
  expect(!(await out.isVisible()), "what has no room is folded away");
  await page.getByRole("checkbox", { name: "Menu" }).check();
  await page.getByRole("searchbox").first().fill("wish");
  await page.keyboard.press("Enter");
  await page.locator(".hits a", { hasText: "a wish without script" }).waitFor();
  await page.getByRole("checkbox", { name: "Menu" }).check();
  await out.click();
  await page.waitForURL(/\/login/);
  console.log("ok");
} finally {
  await browser.close();
}
