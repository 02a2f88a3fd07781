"""Calls that are unusual, wrong or at the edge, and what Slack answers to them."""

import json
import os
import urllib.parse
import urllib.request
import warnings

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

warnings.simplefilter("ignore")
BASE = os.environ["HUB"]
CHANNEL = os.environ["CHANNEL"]
TOKEN = os.environ["BOT_TOKEN"]
NOBODY = "1700000000.000001"
web = WebClient(token=TOKEN, base_url=BASE + "api/")
other = WebClient(token=os.environ["OTHER_TOKEN"], base_url=BASE + "api/")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def refused(expected, method, client=web, **args):
    try:
        answer = client.api_call(method, json=args)
    except SlackApiError as error:
        assert error.response["error"] == expected, (method, args, error.response.data)
        assert error.response.status_code == 200, error.response.status_code
    else:
        raise AssertionError(f"{method} {args}: {expected} expected, not {answer.data}")


def raw(method, body=b"", kind="application/x-www-form-urlencoded", token=TOKEN):
    headers = {"content-type": kind}
    if token:
        headers["authorization"] = "Bearer " + token
    request = urllib.request.Request(BASE + "api/" + method, data=body, headers=headers)
    return json.loads(opener.open(request).read())


def texts(**args):
    page = web.conversations_replies(channel=CHANNEL, **args)
    return [message["text"] for message in page["messages"]]


def replies():
    root = web.chat_postMessage(channel=CHANNEL, text="root")["ts"]
    ts = [web.chat_postMessage(channel=CHANNEL, text=f"r{n}", thread_ts=root)["ts"]
          for n in range(5)]
    assert texts(ts=root, oldest=ts[2]) == ["root", "r3", "r4"]
    assert texts(ts=root, oldest=ts[2], inclusive=True) == ["root", "r2", "r3", "r4"]
    assert texts(ts=root, latest=ts[2]) == ["root", "r0", "r1"]
    assert texts(ts=root, latest=ts[2], inclusive=True) == ["root", "r0", "r1", "r2"]
    one = texts(ts=root, oldest=ts[2], latest=ts[2], inclusive=True, limit=1)
    assert one == ["root", "r2"], one
    assert texts(ts=ts[1])[0] == "root", "a reply's ts finds its thread"
    seen, cursor = [], None
    while True:
        page = web.conversations_replies(channel=CHANNEL, ts=root, limit=2, cursor=cursor)
        seen += [message["text"] for message in page["messages"]]
        assert page["has_more"] == bool(page["response_metadata"]["next_cursor"])
        cursor = page["response_metadata"]["next_cursor"]
        if not cursor:
            break
    assert seen == ["root", "r0", "r1", "r2", "r3", "r4"], seen
    refused("thread_not_found", "conversations.replies", channel=CHANNEL, ts=NOBODY)
    refused("invalid_cursor", "conversations.replies", channel=CHANNEL, ts=root, cursor="?")
    refused("invalid_arguments", "conversations.replies", channel=CHANNEL)
    refused("channel_not_found", "conversations.history", channel="C404")
    refused("invalid_ts_latest", "conversations.history", channel=CHANNEL, latest="soon")
    return root, ts


def posts(root):
    refused("no_text", "chat.postMessage", channel=CHANNEL)
    refused("channel_not_found", "chat.postMessage", text="x")
    refused("channel_not_found", "chat.postMessage", channel="#nowhere", text="x")
    refused("thread_not_found", "chat.postMessage", channel=CHANNEL, text="x", thread_ts=NOBODY)
    refused("invalid_blocks_format", "chat.postMessage", channel=CHANNEL, text="x", blocks="{")
    refused("invalid_blocks", "chat.postMessage", channel=CHANNEL, text="x", blocks=[{"a": 1}])
    refused("msg_blocks_too_many", "chat.postMessage", channel=CHANNEL, text="x",
            blocks=[{"type": "divider"}] * 51)
    refused("invalid_metadata_format", "chat.postMessage", channel=CHANNEL, text="x",
            metadata={"payload": {}})
    refused("markdown_text_conflict", "chat.postMessage", channel=CHANNEL, text="x",
            markdown_text="# y")
    refused("invalid_attachments", "chat.postMessage", channel=CHANNEL, attachments={"text": "x"})
    name = web.conversations_info(channel=CHANNEL)["channel"]["name"]
    assert web.chat_postMessage(channel="#" + name, text="by name")["channel"] == CHANNEL
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "only *here*"}}
    alone = web.chat_postMessage(channel=CHANNEL, blocks=[block])["message"]
    assert alone["blocks"][0]["text"] == block["text"], alone
    older = web.chat_postMessage(channel=CHANNEL, attachments=[{"text": "beside"}])["ts"]
    kept = web.conversations_history(channel=CHANNEL, oldest=older, inclusive=True)
    assert kept["messages"][-1]["attachments"] == [{"text": "beside"}], kept.data
    whole = "word " * 8000
    first = web.chat_postMessage(channel=CHANNEL, text=whole, thread_ts=root)
    parts = web.conversations_replies(
        channel=CHANNEL, ts=root, oldest=first["ts"], inclusive=True)["messages"][1:]
    assert all(len(part["text"]) <= 4000 for part in parts), [len(part["text"]) for part in parts]
    [kept] = [file for part in parts for file in part.get("files", [])]
    bytes_of = urllib.request.Request(
        kept["url_private"], headers={"authorization": "Bearer " + web.token})
    text = opener.open(bytes_of).read().decode()
    assert text.count("word") == 8000, "nothing of 40,000 characters is lost"
    shorter = "word " * 3000
    first = web.chat_postMessage(channel=CHANNEL, text=shorter, thread_ts=root)
    parts = [m["text"] for m in web.conversations_replies(
        channel=CHANNEL, ts=root, oldest=first["ts"], inclusive=True)["messages"][1:]]
    assert len(parts) > 1 and "".join(parts).count("word") == 3000, "nor of 15,000"


def changes(ts):
    refused("cant_update_message", "chat.update", client=other, channel=CHANNEL, ts=ts, text="x")
    refused("cant_delete_message", "chat.delete", client=other, channel=CHANNEL, ts=ts)
    refused("message_not_found", "chat.update", channel=CHANNEL, ts=NOBODY, text="x")
    refused("message_not_found", "chat.delete", channel=CHANNEL)
    refused("no_text", "chat.update", channel=CHANNEL, ts=ts)
    refused("msg_too_long", "chat.update", channel=CHANNEL, ts=ts, text="x" * 4001)
    changed = web.chat_update(channel=CHANNEL, ts=ts, blocks=[{"type": "divider"}])
    assert changed["text"] == "r0", "blocks alone keep the fallback"
    assert "edited" not in changed["message"], changed.data


def reactions(ts):
    web.reactions_add(channel=CHANNEL, timestamp=ts, name="+1")
    # One emoji with two names.
    refused("already_reacted", "reactions.add", channel=CHANNEL, timestamp=ts, name="thumbsup")
    refused("no_reaction", "reactions.remove", channel=CHANNEL, timestamp=ts, name="rocket")
    refused("invalid_name", "reactions.add", channel=CHANNEL, timestamp=ts, name="no emoji!")
    refused("message_not_found", "reactions.add", channel=CHANNEL, timestamp=NOBODY, name="eyes")
    refused("no_item_specified", "reactions.add", channel=CHANNEL, name="eyes")
    web.reactions_remove(channel=CHANNEL, timestamp=ts, name="thumbsup")
    assert "reactions" not in web.reactions_get(channel=CHANNEL, timestamp=ts)["message"]


def below_own_name(link):
    """What a link says after the hub's own name, by which people open the page."""
    hub, link = link.split("/archives/")
    assert hub.startswith("http://codebutler-"), hub
    assert hub.endswith(f".localhost:{BASE.rstrip('/').rsplit(':', 1)[1]}"), hub
    return f"archives/{link}"


def links(root, ts):
    digits = ts.replace(".", "")
    link = below_own_name(web.chat_getPermalink(channel=CHANNEL, message_ts=ts)["permalink"])
    assert link == f"archives/{CHANNEL}/p{digits}?thread_ts={root}&cid={CHANNEL}", link
    link = below_own_name(web.chat_getPermalink(channel=CHANNEL, message_ts=root)["permalink"])
    assert link == f"archives/{CHANNEL}/p{root.replace('.', '')}", link
    refused("message_not_found", "chat.getPermalink", channel=CHANNEL, message_ts=NOBODY)


def lists():
    everybody = web.users_list()["members"]
    seen = []
    for page in web.users_list(limit=1):
        assert len(page["members"]) == 1, page.data
        seen += page["members"]
    assert seen == everybody and len(seen) > 1, seen
    assert web.conversations_list(types="private_channel")["channels"] == []
    assert web.conversations_list(types="public_channel,private_channel")["channels"]
    refused("invalid_cursor", "conversations.list", cursor="nope")
    refused("channel_not_found", "conversations.info", channel="C404")
    refused("user_not_found", "users.info", user="U404")
    refused("invalid_name_specials", "conversations.create", name="With Spaces")
    refused("invalid_name_required", "conversations.create")
    made = web.conversations_create(name="odd-calls")["channel"]
    refused("name_taken", "conversations.create", name=made["name"])
    assert web.conversations_join(channel=made["id"])["warning"] == "already_in_channel"


def uploads():
    for way in ({"json": {"filename": "a.txt", "length": 3}},
                {"params": {"filename": "a.txt", "length": 3}}):
        slot = web.api_call("files.getUploadURLExternal", **way)
        request = urllib.request.Request(slot["upload_url"], data=b"abc")
        assert opener.open(request).status == 200
        done = web.files_completeUploadExternal(files=[{"id": slot["file_id"]}])
        assert done["files"][0]["size"] == 3, done.data
    early = web.files_getUploadURLExternal(filename="b.txt", length=3)["file_id"]
    refused("file_not_found", "files.completeUploadExternal", files=[{"id": early}],
            channel_id=CHANNEL)
    refused("invalid_arguments", "files.completeUploadExternal", files=[])
    refused("invalid_arguments", "files.getUploadURLExternal", filename="a.txt")
    refused("file_not_found", "files.info", file="F404")


def bodies():
    form = urllib.parse.urlencode({"channel": CHANNEL, "text": "form & <b>",
                                   "blocks": json.dumps([{"type": "divider"}])})
    said = raw("chat.postMessage", form.encode())
    assert said["ok"] and said["message"]["blocks"][0]["type"] == "divider", said
    kind = "application/json; charset=utf-8"
    assert raw("chat.postMessage", b"{nope", kind)["error"] == "invalid_json"
    assert raw("auth.test", token=None)["error"] == "not_authed"
    assert raw("auth.test", token="xoxb-nobody")["error"] == "invalid_auth"
    assert raw("auth.test", f"token={TOKEN}".encode(), token=None)["ok"]
    assert raw("auth.test", token=os.environ["APP_TOKEN"])["error"] == "not_allowed_token_type"
    assert raw("apps.connections.open")["error"] == "not_allowed_token_type"
    assert raw("no.such.method")["error"] == "unknown_method"
    asked = raw("api.test", b"error=as_asked&foo=bar", token=None)
    assert (asked["ok"], asked["error"], asked["args"]["foo"]) == (False, "as_asked", "bar"), asked


root, ts = replies()
posts(root)
links(root, ts[1])
changes(ts[0])
reactions(ts[1])
lists()
uploads()
bodies()
print("ok")
