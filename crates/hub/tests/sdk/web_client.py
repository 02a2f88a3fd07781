"""Python's slack_sdk WebClient against the hub, unchanged."""

import os
import urllib.request

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

BASE = os.environ["HUB"]
CHANNEL = os.environ["CHANNEL"]
web = WebClient(token=os.environ["BOT_TOKEN"], base_url=BASE + "api/")


def refused(expected, call):
    try:
        call()
    except SlackApiError as error:
        assert error.response["error"] == expected, error.response
    else:
        raise AssertionError(f"{expected} expected")


def post_thread_update_delete():
    me = web.auth_test()
    assert me["user_id"] and me["bot_id"] and me["team_id"], me.data
    root = web.chat_postMessage(channel=CHANNEL, text="root", username="codebutler.coder",
                                icon_emoji=":robot_face:")
    assert root["message"]["subtype"] == "bot_message", root.data
    reply = web.chat_postMessage(
        channel=CHANNEL, text="reply", thread_ts=root["ts"],
        blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "reply"}}],
        metadata={"event_type": "mine", "event_payload": {"a": 1}})
    replies = web.conversations_replies(channel=CHANNEL, ts=root["ts"], include_all_metadata=True)
    assert [m["text"] for m in replies["messages"]] == ["root", "reply"], replies.data
    assert replies["messages"][0]["reply_count"] == 1
    assert replies["messages"][1]["metadata"]["event_payload"] == {"a": 1}
    short = web.conversations_replies(channel=CHANNEL, ts=root["ts"])
    assert "event_payload" not in short["messages"][1]["metadata"]
    web.chat_update(channel=CHANNEL, ts=reply["ts"], text="changed")
    changed = web.conversations_replies(channel=CHANNEL, ts=root["ts"])["messages"][1]
    assert changed["text"] == "changed" and "blocks" not in changed, changed
    link = web.chat_getPermalink(channel=CHANNEL, message_ts=reply["ts"])["permalink"]
    assert CHANNEL in link, link
    web.chat_delete(channel=CHANNEL, ts=reply["ts"])
    assert len(web.conversations_replies(channel=CHANNEL, ts=root["ts"])["messages"]) == 1
    refused("message_not_found", lambda: web.chat_delete(channel=CHANNEL, ts=reply["ts"]))
    refused("channel_not_found", lambda: web.chat_postMessage(channel="C404", text="x"))


def pages():
    for number in range(7):
        web.chat_postMessage(channel=CHANNEL, text=f"page {number}")
    seen = []
    for page in web.conversations_history(channel=CHANNEL, limit=3):
        seen += [m["text"] for m in page["messages"] if m["text"].startswith("page ")]
    assert seen == [f"page {n}" for n in range(6, -1, -1)], seen
    channels = web.conversations_list()["channels"]
    assert CHANNEL in [c["id"] for c in channels], channels
    assert web.conversations_info(channel=CHANNEL)["channel"]["name"]
    assert web.conversations_members(channel=CHANNEL)["members"]
    assert web.users_list()["members"]


def reactions():
    ts = web.chat_postMessage(channel=CHANNEL, text="react to me")["ts"]
    web.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")
    refused("already_reacted",
            lambda: web.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes"))
    got = web.reactions_get(channel=CHANNEL, timestamp=ts)["message"]["reactions"]
    assert got[0]["name"] == "eyes" and got[0]["count"] == 1, got
    web.reactions_remove(channel=CHANNEL, timestamp=ts, name="eyes")
    refused("no_reaction",
            lambda: web.reactions_remove(channel=CHANNEL, timestamp=ts, name="eyes"))


def files():
    root = web.chat_postMessage(channel=CHANNEL, text="a file")["ts"]
    content = bytes(range(256)) * 9
    shared = web.files_upload_v2(channel=CHANNEL, thread_ts=root, filename="data.bin",
                                 content=content, title="some data", initial_comment="look")
    info = web.files_info(file=shared["file"]["id"])["file"]
    assert info["title"] == "some data" and info["size"] == len(content), info
    request = urllib.request.Request(
        info["url_private"], headers={"Authorization": "Bearer " + os.environ["BOT_TOKEN"]})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    assert opener.open(request).read() == content
    message = web.conversations_replies(channel=CHANNEL, ts=root)["messages"][-1]
    assert message["subtype"] == "file_share" and message["text"] == "look", message


def files_of_every_kind():
    """What is uploaded is what is had again; what could run is only ever saved."""
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    kinds = {
        "shot.png": (b"\x89PNG\r\n\x1a\n" + bytes(64), "image/png", "inline"),
        "manual.pdf": (b"%PDF-1.4\n%%EOF\n", "application/pdf", "inline"),
        "night.log": (b"10:00:00 nothing special\n" * 800_000, "text/plain", "attachment"),
        "note.wav": (b"RIFF\x24\0\0\0WAVEfmt " + bytes(64), "audio/wav", "inline"),
        "logo.svg": (svg, "image/svg+xml", "attachment"),
        "page.html": (b"<script>alert(1)</script>", "text/plain", "attachment"),
    }
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for name, (content, kind, way) in kinds.items():
        shared = web.files_upload_v2(channel=CHANNEL, filename=name, content=content)
        info = web.files_info(file=shared["file"]["id"])["file"]
        request = urllib.request.Request(
            info["url_private"], headers={"Authorization": "Bearer " + os.environ["BOT_TOKEN"]})
        answer = opener.open(request)
        assert answer.read() == content, name
        assert answer.headers["Content-Type"] == kind, (name, answer.headers["Content-Type"])
        assert answer.headers["Content-Disposition"].startswith(way), name
        policy = answer.headers["Content-Security-Policy"]
        # The browser's reader of documents does not work in a sandbox.
        assert policy.startswith("default-src 'none'; ") and "script" not in policy, name
        assert policy.endswith("sandbox") == (name != "manual.pdf"), (name, policy)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", name
    # A hundred megabytes are refused before a byte of them is sent.
    refused("file_upload_size_restricted",
            lambda: web.files_getUploadURLExternal(filename="huge.log", length=100 << 20))


post_thread_update_delete()
pages()
reactions()
files()
files_of_every_kind()
print("ok")
