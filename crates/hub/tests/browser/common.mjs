// What the browser tests share: a browser that goes nowhere but to the hub, a
// page that must stay free of errors and dialogs, and the judge of
// accessibility.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const dir = process.env.BROWSER_DIR;
const require = createRequire(join(dir, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const expect = (truth, what) => {
  if (!truth) throw new Error(`expected: ${what}`);
};

export const sizes = {
  desktop: { width: 1280, height: 860 },
  phone: { width: 375, height: 740 },
};

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"],
  });

// A page at a size; whatever goes wrong on it is collected and fails the test.
export const open = async (browser, size) => {
  const phone = size === "phone";
  const context = await browser.newContext({
    viewport: sizes[size],
    hasTouch: phone,
    isMobile: phone,
    locale: "en-GB",
    timezoneId: "UTC",
    // Pictures that are kept are small.
    ...(process.env.SCALE && { deviceScaleFactor: Number(process.env.SCALE) }),
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) faults.push(message.text());
  });
  return { page, context, faults };
};

export const logIn = async (page, link) => {
  await page.goto(link);
  await page.getByRole("button", { name: "Open the workspace" }).click();
  await page.waitForSelector("html[data-ready]");
};

// Nothing serious, in light and where asked in dark, and nothing wider than the screen.
export const judge = async (page, where, schemes = ["light", "dark"]) => {
  // What is on its way to the hub is pale, as long as it is.
  await page.waitForFunction(() => !document.querySelector("[aria-busy]"));
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    const told = serious.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map((node) => node.html).slice(0, 3).join("\n  ")}`);
    expect(told.length === 0, `axe finds nothing serious at ${where} (${colorScheme}):\n${told.join("\n")}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  expect(wide <= room, `${where} fits the screen, but ${wide} > ${room}`);
};

export const picture = async (page, name) => {
  const { PICTURES, SCALE } = process.env;
  const kind = SCALE ? { type: "jpeg", quality: 60 } : { type: "png" };
  const end = SCALE ? "jpg" : "png";
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.${end}`), ...kind });
};
