"""Python Bolt against the hub: message listener, say, action, respond."""

import os
import queue

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

import people

client = WebClient(token=os.environ["BOT_TOKEN"], base_url=people.BASE + "api/")
app = App(client=client)
done = queue.Queue()


@app.message("hello")
def greet(message, say):
    say(text="press it", thread_ts=message["ts"],
        blocks=[{"type": "actions", "elements": [
            {"type": "button", "action_id": "pressed", "text": {"type": "plain_text", "text": "Press"}}]}])
    done.put(("message", message["ts"]))


@app.action("pressed")
def pressed(ack, body, respond):
    ack()
    respond(text="pressed by " + body["user"]["username"], replace_original=True)
    done.put(("action", body["container"]["message_ts"]))


handler = SocketModeHandler(app, os.environ["APP_TOKEN"])
handler.client.web_client.base_url = people.BASE + "api/"
handler.connect()
root = people.say("hello there")
assert done.get(timeout=60) == ("message", root)
replies = client.conversations_replies(channel=people.CHANNEL, ts=root)["messages"]
people.click(replies[1]["ts"], "pressed")
assert done.get(timeout=60) == ("action", replies[1]["ts"])
replaced = client.conversations_replies(channel=people.CHANNEL, ts=root)["messages"][1]
assert replaced["text"] == "pressed by ana" and "blocks" not in replaced, replaced
print("ok")
os._exit(0)
