// Files on the page at one size: dropped, pasted, chosen and refused in the composer, with
// progress; pictures that fill the window by mouse and by keyboard, recordings with what was
// said, tables, long texts, documents; and files that mean harm, which do nothing.
import { expect, judge, launch, logIn, open, picture, sizes } from "./common.mjs";

const { HUB, LOGIN, CHANNEL, ROOT, BOT_TOKEN, SIZE } = process.env;

const browser = await launch();
try {
  const { page, context, faults } = await open(browser, SIZE);
  await logIn(page, LOGIN);
  const home = new URL("/", page.url()).href;
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(home).origin });
  await page.goto(`${home}c/${CHANNEL}/${ROOT}`);
  await page.waitForSelector("html[data-ready]");
  const message = (text) => page.locator(".message", { hasText: text });
  const box = page.getByRole("textbox", { name: "Reply in this thread" });
  const chips = page.locator(".chosen li");
  const send = async (words) => {
    await box.fill(words);
    await page.getByRole("button", { name: "Send", exact: true }).last().click();
    await message(words).waitFor();
  };

  // A picture made here, dropped on the page.
  const drop = (name, words) =>
    page.evaluate(
      async ([name, words]) => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 400 });
        const pen = canvas.getContext("2d");
        pen.fillStyle = "#2f6f4f";
        pen.fillRect(0, 0, 640, 400);
        pen.fillStyle = "#ffffff";
        pen.font = "48px sans-serif";
        pen.fillText(words, 40, 210);
        const bytes = await new Promise((made) => canvas.toBlob(made, "image/png"));
        const brought = new DataTransfer();
        brought.items.add(new File([bytes], name, { type: "image/png" }));
        const tell = (type) => document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: brought }));
        tell("dragover");
        const marked = document.documentElement.hasAttribute("data-dropping");
        tell("drop");
        return marked && !document.documentElement.hasAttribute("data-dropping");
      },
      [name, words],
    );
  expect(await drop("green.png", "Checkout"), "the page shows where a file may be dropped, and only then");
  expect(await drop("second.png", "Basket"), "a second one");
  await chips.nth(1).waitFor();
  await chips.nth(1).getByRole("button").click();
  await drop("second.png", "Basket");
  expect((await chips.allInnerTexts()).join().match(/green\.png.*second\.png/s), "both are listed, one of them once taken back");
  await send(`two pictures at ${SIZE}`);
  expect((await chips.count()) === 0, "nothing stays chosen");

  // A picture and a long text from the clipboard, by the keys that people use.
  await page.evaluate(async () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 3, height: 2 });
    const png = await new Promise((made) => canvas.toBlob(made, "image/png"));
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  });
  await box.focus();
  await page.keyboard.press("Control+V");
  await chips.first().waitFor();
  const log = Array.from({ length: 9000 }, (_, at) => `line ${at} of what was pasted`).join("\n");
  await page.evaluate((text) => navigator.clipboard.writeText(text), log);
  await page.keyboard.press("Control+V");
  await chips.filter({ hasText: "pasted.txt" }).waitFor();
  expect((await box.inputValue()) === "", "a long text does not fill the box");
  await page.evaluate(() => navigator.clipboard.writeText("a few words"));
  await page.keyboard.press("Control+V");
  expect((await box.inputValue()) === "a few words", "a short one does");
  await send(`pasted at ${SIZE}`);

  // Progress is seen while a large file is on its way; what is too large is not sent at all.
  await page.evaluate(() => {
    window.seen = [];
    const bar = document.querySelector(".sending");
    new MutationObserver(() => window.seen.push(bar.hidden ? "hidden" : bar.innerText.trim())).observe(bar, { attributes: true, childList: true, subtree: true, characterData: true });
  });
  const large = Buffer.alloc(20 << 20, "10:00 nothing special happened in this second of the night\n");
  await page.locator(".composer input[type=file]").setInputFiles({ name: "night.log", mimeType: "text/plain", buffer: large });
  await send(`a large log at ${SIZE}`);
  const steps = await page.evaluate(() => window.seen);
  expect(steps[0] === "0 %" && steps.includes("Sent, being kept…") && steps.at(-1) === "hidden", `progress is seen and goes: ${steps.join()}`);
  const offer = (mb) =>
    page.evaluate((mb) => {
      const brought = new DataTransfer();
      brought.items.add(new File([new Uint8Array(mb << 20)], "huge.log"));
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: brought }));
    }, mb);
  await offer(100);
  await page.locator(".toast", { hasText: "a message brings 32.0 MB at most" }).waitFor();
  expect((await chips.count()) === 0, "what is too large is not chosen");
  // A browser that sends it all the same reads why it was refused.
  const sent = SIZE === "desktop" ? 100 : 34;
  const refused = await page.evaluate(async ([channel, sent]) => {
    const form = new FormData();
    form.append("text", "all the same");
    form.append("file", new File([new Uint8Array(sent << 20)], "huge.log"));
    const answer = await fetch(`/c/${channel}/say`, { method: "POST", body: form });
    return [answer.status, await answer.text()];
  }, [CHANNEL, sent]);
  expect(refused[0] === 413 && refused[1].includes("32 MB"), `told why: ${refused[0]}`);

  // The window full of a picture: by mouse, by keys, and back where one was.
  const first = page.getByRole("link", { name: "Enlarge green.png" }).last();
  await first.scrollIntoViewIfNeeded();
  await first.click();
  const shown = page.locator("dialog.lightbox[open]");
  await shown.getByText("green.png").waitFor();
  await shown.locator("img").evaluate((image) => image.decode());
  const room = await shown.locator("img").boundingBox();
  expect(room.width > Math.min(300, sizes[SIZE].width - 60) && room.x >= 0, `it is large: ${room.width}`);
  await judge(page, "a picture that fills the window");
  await picture(page, `${SIZE}-lightbox`);
  await page.keyboard.press("ArrowRight");
  await shown.getByText("second.png").waitFor();
  await page.keyboard.press("ArrowLeft");
  await shown.getByText("green.png").waitFor();
  await shown.locator("img").click();
  expect((await shown.locator("img").boundingBox()).width === 640, "at its own size");
  await page.keyboard.press("Escape");
  await shown.waitFor({ state: "hidden" });
  expect(await first.evaluate((link) => link === document.activeElement), "focus is back");
  await page.keyboard.press("Enter");
  await shown.waitFor();
  await shown.getByRole("button", { name: "Close" }).click();
  await shown.waitFor({ state: "hidden" });

  // A recording with what was said in it, as the role that listened tells.
  const wave = Buffer.alloc(44 + 8000, 128);
  wave.write("RIFF", 0);
  wave.writeUInt32LE(36 + 8000, 4);
  wave.write("WAVEfmt ", 8);
  [16, 1 | (1 << 16), 8000, 8000, 1 | (8 << 16)].forEach((word, at) => wave.writeUInt32LE(word, 16 + 4 * at));
  wave.write("data", 36);
  wave.writeUInt32LE(8000, 40);
  await page.locator(".composer input[type=file]").setInputFiles([
    { name: "note.wav", mimeType: "audio/wav", buffer: wave },
    { name: "prices.csv", mimeType: "text/csv", buffer: Buffer.from('thing,price\n"pen, <b>blue</b>",1.20\nink,4\n') },
    { name: "main.rs", mimeType: "text/plain", buffer: Buffer.from('fn main() { println!("hello"); }\n') },
    { name: "manual.pdf", mimeType: "application/pdf", buffer: Buffer.from(process.env.PDF) },
    { name: "logo.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>window.hacked=1;alert(1)</script></svg>") },
    { name: "cat.png", mimeType: "image/png", buffer: Buffer.from("<html><script>window.hacked=1;alert(1)</script></html>") },
    { name: "in\u202egpj.exe", mimeType: "image/png", buffer: Buffer.from("MZ\x90\0\x03\0") },
  ]);
  await send(`all kinds at ${SIZE}`);
  const kinds = message(`all kinds at ${SIZE}`);
  const note = await kinds.locator("audio").evaluate(async (sound) => {
    if (Number.isNaN(sound.duration)) await new Promise((known) => sound.addEventListener("loadedmetadata", known, { once: true }));
    return [sound.duration, new URL(sound.src).pathname.split("/").pop()];
  });
  expect(note[0] === 1, `a second of sound, ${note[0]}`);
  const said = await fetch(`${HUB}api/chat.postMessage`, {
    method: "POST",
    headers: { authorization: `Bearer ${BOT_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({
      channel: CHANNEL, thread_ts: ROOT, username: "codebutler.pm",
      text: "Heard:\n&gt; Make the basket &lt;b&gt;green&lt;/b&gt;.\n\n_written down by `whisper`, $0.0060_",
      metadata: { event_type: "codebutler_post", event_payload: { v: 1, idem: `heard-${SIZE}`, to: "", recording: note[1] } },
    }),
  });
  expect((await said.json()).ok, "the role tells what it heard");
  await kinds.locator(".transcript", { hasText: "Make the basket <b>green</b>." }).waitFor();

  // A table, code in colours, a document in the browser's own reader.
  expect((await kinds.locator(".csv td").first().innerText()) === "pen, <b>blue</b>", "a table");
  expect((await kinds.locator("pre .k", { hasText: "fn" }).count()) === 1, "code in colours");
  await kinds.locator("summary", { hasText: "logo.svg" }).waitFor();
  const warned = kinds.locator("summary, .file", { hasText: "not what its name says" });
  expect((await warned.count()) === 1 && (await warned.innerText()).includes("cat.png"), "a page that calls itself a picture is named");
  const hidden = await kinds.locator(".file", { hasText: "exe" }).innerText();
  expect(hidden.includes("in\\u{202e}gpj.exe") && !hidden.includes("\u202e"), `a name cannot be turned round: ${hidden}`);
  await judge(page, "files of every kind");
  await kinds.scrollIntoViewIfNeeded();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `${SIZE}-files-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  const manual = kinds.getByRole("link", { name: "manual.pdf" }).first();
  const href = await manual.getAttribute("href");
  const [document] = await Promise.all([context.waitForEvent("page"), manual.click()]);
  await document.waitForLoadState();
  expect(document.url().endsWith(href), `the document opened: ${document.url()}`);
  // Its frame is the reader's, which comes with the browser.
  const read = () => document.frames().some((frame) => frame.url().startsWith("chrome-extension:"));
  for (let look = 0; look < 600 && !read(); look += 1) await document.waitForTimeout(50);
  expect(read(), "the browser's reader shows it");
  await document.close();

  // Opened as pages of their own, files that mean harm do nothing: they are only saved.
  for (const name of ["logo.svg", "cat.png"]) {
    const link = await kinds.getByRole("link", { name: `Download ${name}` }).getAttribute("href");
    const other = await context.newPage();
    const saved = other.waitForEvent("download");
    await other.goto(new URL(link.split("?")[0], home).href).catch(() => undefined);
    expect((await saved).suggestedFilename() === name, `${name} is saved`);
    await other.close();
  }
  expect((await page.evaluate(() => window.hacked)) === undefined, "nothing ran");

  // The long text on a page of its own; without script pictures open all the same.
  await message(`a large log at ${SIZE}`).getByRole("link", { name: "night.log" }).first().click();
  await page.getByText("Its beginning, 2000 lines.").waitFor();
  await judge(page, "a long text");
  await picture(page, `${SIZE}-text`);
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState(), viewport: sizes[SIZE] });
  const bare = await plain.newPage();
  await bare.goto(`${home}c/${CHANNEL}/${ROOT}`);
  await bare.getByRole("link", { name: "Enlarge green.png" }).last().click();
  await bare.waitForURL(/\/files\//);
  await plain.close();
  expect(faults.length === 0, `a quiet page, but: ${faults.join("; ")}`);
  console.log("ok");
} finally {
  await browser.close();
}
