"""What apps of others rely on: several connections that share the events, answers to clicks wherever
they happened, the state of all fields, options that are asked for, and words as rich text."""

import os
import queue
import time
import urllib.error

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.webhook import WebhookClient

import people

CHANNEL = people.CHANNEL
web = WebClient(token=os.environ["BOT_TOKEN"], base_url=people.BASE + "api/")
ANA = people.get("v1/me")["user"]
heard = queue.Queue()
hellos = queue.Queue()
seen = []
answers = {}


def connect(number, answered=True):
    client = SocketModeClient(
        app_token=os.environ["APP_TOKEN"], web_client=WebClient(base_url=people.BASE + "api/"))

    def listener(client, request):
        # What is sent again because a busy machine answered late is no second envelope.
        if not request.retry_attempt:
            seen.append((number, request.payload.get("event", {}).get("text")))
        answer = answers.get(request.payload.get("type"))
        if answered:
            client.send_socket_mode_response(SocketModeResponse(
                envelope_id=request.envelope_id, payload=answer and answer(request.payload)))
        heard.put(request)

    def hello(_, message, __=None):
        if isinstance(message, dict) and message.get("type") == "hello":
            hellos.put(message["num_connections"])

    client.message_listeners.append(hello)
    client.socket_mode_request_listeners.append(listener)
    client.connect()
    assert hellos.get(timeout=60) == number, "the number of connections in hello"
    return client


def until(check):
    while True:
        request = heard.get(timeout=60)
        if check(request):
            return request.payload


def event(**wanted):
    payload = until(lambda r: all(r.payload.get("event", {}).get(k) == v for k, v in wanted.items()))
    return payload["event"]


def arrives(wanted, to=(1, 2)):
    """Everything that is wanted has come over one of these connections."""
    deadline = time.monotonic() + 60
    while not wanted <= {words for number, words in list(seen) if number in to}:
        assert time.monotonic() < deadline, (wanted, seen)
        time.sleep(0.02)


def in_time(call):
    """An app has three seconds; where the machine is too busy for that it is done again."""
    for _ in range(10):
        try:
            return call()
        except (SlackApiError, urllib.error.HTTPError) as late:
            code = late.response["error"] if isinstance(late, SlackApiError) else late.code
            assert code in ("expired_trigger_id", 504), code
    raise AssertionError("never in time")


def options(**field):
    return in_time(lambda: people.call("v1/options", field))["options"]


def opened(view):
    people.shortcut("form")
    trigger = until(lambda r: r.payload.get("type") == "shortcut")["trigger_id"]
    return web.views_open(trigger_id=trigger, view=view)["view"]


def pressed(ts, action, **chosen):
    people.call("v1/actions", {"channel": CHANNEL, "ts": ts, "action_id": action, **chosen})
    return until(lambda r: r.payload.get("type") == "block_actions")


def plain(text):
    return {"type": "plain_text", "text": text}


def button(action):
    return {"type": "actions", "elements": [
        {"type": "button", "action_id": action, "value": "v", "text": plain("Press")}]}


def texts():
    return [one["text"] for one in web.conversations_history(channel=CHANNEL, limit=3)["messages"]]


def at(ts):
    found = web.conversations_history(channel=CHANNEL, oldest=ts, latest=ts, inclusive=True)
    return found["messages"]


def respond(url, **words):
    answer = WebhookClient(url).send_dict(words)
    assert (answer.status_code, answer.body) == (200, "ok"), (answer.status_code, answer.body)


def connections(first):
    second = connect(2)
    said = [f"shared {number}" for number in range(8)]
    for words in said:
        people.say(words)
    # In whichever order they come over the two.
    arrives(set(said))
    # One that does not answer and goes gives back what it had.
    silent = connect(3, answered=False)
    for number in range(8):
        people.say(f"left {number}")
    left = {f"left {number}" for number in range(8)}
    arrives(left, to=(1, 2, 3))
    silent.close()
    arrives(left)
    for words in said:
        assert sum(words == text for _, text in seen) == 1, (words, seen)
    second.close()
    assert first.is_connected(), "an older connection was thrown out"
    people.say("alone again")
    event(text="alone again")


def clicks():
    ts = web.chat_postMessage(channel=CHANNEL, text="press", blocks=[button("here")])["ts"]
    url = pressed(ts, "here")["response_url"]
    respond(url, text="for everybody", response_type="in_channel")
    assert "for everybody" in texts(), "beside the message, not below it"
    respond(url, text="below", response_type="in_channel", thread_ts=ts, attachments=[{"text": "more"}])
    below = web.conversations_replies(channel=CHANNEL, ts=ts)["messages"][-1]
    assert below["text"] == "below" and below["attachments"][0]["text"] == "more", below
    respond(url, text="replaced", replace_original=True)
    assert at(ts)[0]["text"] == "replaced"
    respond(url, delete_original=True)
    respond(url, text="five")
    assert WebhookClient(url).send(text="six").status_code != 200, "an address is good for five answers"

    attached = web.chat_postMessage(channel=CHANNEL, text="x", attachments=[{"blocks": [button("deep")]}])["ts"]
    assert pressed(attached, "deep")["actions"][0]["value"] == "v"

    whispered = web.chat_postEphemeral(channel=CHANNEL, user=ANA, text="only you", blocks=[button("quiet")])
    payload = pressed(whispered["message_ts"], "quiet")
    assert payload["container"]["is_ephemeral"] and "message" not in payload, payload
    respond(payload["response_url"], text="chosen", replace_original=True)
    shown = people.get(f"v1/channels/{CHANNEL}/messages")["ephemerals"]
    assert "chosen" in [one["text"] for one in shown], shown
    respond(payload["response_url"], delete_original=True)
    shown = people.get(f"v1/channels/{CHANNEL}/messages")["ephemerals"]
    assert "chosen" not in [one["text"] for one in shown], shown


def fields():
    two = {"text": plain("Two"), "value": "2"}
    blocks = [{"type": "actions", "block_id": "b", "elements": [
        {"type": "static_select", "action_id": "pick", "options": [two]},
        {"type": "datetimepicker", "action_id": "when"}]}]
    ts = web.chat_postMessage(channel=CHANNEL, text="fields", blocks=blocks)["ts"]
    state = pressed(ts, "pick", selected_option=two)["state"]["values"]["b"]
    assert state["pick"]["selected_option"]["value"] == "2", state
    assert state["when"] == {"type": "datetimepicker", "selected_date_time": None}, state
    assert pressed(ts, "when", selected_date_time=1_700_000_000)["actions"][0]["selected_date_time"]

    search = {"type": "external_select", "action_id": "find", "min_query_length": 1}
    view = in_time(lambda: opened({
        "type": "modal", "title": plain("F"), "submit": plain("Send"), "blocks": [
            {"type": "input", "block_id": "i", "label": plain("L"), "element": {
                "type": "plain_text_input", "action_id": "a", "initial_value": "so far"}},
            {"type": "input", "block_id": "o", "optional": True, "label": plain("M"), "element": search}]}))

    # Options come from the app while somebody types.
    answers["block_suggestion"] = lambda asked: {
        "options": [{"text": plain("found " + asked["value"]), "value": "f"}]}
    found = options(view_id=view["id"], action_id="find", value="mil")
    assert found[0]["text"]["text"] == "found mil", found
    asked = until(lambda r: r.payload.get("type") == "block_suggestion")
    assert (asked["block_id"], asked["view"]["id"]) == ("o", view["id"]), asked
    ts = web.chat_postMessage(channel=CHANNEL, text="find", blocks=[{"type": "actions", "elements": [search]}])["ts"]
    options(channel=CHANNEL, ts=ts, action_id="find", value="x")
    until(lambda r: r.payload.get("container", {}).get("message_ts") == ts)

    people.call("v1/views/submit", {"view_id": view["id"]})
    values = until(lambda r: r.payload.get("type") == "view_submission")["view"]["state"]["values"]
    assert values["i"]["a"] == {"type": "plain_text_input", "value": "so far"}, values
    assert values["o"]["find"] == {"type": "external_select", "selected_option": None}, values


def words():
    me = web.auth_test()["user_id"]
    people.say(f"<@{me}> look at a < b")
    typed = event(type="app_mention")["blocks"][0]["elements"][0]["elements"]
    assert typed == [{"type": "user", "user_id": me}, {"type": "text", "text": " look at a < b"}], typed
    people.call("v1/home", {"channel": CHANNEL})
    assert event(type="app_home_opened")["channel"].startswith("D")
    assert web.conversations_open(users=[ANA, me])["channel"]["id"].startswith("D")
    for method, name in (("search.messages", "not_allowed_token_type"), ("usergroups.create", "missing_scope"),
                         ("no.such", "unknown_method")):
        try:
            web.api_call(method)
        except SlackApiError as refusal:
            assert refusal.response["error"] == name, refusal.response.data
        else:
            raise AssertionError(method)


first = connect(1)
for check in (clicks, fields, words):
    check()
connections(first)
print("ok")
os._exit(0)
