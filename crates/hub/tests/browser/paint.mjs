// Prints the median first contentful paint of a page, in milliseconds.
import { launch, logIn, open } from "./common.mjs";

const ROUNDS = 5;
const browser = await launch();
try {
  const { page } = await open(browser, "desktop");
  await logIn(page, process.env.LOGIN);
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.goto(process.env.PAGE);
    const paint = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    times.push(await paint.jsonValue());
  }
  times.sort((a, b) => a - b);
  console.log(times[Math.floor(ROUNDS / 2)]);
} finally {
  await browser.close();
}
