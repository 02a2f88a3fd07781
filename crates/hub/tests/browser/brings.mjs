// Somebody brings files with a question: some are chosen, the rest are dropped; the page
// shows the answer of whoever read them.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, launch, logIn, open } from "./common.mjs";

const { LOGIN, WORDS, ANSWER } = process.env;
const files = JSON.parse(process.env.FILES);

const browser = await launch();
try {
  const { page, faults } = await open(browser, "desktop");
  await logIn(page, LOGIN);
  const [dropped, chosen] = [files.slice(-3), files.slice(0, -3)];
  await page.locator(".composer input[type=file]").setInputFiles(chosen);
  const small = dropped.map((path) => [basename(path), readFileSync(path).toString("base64")]);
  await page.evaluate((small) => {
    const brought = new DataTransfer();
    for (const [name, coded] of small) {
      brought.items.add(new File([Uint8Array.from(atob(coded), (one) => one.charCodeAt(0))], name));
    }
    document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: brought }));
  }, small);
  expect((await page.locator(".chosen li").count()) === files.length, "all are listed");
  await page.getByRole("textbox", { name: "What would you like" }).fill(WORDS);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/c\/[^/]+\/[\d.]+$/);
  await page.locator(".message", { hasText: ANSWER }).waitFor({ timeout: 120_000 });
  const audio = page.locator("audio").first();
  const seconds = await audio.evaluate(async (sound) => {
    if (Number.isNaN(sound.duration)) await new Promise((known) => sound.addEventListener("loadedmetadata", known, { once: true }));
    return sound.duration;
  });
  expect(seconds > 0.5 && seconds < 30, `spoken words can be played, ${seconds} s of them`);
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
