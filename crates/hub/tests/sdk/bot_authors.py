"""Methods that bot authors expect beside posting: channels, pins, schedules, streams, views."""

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
BOT = web.auth_test()["user_id"]


def refused(error, what, **args):
    try:
        answer = web.api_call(what, json=args)
    except SlackApiError as refusal:
        assert refusal.response["error"] == error, (what, args, refusal.response.data)
        return refusal.response
    raise AssertionError(f"{what} {args}: {error} expected, not {answer.data}")


def channels():
    made = web.conversations_create(name="plans")["channel"]
    there = {"channel": made["id"]}
    assert not made["is_private"] and made["is_member"], made
    assert web.conversations_setTopic(topic="the plan", **there)["channel"]["topic"]["value"] == "the plan"
    web.conversations_setPurpose(purpose="planning", **there)
    info = web.conversations_info(**there)["channel"]
    assert info["topic"]["value"] == "the plan" and info["purpose"]["value"] == "planning", info
    refused("too_long", "conversations.setTopic", topic="x" * 251, **there)
    assert web.conversations_rename(name="plans-2", **there)["channel"]["name"] == "plans-2"
    refused("invalid_name_specials", "conversations.rename", name="No Good", **there)
    again = web.conversations_create(name="plans")["channel"]["id"]
    assert again != made["id"]
    refused("name_taken", "conversations.rename", name="plans", **there)

    assert ANA in web.conversations_members(**there)["members"]
    refused("already_in_channel", "conversations.invite", users=ANA, **there)
    web.conversations_kick(user=ANA, **there)
    assert ANA not in web.conversations_members(**there)["members"]
    refused("not_in_channel", "conversations.kick", user=ANA, **there)
    web.conversations_invite(users=[ANA], **there)
    assert ANA in web.conversations_members(**there)["members"]
    refused("cant_invite_self", "conversations.invite", users=BOT, **there)
    refused("user_not_found", "conversations.invite", users="U404", **there)
    refused("no_user", "conversations.invite", **there)

    web.conversations_leave(**there)
    assert not web.conversations_info(**there)["channel"]["is_member"]
    assert web.conversations_leave(**there)["not_in_channel"]
    refused("not_in_channel", "chat.postMessage", text="x", **there)
    assert made["id"] not in [c["id"] for c in web.users_conversations()["channels"]]
    assert "warning" not in web.conversations_join(**there).data
    web.chat_postMessage(text="back", **there)

    web.conversations_archive(**there)
    refused("already_archived", "conversations.archive", **there)
    refused("is_archived", "chat.postMessage", text="x", **there)
    listed = web.conversations_list(exclude_archived=True)["channels"]
    assert made["id"] not in [c["id"] for c in listed]
    web.conversations_unarchive(**there)
    refused("not_archived", "conversations.unarchive", **there)
    web.conversations_mark(ts=web.chat_postMessage(text="again", **there)["ts"], **there)

    hidden = web.conversations_create(name="hidden", is_private=True)["channel"]
    assert hidden["is_private"] and hidden["is_group"] and not hidden["is_channel"], hidden
    assert hidden["id"] not in [c["id"] for c in web.conversations_list()["channels"]]
    private = web.conversations_list(types="private_channel")["channels"]
    assert [c["id"] for c in private] == [hidden["id"]], private
    assert web.conversations_members(channel=hidden["id"])["members"] == [BOT]


def direct():
    opened = web.conversations_open(users=ANA, return_im=True)
    assert opened["channel"]["is_im"] and opened["channel"]["user"] == ANA, opened.data
    again = web.conversations_open(users=[ANA])
    assert again["already_open"] and again["channel"]["id"] == opened["channel"]["id"]
    assert opened["channel"]["id"].startswith("D")
    said = web.chat_postMessage(channel=ANA, text="just you")
    assert said["channel"] == opened["channel"]["id"], said.data
    refused("method_not_supported_for_channel_type", "conversations.archive", channel=said["channel"])
    refused("channel_not_found", "chat.postMessage", channel="U404", text="x")
    refused("user_not_found", "conversations.open", users="U404")
    assert [c["id"] for c in web.conversations_list(types="im")["channels"]] == [said["channel"]]


def persons():
    ana = web.users_info(user=ANA)["user"]
    found = web.users_lookupByEmail(email=ana["profile"]["email"])["user"]
    assert found["id"] == ANA, found
    refused("users_not_found", "users.lookupByEmail", email="nobody@example.com")
    assert web.users_profile_get(user=ANA)["profile"]["display_name"] == "ana"
    mine = [c["id"] for c in web.users_conversations(user=ANA)["channels"]]
    assert CHANNEL in mine, mine
    assert web.users_getPresence(user=ANA)["presence"] == "active"
    assert web.emoji_list()["emoji"] == {} and web.usergroups_list()["usergroups"] == []


def pins():
    ts = web.chat_postMessage(channel=CHANNEL, text="pin me")["ts"]
    web.pins_add(channel=CHANNEL, timestamp=ts)
    refused("already_pinned", "pins.add", channel=CHANNEL, timestamp=ts)
    [item] = web.pins_list(channel=CHANNEL)["items"]
    assert item["message"]["text"] == "pin me" and item["created_by"] == BOT, item
    web.pins_remove(channel=CHANNEL, timestamp=ts)
    refused("no_pin", "pins.remove", channel=CHANNEL, timestamp=ts)
    refused("message_not_found", "pins.add", channel=CHANNEL, timestamp="1700000000.000001")
    assert web.pins_list(channel=CHANNEL)["items"] == []

    mark = web.bookmarks_add(channel_id=CHANNEL, title="docs", type="link",
                             link="https://example.com/docs", emoji=":book:")["bookmark"]
    changed = web.bookmarks_edit(channel_id=CHANNEL, bookmark_id=mark["id"], title="the docs")
    assert changed["bookmark"]["title"] == "the docs", changed.data
    assert changed["bookmark"]["link"] == "https://example.com/docs"
    [listed] = web.bookmarks_list(channel_id=CHANNEL)["bookmarks"]
    assert listed["id"] == mark["id"] and listed["title"] == "the docs"
    web.bookmarks_remove(channel_id=CHANNEL, bookmark_id=mark["id"])
    refused("not_found", "bookmarks.remove", channel_id=CHANNEL, bookmark_id=mark["id"])
    refused("invalid_link", "bookmarks.add", channel_id=CHANNEL, title="x", type="link", link="?")


def later():
    now = int(time.time())
    refused("time_in_past", "chat.scheduleMessage", channel=CHANNEL, text="x", post_at=now - 5)
    refused("time_too_far", "chat.scheduleMessage", channel=CHANNEL, text="x", post_at=now + 121 * 86400)
    refused("invalid_time", "chat.scheduleMessage", channel=CHANNEL, text="x", post_at="soon")
    far = web.chat_scheduleMessage(channel=CHANNEL, text="never", post_at=now + 3600)
    near = web.chat_scheduleMessage(channel=CHANNEL, text="soon enough", post_at=int(time.time()) + 5)
    listed = web.chat_scheduledMessages_list(channel=CHANNEL)["scheduled_messages"]
    assert far["scheduled_message_id"] in [one["id"] for one in listed], listed
    web.chat_deleteScheduledMessage(channel=CHANNEL, scheduled_message_id=far["scheduled_message_id"])
    refused("invalid_scheduled_message_id", "chat.deleteScheduledMessage", channel=CHANNEL,
            scheduled_message_id=far["scheduled_message_id"])
    for _ in range(60):
        texts = [m["text"] for m in web.conversations_history(channel=CHANNEL)["messages"]]
        if "soon enough" in texts:
            break
        time.sleep(0.5)
    assert texts.count("soon enough") == 1, (near.data, texts)
    assert web.chat_scheduledMessages_list()["scheduled_messages"] == []


def posts():
    ts = web.chat_meMessage(channel=CHANNEL, text="is thinking")["ts"]
    newest = web.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
    assert newest["ts"] == ts and newest["subtype"] == "me_message", newest
    link = "https://example.com/a"
    ts = web.chat_postMessage(channel=CHANNEL, text=f"see {link}")["ts"]
    web.chat_unfurl(channel=CHANNEL, ts=ts, unfurls={link: {"title": "A", "text": "an A"}})
    [shown] = web.conversations_history(channel=CHANNEL, limit=1)["messages"][0]["attachments"]
    assert shown["title"] == "A" and shown["from_url"] == link, shown
    refused("missing_unfurls", "chat.unfurl", channel=CHANNEL, ts=ts)
    wrong = refused("invalid_blocks", "chat.postMessage", channel=CHANNEL, text="x",
                    blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}])
    [reason] = wrong["response_metadata"]["messages"]
    assert "[json-pointer:/blocks/0/text/text]" in reason, reason
    refused("invalid_name", "reactions.add", channel=CHANNEL, timestamp=ts, name="no_such_emoji")
    web.reactions_add(channel=CHANNEL, timestamp=ts, name="hourglass_flowing_sand")


def streams():
    root = people.say("tell me slowly")
    there = {"channel": CHANNEL, "thread_ts": root}
    refused("missing_recipient_user_id", "chat.startStream", markdown_text="x", **there)
    who = {"recipient_user_id": ANA, "recipient_team_id": web.auth_test()["team_id"]}
    ts = web.chat_startStream(markdown_text="**one**", **there, **who)["ts"]
    one = {"channel": CHANNEL, "ts": ts}
    refused("streaming_state_conflict", "chat.update", text="x", **one)
    web.chat_appendStream(markdown_text=" two", **one)
    done = web.chat_stopStream(markdown_text=" three", **one)["message"]
    assert done["text"] == "*one* two three" and done["streaming_state"] == "completed", done
    refused("message_not_in_streaming_state", "chat.appendStream", markdown_text="x", **one)
    kept = web.conversations_replies(channel=CHANNEL, ts=root)["messages"][1]
    assert kept["text"] == "*one* two three", kept
    web.assistant_threads_setStatus(channel_id=CHANNEL, thread_ts=root, status="is looking")
    web.assistant_threads_setTitle(channel_id=CHANNEL, thread_ts=root, title="Slow things")
    web.assistant_threads_setSuggestedPrompts(
        channel_id=CHANNEL, thread_ts=root, prompts=[{"title": "More", "message": "tell me more"}])
    seen = people.get(f"v1/threads/{CHANNEL}/{root}")
    assert seen["assistant"]["title"] == "Slow things", seen["assistant"]
    assert seen["activity"][0]["step"] == "is looking", seen["activity"]


def files():
    shared = web.files_upload_v2(channel=CHANNEL, filename="a.txt", content="abc")["file"]["id"]
    listed = web.files_list(channel=CHANNEL)
    assert shared in [file["id"] for file in listed["files"]] and listed["paging"]["total"] == 1
    web.files_delete(file=shared)
    assert web.files_list()["files"] == []
    refused("file_not_found", "files.delete", file=shared)


def views():
    modal = {"type": "modal", "title": {"type": "plain_text", "text": "M"}, "blocks": []}
    refused("invalid_trigger_id", "views.open", trigger_id="1.2.3", view=modal)
    refused("not_found", "views.update", view_id="V404", view=modal)
    wrong = refused("invalid_arguments", "views.publish", user_id=ANA, view=modal)
    assert "/view/type" in wrong["response_metadata"]["messages"][0], wrong.data
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "at home"}}
    home = web.views_publish(user_id=ANA, view={"type": "home", "blocks": [block]})["view"]
    assert home["type"] == "home" and home["id"].startswith("V"), home
    again = web.views_publish(user_id=ANA, hash=home["hash"], view={"type": "home", "blocks": []})
    assert again["view"]["id"] == home["id"] and again["view"]["hash"] != home["hash"]
    refused("hash_conflict", "views.publish", user_id=ANA, hash=home["hash"],
            view={"type": "home", "blocks": []})
    assert people.get("v1/views")["home"][0]["id"] == home["id"]


for check in (channels, direct, persons, pins, later, posts, streams, files, views):
    check()
print("ok")
