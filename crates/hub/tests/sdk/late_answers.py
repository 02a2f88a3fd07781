"""An app that does not answer a command, a button and a modal in time: whoever waits is told so,
and what it says too late changes nothing."""

import os
import queue
import time

from slack_sdk import WebClient
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

import people

CHANNEL = people.CHANNEL
web = WebClient(token=os.environ["BOT_TOKEN"], base_url=people.BASE + "api/")
heard = queue.Queue()
client = SocketModeClient(
    app_token=os.environ["APP_TOKEN"], web_client=WebClient(base_url=people.BASE + "api/"))
client.socket_mode_request_listeners.append(lambda _, request: heard.put(request))
client.connect()


def next_of(kind):
    while True:
        request = heard.get(timeout=60)
        if request.type == kind:
            return request
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))


def becomes(look, check):
    for _ in range(150):
        found = look()
        if check(found):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def told(root=None):
    place = f"v1/threads/{CHANNEL}/{root}" if root else f"v1/channels/{CHANNEL}/messages"
    return [one["text"] for one in people.get(place).get("ephemerals", [])]


def answer(request, **payload):
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload=payload))


plain = {"type": "plain_text", "text": "Send"}
view = {"type": "modal", "title": plain, "submit": plain, "blocks": [
    {"type": "input", "block_id": "b", "label": plain, "element": {"type": "plain_text_input", "action_id": "a"}}]}

people.command("/slow", "x")
command = next_of("slash_commands")
opened = web.views_open(trigger_id=command.payload["trigger_id"], view=view)["view"]
becomes(told, lambda found: any("`/slow`" in one and "operation_timeout" in one for one in found))
answer(command, text="too late", response_type="in_channel")

people.call("v1/views/submit", {"view_id": opened["id"],
                                "state": {"b": {"a": {"type": "plain_text_input", "value": "v"}}}})
sent = next_of("interactive")
assert sent.payload["type"] == "view_submission", sent.payload
[still] = becomes(people.views, lambda views: views and views[0].get("errors"))
assert "did not answer" in str(still["errors"]), still
answer(sent, response_action="clear")
time.sleep(1)
assert [one["id"] for one in people.views()] == [opened["id"]], "an answer that came too late was taken"

# Sent again and answered in time it goes.
people.call("v1/views/submit", {"view_id": opened["id"],
                                "state": {"b": {"a": {"type": "plain_text_input", "value": "v"}}}})
answer(next_of("interactive"), response_action="clear")
becomes(people.views, lambda views: not views)

posted = web.chat_postMessage(channel=CHANNEL, text="press", blocks=[
    {"type": "actions", "elements": [{"type": "button", "action_id": "quiet", "text": plain}]}])["ts"]
people.click(posted, "quiet")
next_of("interactive")
becomes(lambda: told(posted), lambda found: any("operation_timeout" in one for one in found))
texts = [one["text"] for one in web.conversations_history(channel=CHANNEL)["messages"]]
assert "too late" not in texts, texts
print("ok")
os._exit(0)
