// @slack/bolt: command, shortcuts, modals, options, home tab, own events, a listener that never acknowledges.
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const require = createRequire(process.env.SDK_DIR + "/");
const { App } = require("@slack/bolt");

const { HUB, CHANNEL, BOT_TOKEN, APP_TOKEN, PERSON_TOKEN } = process.env;
const headers = { authorization: "Bearer " + PERSON_TOKEN, "content-type": "application/json" };
const call = async (path, body) => {
  const method = body ? "POST" : "GET";
  const answer = await fetch(HUB + path, { method, headers, body: body && JSON.stringify(body) });
  const json = await answer.json();
  assert.ok(json.ok, JSON.stringify(json));
  return json;
};
const waiting = new Map();
const happened = (name) =>
  new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    setTimeout(() => reject(new Error("never happened: " + name)), 60_000).unref();
  });
const happen = (name, value) => waiting.get(name)?.(value);
const becomes = async (check) => {
  for (let tries = 0; tries < 100; tries += 1) {
    const { views } = await call("v1/views");
    if (check(views)) return views;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the views never became so");
};

const app = new App({ token: BOT_TOKEN, appToken: APP_TOKEN, socketMode: true, ignoreSelf: false,
  clientOptions: { slackApiUrl: HUB + "api/" } });
const plain = (text) => ({ type: "plain_text", text });
const view = (title) => ({ type: "modal", callback_id: "sent", title: plain(title), submit: plain("Send"),
  blocks: [{ type: "input", block_id: "b", label: plain("Words"),
    element: { type: "plain_text_input", action_id: "a" } }] });

app.command("/ask", async ({ ack, command, client }) => {
  await ack("heard: " + command.text);
  await client.views.open({ trigger_id: command.trigger_id, view: view("First") });
  happen("command");
});
app.shortcut("global", async ({ ack, shortcut, client }) => {
  await ack();
  await client.views.open({ trigger_id: shortcut.trigger_id, view: view("Short") });
  happen("shortcut", shortcut.type);
});
app.view("sent", async ({ ack, view: sent }) => {
  const { value } = sent.state.values.b.a;
  if (value === "bad") await ack({ response_action: "errors", errors: { b: "not that" } });
  else await ack();
  happen("view", value);
});
app.options("find", async ({ ack, options }) =>
  ack({ options: [{ text: plain("found " + options.value), value: "f" }] }));
app.event("app_home_opened", async ({ event, client }) => {
  await client.views.publish({ user_id: event.user, view: { type: "home", blocks: [{ type: "divider" }] } });
  happen("home");
});
app.message("my own words", async ({ message }) => happen("own", message.bot_id));
app.action("silent", async () => happen("silent"));
app.message("after the silence", async () => happen("after"));

await app.start();
let next = happened("command");
await call("v1/commands", { channel: CHANNEL, command: "/ask", text: "now" });
await next;
let [open] = await becomes((views) => views.length === 1);
const send = (value) => call("v1/views/submit", { view_id: open.id,
  state: { b: { a: { type: "plain_text_input", value } } } });
next = happened("view");
await send("bad");
assert.equal(await next, "bad");
[open] = await becomes((views) => views[0]?.errors);
assert.deepEqual(open.errors, { b: "not that" });
next = happened("view");
await send("good");
assert.equal(await next, "good");
await becomes((views) => views.length === 0);

next = happened("shortcut");
await call("v1/shortcuts", { channel: CHANNEL, callback_id: "global" });
assert.equal(await next, "shortcut");
await becomes((views) => views.length === 1);
next = happened("home");
await call("v1/home", { channel: CHANNEL });
await next;
assert.equal((await call("v1/views")).home.length, 1);

const asks = await app.client.chat.postMessage({ channel: CHANNEL, text: "find", blocks: [{ type: "actions",
  elements: [{ type: "external_select", action_id: "find" }] }] });
// An app has three seconds; where the machine is too busy for that it is asked again.
const ask = async (tries) => {
  const field = { channel: CHANNEL, ts: asks.ts, action_id: "find", value: "mil" };
  try { return await call("v1/options", field); } catch (late) { if (!tries) throw late; return ask(tries - 1); }
};
assert.equal((await ask(9)).options[0].text.text, "found mil");

next = happened("own");
const posted = await app.client.chat.postMessage({ channel: CHANNEL, text: "my own words",
  blocks: [{ type: "actions", elements: [{ type: "button", action_id: "silent", text: plain("Press") }] }] });
assert.ok(await next);
next = happened("silent");
await call("v1/actions", { channel: CHANNEL, ts: posted.ts, action_id: "silent" });
await next;
const begun = Date.now();
next = happened("after");
await call("v1/messages", { channel: CHANNEL, text: "after the silence", thread_ts: posted.ts });
await next;
assert.ok(Date.now() - begun < 10_000, "an envelope without an answer held up its thread");
console.log("ok");
process.exit(0);
