"""A person's files, brought by Slack's own upload with a token of theirs."""

import json
import os
import sys

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

web = WebClient(token=os.environ["PERSON_TOKEN"], base_url=os.environ["HUB"] + "api/", timeout=60)
paths = json.loads(os.environ["FILES"])
shared = web.files_upload_v2(
    channel=os.environ["CHANNEL"], initial_comment=os.environ["WORDS"],
    file_uploads=[{"file": path, "filename": os.path.basename(path)} for path in paths])
# What cannot be seen in a name is written out.
names = [os.path.basename(path).replace("\u202e", r"\u{202e}") for path in paths]
assert [file["name"] for file in shared["files"]] == names, shared
assert all(file["user"] == shared["files"][0]["user"] != "U0BUTLER" for file in shared["files"])

# More than a file may hold is refused before a byte of it is sent.
try:
    web.files_getUploadURLExternal(filename="huge.log", length=100 << 20)
    sys.exit("a file of 100 MB was taken")
except SlackApiError as error:
    assert error.response["error"] == "file_upload_size_restricted", error.response
# A token of a person is no app.
try:
    web.chat_postMessage(channel=os.environ["CHANNEL"], text="as an app")
    sys.exit("a person posted as an app")
except SlackApiError as error:
    assert error.response["error"] == "invalid_auth", error.response
print("ok")
