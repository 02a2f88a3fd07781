"""One app with its own socket: it hears what it did, and what it leaves unacknowledged blocks nothing."""

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


def listener(_, request):
    if request.payload.get("event", {}).get("text") != "ignored":
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
    heard.put(request)


client.socket_mode_request_listeners.append(listener)
client.connect()


def event(**wanted):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        request = heard.get(timeout=30)
        event = request.payload.get("event", {})
        if all(event.get(name) == value for name, value in wanted.items()):
            return request, event
    raise AssertionError(f"never heard {wanted}")


root = people.say("begin")
event(type="message", text="begin")
said = web.chat_postMessage(channel=CHANNEL, thread_ts=root, text="my own")
_, own = event(type="message", text="my own")
assert own["bot_id"] and own["user"] == web.auth_test()["user_id"], own
assert own["ts"] == said["ts"] and own["thread_ts"] == root and own["channel_type"] == "channel"
web.chat_postMessage(channel=CHANNEL, text="under a name", username="somebody")
assert event(type="message", text="under a name")[1]["subtype"] == "bot_message"
web.chat_update(channel=CHANNEL, ts=said["ts"], text="changed")
assert event(subtype="message_changed")[1]["message"]["text"] == "changed"
web.reactions_add(channel=CHANNEL, timestamp=said["ts"], name="eyes")
assert event(type="reaction_added")[1]["item"]["ts"] == said["ts"]
web.chat_delete(channel=CHANNEL, ts=said["ts"])
assert event(subtype="message_deleted")[1]["deleted_ts"] == said["ts"]
made = web.conversations_create(name="own-events")["channel"]["id"]
event(type="channel_created")
web.conversations_setTopic(channel=made, topic="events")
event(subtype="channel_topic", topic="events")

shared = web.files_upload_v2(channel=CHANNEL, filename="a.txt", content="abc")["file"]["id"]
_, told = event(type="file_shared", file_id=shared)
assert told["channel_id"] == CHANNEL and told["file"]["id"] == shared, told

# Not acknowledged: the thread goes on at once, and it comes again after three seconds.
begun = time.monotonic()
people.say("ignored", root)
people.say("right behind it", root)
event(type="message", text="right behind it")
assert time.monotonic() - begun < 10, "the next message waited for an acknowledgement"
again, _ = event(type="message", text="ignored")
while again.retry_attempt == 0:
    again, _ = event(type="message", text="ignored")
assert again.retry_attempt == 1 and again.retry_reason == "timeout", again.to_dict()
client.close()
print("ok")
os._exit(0)
