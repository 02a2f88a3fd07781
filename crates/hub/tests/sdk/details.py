"""What apps read of answers: fields of messages, channels, people and files; names of refusals;
reasons for blocks that are refused."""

import os
import time
import warnings

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

import people

warnings.simplefilter("ignore")
CHANNEL = people.CHANNEL
web = WebClient(token=os.environ["BOT_TOKEN"], base_url=people.BASE + "api/")
ANA = people.get("v1/me")["user"]
ME = web.auth_test()


def refused(error, what, **args):
    try:
        answer = web.api_call(what, json=args)
    except SlackApiError as refusal:
        assert refusal.response["error"] == error, (what, args, refusal.response.data)
        return refusal.response
    raise AssertionError(f"{what} {args}: {error} expected, not {answer.data}")


def has(what, *fields):
    missing = [field for field in fields if field not in what]
    assert not missing, (missing, what)


def shapes():
    has(web.conversations_info(channel=CHANNEL)["channel"], "id", "name", "is_channel", "is_private",
        "is_archived", "is_general", "is_member", "is_shared", "is_ext_shared", "is_org_shared", "created",
        "creator", "unlinked", "updated", "context_team_id", "shared_team_ids", "previous_names", "topic",
        "purpose", "num_members", "name_normalized", "parent_conversation", "pending_shared")
    ana = web.users_info(user=ANA)["user"]
    has(ana, "id", "team_id", "name", "deleted", "color", "real_name", "tz", "tz_label", "tz_offset",
        "is_admin", "is_owner", "is_primary_owner", "is_restricted", "is_ultra_restricted", "is_bot",
        "is_app_user", "updated", "profile")
    has(ana["profile"], "real_name", "display_name", "display_name_normalized", "email", "image_72",
        "status_text", "status_emoji", "team")
    app = web.users_info(user=ME["user_id"])["user"]
    assert app["is_bot"] and app["profile"]["bot_id"] == ME["bot_id"], app
    said = web.chat_postMessage(channel=CHANNEL, text="hi")
    has(said["message"], "type", "user", "ts", "bot_id", "app_id", "text", "team", "bot_profile")
    headers = {name.lower(): value for name, value in said.headers.items()}
    assert headers["x-accepted-oauth-scopes"] == "chat:write", headers
    assert "chat:write" in headers["x-oauth-scopes"].split(","), headers


def threads():
    root = web.chat_postMessage(channel=CHANNEL, text="root")["ts"]
    reply = web.chat_postMessage(channel=CHANNEL, text="reply", thread_ts=root)["message"]
    assert reply["parent_user_id"] == ME["user_id"], reply
    parent = web.conversations_replies(channel=CHANNEL, ts=root)["messages"][0]
    has(parent, "reply_count", "reply_users", "reply_users_count", "latest_reply")
    web.chat_postMessage(channel=CHANNEL, text="for all", thread_ts=root, reply_broadcast=True)
    newest = web.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
    assert newest["subtype"] == "thread_broadcast" and newest["root"]["ts"] == root, newest
    web.pins_add(channel=CHANNEL, timestamp=root)
    parent = web.conversations_replies(channel=CHANNEL, ts=root)["messages"][0]
    assert parent["pinned_to"] == [CHANNEL], parent
    web.pins_remove(channel=CHANNEL, timestamp=root)


def attachments():
    ts = web.chat_postMessage(channel=CHANNEL, text="a", attachments=[{"text": "one"}])["ts"]
    there = {"channel": CHANNEL, "ts": ts}
    changed = web.chat_update(text="b", attachments=[{"text": "two"}], **there)["message"]
    assert [one["text"] for one in changed["attachments"]] == ["two"], changed
    alone = web.chat_update(attachments=[{"text": "three"}], **there)["message"]
    assert alone["attachments"][0]["text"] == "three" and alone["text"] == "b", alone
    assert web.chat_update(text="c", **there)["message"]["attachments"], "left out, they stay"
    assert "attachments" not in web.chat_update(text="d", attachments=[], **there)["message"]


def names():
    name = web.conversations_info(channel=CHANNEL)["channel"]["name"]
    for way in (name, "#" + name):
        assert web.chat_postMessage(channel=way, text="by its name")["channel"] == CHANNEL
    refused("channel_not_found", "chat.postMessage", channel="nowhere", text="x")
    refused("users_list_not_supplied", "conversations.open")
    refused("user_not_in_channel", "chat.postEphemeral", channel=CHANNEL, user="U404", text="x")
    refused("no_text", "chat.postEphemeral", channel=CHANNEL, user=ANA)
    refused("no_such_subteam", "usergroups.users.list", usergroup="S404")
    modal = {"type": "modal", "title": {"type": "plain_text", "text": "M"}, "blocks": []}
    missing = refused("invalid_arguments", "views.open", view=modal)
    assert "trigger_id" in missing["response_metadata"]["messages"][0], missing.data


def reactions():
    ts = web.chat_postMessage(channel=CHANNEL, text="react")["ts"]
    web.reactions_add(channel=CHANNEL, timestamp=ts, name="tada")
    [newest, *_] = web.reactions_list()["items"]
    assert newest["message"]["ts"] == ts and newest["channel"] == CHANNEL, newest
    for page in web.reactions_list(limit=1):
        assert len(page["items"]) == 1, page.data


def files():
    uploads = [{"content": "a", "filename": "a.txt", "title": "A"}, {"content": "b", "filename": "b.py"}]
    shared = web.files_upload_v2(channel=CHANNEL, file_uploads=uploads, initial_comment="two")["files"]
    file = web.files_info(file=shared[1]["id"])["file"]
    assert file["filetype"] == "python" and not file["editable"], file
    [share] = file["shares"]["public"][CHANNEL]
    newest = web.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
    assert share["ts"] == newest["ts"] and len(newest["files"]) == 2, (share, newest)


def sessions():
    root = people.say("work on this")
    there = {"channel_id": CHANNEL, "thread_ts": root}
    web.api_call("agents.sessions.setStatus", json={"status": "processing", "title": "The work", **there})
    seen = people.get(f"v1/threads/{CHANNEL}/{root}")
    assert seen["assistant"]["title"] == "The work" and seen["activity"][0]["state"] == "working", seen
    refused("invalid_arguments", "agents.sessions.setStatus", status="nonsense", **there)
    web.api_call("agents.sessions.setStatus", json={"status": "closed", **there})


def blocks():
    plain = {"type": "plain_text", "text": "x"}
    button = {"type": "button", "action_id": "a", "text": plain}
    section = {"type": "section", "text": plain}
    for block, reason in [
        ({"type": "actions", "elements": [button, button]}, "already exists [json-pointer:/blocks/0/elements/1/action_id]"),
        ({"type": "actions", "elements": [{**button, "style": "blue"}]}, "[json-pointer:/blocks/0/elements/0/style]"),
        ({"type": "actions", "elements": [{"type": "bogus"}]}, "unsupported type: bogus [json-pointer:/blocks/0/elements/0/type]"),
        ({"type": "actions", "elements": [{"type": "overflow", "action_id": "a", "options": []}]},
         "no fewer than 1 items allowed [json-pointer:/blocks/0/elements/0/options]"),
        ({**section, "accessory": {"type": "static_select", "action_id": "a"}},
         "missing required field: options [json-pointer:/blocks/0/accessory]"),
        ({"type": "context", "elements": [button]}, "must be a valid text object [json-pointer:/blocks/0/elements/0]"),
        ({"type": "image", "image_url": "https://example.com/a.png"}, "missing required field: alt_text"),
        ({"type": "input", "label": plain}, "missing required field: element"),
        ({"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2001}]}, "/blocks/0/fields/0/text"),
    ]:
        wrong = refused("invalid_blocks", "chat.postMessage", channel=CHANNEL, text="x", blocks=[block])
        [said] = wrong["response_metadata"]["messages"]
        assert said.startswith("[ERROR] ") and reason in said, (block, said)
    option = {"text": plain, "value": "v"}
    for element in ({"type": "static_select", "placeholder": plain, "options": [option]},
                    {"type": "radio_buttons", "options": [option]}, {"type": "datepicker"},
                    {"type": "checkboxes", "options": [option]}, {"type": "users_select"},
                    {"type": "overflow", "options": [option, option]}):
        web.chat_postMessage(channel=CHANNEL, text="x", blocks=[
            {"type": "actions", "elements": [{"action_id": "a", **element}]}])


def later():
    at = int(time.time()) + 1000
    made = web.chat_scheduleMessage(channel=CHANNEL, post_at=at, text="later")
    assert made["post_at"] == at and made["message"]["text"] == "later", made.data
    [listed] = web.chat_scheduledMessages_list(oldest=at - 10, latest=at + 10)["scheduled_messages"]
    has(listed, "id", "channel_id", "post_at", "date_created", "text")
    web.chat_deleteScheduledMessage(channel=CHANNEL, scheduled_message_id=made["scheduled_message_id"])


for check in (shapes, threads, attachments, names, reactions, files, sessions, blocks, later):
    check()
print("ok")
