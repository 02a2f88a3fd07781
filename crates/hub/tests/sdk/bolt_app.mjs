// @slack/bolt against the hub: message, say, action, respond, upload, reconnect.
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const require = createRequire(process.env.SDK_DIR + "/");
const { App } = require("@slack/bolt");

const { HUB, CHANNEL, BOT_TOKEN, APP_TOKEN, PERSON_TOKEN } = process.env;
const clientOptions = { slackApiUrl: HUB + "api/" };

const call = async (path, body) => {
  const answer = await fetch(HUB + path, {
    method: "POST",
    headers: { authorization: "Bearer " + PERSON_TOKEN, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  assert.ok(json.ok, JSON.stringify(json));
  return json;
};
const say = (text, thread_ts) => call("v1/messages", { channel: CHANNEL, text, thread_ts });

const waiting = new Map();
const happened = (name) =>
  new Promise((resolve, reject) => {
    waiting.set(name, resolve);
    setTimeout(() => reject(new Error("never happened: " + name)), 60_000).unref();
  });
const happen = (name, value) => waiting.get(name)?.(value);

const app = new App({ token: BOT_TOKEN, appToken: APP_TOKEN, socketMode: true, clientOptions });

app.message("hello", async ({ message, say: answer }) => {
  await answer({
    text: "press it",
    thread_ts: message.ts,
    blocks: [{ type: "actions", elements: [
      { type: "button", action_id: "pressed", text: { type: "plain_text", text: "Press" } }] }],
  });
  happen("message", message.ts);
});
app.message("later", async ({ message }) => happen("later", message.text));
app.action("pressed", async ({ ack, body, respond }) => {
  await ack();
  await respond({ text: "pressed by " + body.user.username, replace_original: true });
  happen("action", body.container.message_ts);
});

await app.start();
const heard = happened("message");
const root = (await say("hello there")).ts;
assert.equal(await heard, root);
const replies = () => app.client.conversations.replies({ channel: CHANNEL, ts: root });
const card = (await replies()).messages[1];
const acted = happened("action");
await call("v1/actions", { channel: CHANNEL, ts: card.ts, action_id: "pressed" });
assert.equal(await acted, card.ts);
assert.equal((await replies()).messages[1].text, "pressed by ana");

const content = Buffer.from("line\n".repeat(50));
await app.client.files.uploadV2({ channel_id: CHANNEL, thread_ts: root, file: content,
  filename: "lines.txt", initial_comment: "a file" });
const shared = (await replies()).messages.at(-1);
const download = await fetch(shared.files[0].url_private, {
  headers: { authorization: "Bearer " + BOT_TOKEN } });
assert.deepEqual(Buffer.from(await download.arrayBuffer()), content);

const after = happened("later");
await call("v1/test/shake", { kind: "refresh" });
await say("later, after a refresh", root);
assert.equal(await after, "later, after a refresh");
console.log("ok");
process.exit(0);
