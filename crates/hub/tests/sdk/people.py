"""What the tests do as a person: the hub's /v1."""

import json
import os
import urllib.request

BASE = os.environ["HUB"]
CHANNEL = os.environ["CHANNEL"]


def call(path, body):
    request = urllib.request.Request(
        BASE + path, data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["PERSON_TOKEN"],
                 "Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return json.load(opener.open(request))


def say(text, thread_ts=None):
    return call("v1/messages", {"channel": CHANNEL, "text": text, "thread_ts": thread_ts})["ts"]


def click(ts, action_id):
    return call("v1/actions", {"channel": CHANNEL, "ts": ts, "action_id": action_id})


def react(ts, name):
    return call("v1/reactions", {"channel": CHANNEL, "ts": ts, "name": name})


def shake(kind):
    return call("v1/test/shake", {"kind": kind})


def command(name, text=""):
    return call("v1/commands", {"channel": CHANNEL, "command": name, "text": text})


def shortcut(callback_id, ts=None):
    return call("v1/shortcuts", {"channel": CHANNEL, "callback_id": callback_id, "ts": ts})


def get(path):
    request = urllib.request.Request(
        BASE + path, headers={"Authorization": "Bearer " + os.environ["PERSON_TOKEN"]})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return json.load(opener.open(request))


def views():
    return get("v1/views")["views"]
