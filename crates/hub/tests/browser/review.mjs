// A change is reviewed by clicks at one size: from the merge card to the diff, a comment
// on a range with a suggestion, marks on files, both ways to look, and the merge.
import { expect, judge, launch, logIn, open, picture } from "./common.mjs";

const { LOGIN, CHANNEL, ROOT, SIZE } = process.env;

const browser = await launch();
try {
  const { page, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  const ready = () => page.waitForSelector("html[data-ready]");
  await page.goto(new URL(`/c/${CHANNEL}/${ROOT}`, page.url()).href);
  await ready();
  await page.getByRole("link", { name: "Review the changes" }).click();
  await page.waitForURL(/\/changes$/);
  await ready();
  await judge(page, "the changes");
  await picture(page, `${SIZE}-review`);

  // The tree leads to a file, which can be folded and marked.
  await page.getByRole("navigation", { name: "Files" }).getByRole("link", { name: "notes.md" }).click();
  await page.waitForURL(/#f1$/);
  await page.getByRole("button", { name: "Viewed: notes.md" }).click();
  await page.getByText("1 of 2 viewed").waitFor();
  await page.locator("#fold1-viewed:not([open])").waitFor();
  await page.locator("#fold1-viewed > summary").click();
  await page.getByRole("region", { name: "Changes in notes.md" }).waitFor();

  // Both ways to look, and only what is new.
  await page.getByRole("link", { name: "Split" }).click();
  await page.waitForURL(/view=split/);
  await ready();
  await page.locator("td#f0R3.half.add", { hasText: "four" }).waitFor();
  await judge(page, "the changes side by side");
  await picture(page, `${SIZE}-split`);
  await page.getByRole("link", { name: "Since the last round" }).click();
  await page.waitForURL(/since=1/);
  await ready();
  await page.locator(".fresh", { hasText: "four" }).waitFor();
  expect((await page.getByRole("region", { name: "Changes in notes.md" }).count()) === 0, "what stayed is left out");
  await page.getByRole("link", { name: "All changes" }).click();
  await ready();
  await page.getByRole("link", { name: "Unified" }).click();
  await ready();

  // A comment on two lines, with other words for them.
  await page.locator("#f0R2 .no a").click();
  await page.waitForURL(/at=f0R2/);
  await ready();
  await page.getByLabel("to", { exact: true }).fill("3");
  await page.getByLabel("What should the Coder change here?").fill("Say it in words.");
  await page.getByText("Suggest other lines").click();
  await page.getByLabel("These lines become exactly").fill("    two();\n    four();");
  await judge(page, "a comment on lines");
  await picture(page, `${SIZE}-comment`);
  await page.getByRole("button", { name: "Add to the review" }).click();
  await page.locator(".comment.draft", { hasText: "Say it in words." }).waitFor();
  await ready();
  await page.getByRole("button", { name: "Send 1 comment to the Coder" }).click();
  await page.locator(".comment .chip", { hasText: "P1" }).waitFor();
  await ready();
  await picture(page, `${SIZE}-sent`);

  // Merge, Hold and Close are at hand here too.
  const acts = page.getByRole("region", { name: "Act on this thread" });
  for (const name of ["Merge…", "Hold", "Close…"]) await acts.getByRole("button", { name, exact: true }).waitFor();
  await page.locator('button[data-action="cb:merge1:merge"]').click();
  await page.locator(".message.decided").waitFor();
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
