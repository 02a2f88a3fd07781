"""Python Bolt: modals from a button, a command and shortcuts; answers that come with the ack."""

import os
import queue
import time

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

import people

CHANNEL = people.CHANNEL
client = WebClient(token=os.environ["BOT_TOKEN"], base_url=people.BASE + "api/")
app = App(client=client)
done = queue.Queue()


def modal(callback_id, title="Reject"):
    return {"type": "modal", "callback_id": callback_id, "private_metadata": "kept",
            "title": {"type": "plain_text", "text": title},
            "submit": {"type": "plain_text", "text": "Send"}, "notify_on_close": True,
            "blocks": [{"type": "input", "block_id": "why", "label": {"type": "plain_text", "text": "Why"},
                        "element": {"type": "plain_text_input", "action_id": "reason"}},
                       {"type": "actions", "block_id": "more", "elements": [
                           {"type": "button", "action_id": "push", "text": {"type": "plain_text", "text": "More"}}]}]}


@app.command("/ask")
def ask(ack, command, client):
    ack(text="heard " + command["text"], response_type="in_channel")
    for field in ("token", "team_id", "team_domain", "channel_id", "channel_name", "user_id", "user_name",
                  "command", "response_url", "trigger_id", "api_app_id", "is_enterprise_install"):
        assert field in command, field
    client.views_open(trigger_id=command["trigger_id"], view=modal("asked"))
    done.put("command")


@app.shortcut("everywhere")
def everywhere(ack, shortcut, client):
    ack()
    assert shortcut["type"] == "shortcut", shortcut
    client.views_open(trigger_id=shortcut["trigger_id"], view=modal("asked", "From a shortcut"))
    done.put("shortcut")


@app.shortcut("on_message")
def on_message(ack, shortcut, respond):
    ack()
    assert shortcut["type"] == "message_action" and shortcut["message"]["text"] == "look at this"
    respond(text="only for you")
    respond(text="for everybody", response_type="in_channel")
    done.put("message shortcut")


@app.action("push")
def push(ack, body, client):
    ack()
    client.views_push(trigger_id=body["trigger_id"], view=modal("pushed", "On top"))
    done.put("pushed")


@app.view("asked")
def asked(ack, view):
    value = view["state"]["values"]["why"]["reason"]["value"]
    assert view["private_metadata"] == "kept", view
    if value == "short":
        ack(response_action="errors", errors={"why": "too short"})
    elif value == "again":
        ack(response_action="update", view=modal("asked", "Once more"))
    else:
        ack()
    done.put("view " + value)


@app.view("pushed")
def pushed(ack):
    ack(response_action="clear")
    done.put("cleared")


@app.view_closed("asked")
def closed(ack):
    ack()
    done.put("closed")


def next_is(wanted):
    assert done.get(timeout=60) == wanted


def views_become(check):
    for _ in range(100):
        views = people.views()
        if check(views):
            return views
        time.sleep(0.1)
    raise AssertionError(views)


def send(view, value):
    people.call("v1/views/submit", {"view_id": view["id"], "state": {
        "why": {"reason": {"type": "plain_text_input", "value": value}}}})


handler = SocketModeHandler(app, os.environ["APP_TOKEN"])
handler.client.web_client.base_url = people.BASE + "api/"
handler.connect()

people.command("/ask", "a question")
next_is("command")
for _ in range(100):
    newest = client.conversations_history(channel=CHANNEL, limit=1)["messages"]
    if newest:
        break
    time.sleep(0.1)
assert newest[0]["text"] == "heard a question", newest
[view] = views_become(lambda views: len(views) == 1)
assert view["title"]["text"] == "Reject" and view["root_view_id"] == view["id"], view

send(view, "short")
next_is("view short")
[view] = views_become(lambda views: views and views[0].get("errors"))
assert view["errors"] == {"why": "too short"}, view
send(view, "again")
next_is("view again")
[view] = views_become(lambda views: views and views[0]["title"]["text"] == "Once more")
send(view, "long enough")
next_is("view long enough")
views_become(lambda views: not views)

people.shortcut("everywhere")
next_is("shortcut")
[view] = views_become(lambda views: len(views) == 1)
people.call("v1/views/actions", {"view_id": view["id"], "action_id": "push"})
next_is("pushed")
views = views_become(lambda views: len(views) == 2)
assert views[1]["previous_view_id"] == view["id"] == views[1]["root_view_id"], views
send(views[1], "x")
next_is("cleared")
views_become(lambda views: not views)

people.shortcut("everywhere")
next_is("shortcut")
[view] = views_become(lambda views: len(views) == 1)
people.call("v1/views/close", {"view_id": view["id"]})
next_is("closed")
assert people.views() == []

ts = people.say("look at this")
people.shortcut("on_message", ts)
next_is("message shortcut")
thread = people.get(f"v1/threads/{CHANNEL}/{ts}")
assert [m["text"] for m in thread["messages"]] == ["look at this"], thread["messages"]
# As at Slack: an answer for everybody stands beside the message, in the channel.
newest = client.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
assert newest["text"] == "for everybody", newest
assert [m["text"] for m in thread["ephemerals"]] == ["only for you"], thread["ephemerals"]
print("ok")
os._exit(0)
