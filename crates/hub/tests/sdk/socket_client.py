"""Python's SocketModeClient against the hub: events, clicks, reconnect, redelivery."""

import os
import queue

from slack_sdk import WebClient
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

import people

web = WebClient(token=os.environ["BOT_TOKEN"], base_url=people.BASE + "api/")
heard = queue.Queue()
held = []


def connect(silent_about=""):
    client = SocketModeClient(
        app_token=os.environ["APP_TOKEN"],
        web_client=WebClient(base_url=people.BASE + "api/"))

    def listener(_, request):
        if request.payload.get("event", {}).get("text") != silent_about:
            client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        heard.put(request)

    client.socket_mode_request_listeners.append(listener)
    client.connect()
    return client


def following():
    return heard.get(timeout=60)


def until(check):
    while True:
        request = following()
        if check(request):
            return request


client = connect()
root = people.say("first")
assert following().payload["event"]["text"] == "first"

# Its own post comes back, as from Slack; then a person's click on its button.
card = web.chat_postMessage(
    channel=people.CHANNEL, thread_ts=root, text="press",
    blocks=[{"type": "actions", "block_id": "b", "elements": [
        {"type": "button", "action_id": "go", "value": "v", "text": {"type": "plain_text", "text": "Go"}}]}])
assert following().payload["event"]["ts"] == card["ts"]
people.click(card["ts"], "go")
pressed = following()
assert pressed.type == "interactive", pressed.type
assert pressed.payload["type"] == "block_actions"
assert pressed.payload["actions"][0]["action_id"] == "go"
assert pressed.payload["actions"][0]["value"] == "v"
assert pressed.payload["container"]["message_ts"] == card["ts"]
people.react(card["ts"], "tada")
assert following().payload["event"]["reaction"] == "tada"

# Announced and abrupt disconnects: nothing is lost.
for number, kind in enumerate(["refresh", "drop", "refresh"]):
    people.shake(kind)
    people.say(f"after {kind} {number}", root)
    until(lambda r: r.payload.get("event", {}).get("text") == f"after {kind} {number}")
client.close()

# Without acknowledgement it comes again to the next connection, with the same event id.
# What an earlier connection could not acknowledge before it was cut is in front of it.
silent = connect(silent_about="again")
people.say("again", root)
first = until(lambda r: r.payload.get("event", {}).get("text") == "again")
silent.close()
client = connect()
second = until(lambda r: r.payload.get("event", {}).get("text") == "again")
assert first.payload["event_id"] == second.payload["event_id"]
client.close()
print("ok")
os._exit(0)
