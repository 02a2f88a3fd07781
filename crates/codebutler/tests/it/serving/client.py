"""The official Python SDK against `codebutler mcp serve`: asks, reads, answers a card.

The SDK speaks the newer era, without a handshake, when a server knows it."""
import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def main(program):
    progress = []

    async def told(done, total, message):
        progress.append(message)

    # The SDK hands over few variables of its own accord.
    server = StdioServerParameters(command=program, args=["mcp", "serve"], env=dict(os.environ))
    async with Client(server) as client:
        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments, progress_callback=told)
            text = result.content[0].text
            return (not result.is_error, text if result.is_error else json.loads(text))

        seen = {"version": client.session.protocol_version, "tools": [tool.name for tool in (await client.list_tools()).tools]}
        seen["asked"] = await call("ask", request="add colours", wait_seconds=100)
        seen["progress"] = len(progress)
        needs = (await call("needs", wait_seconds=60))[1]
        card, thread = needs["needs"][0]["card"], needs["needs"][0]["thread"]
        seen["card"] = card
        answer = {"thread": thread, "card": card["card"]}
        seen["blind"] = await call("answer_card", **answer, choice="approve", sha256="0" * 64)
        seen["odd"] = await call("answer_card", **answer, choice="merge", sha256=card["sha256"])
        seen["missing"] = await call("answer_card", **answer, choice="approve")
        seen["open"] = len((await call("read_thread", thread=thread))[1]["cards"])
        seen["decided"] = await call(
            "answer_card", **answer, choice="reject", sha256=card["sha256"], reason="too bright"
        )
        seen["after"] = await call("read_thread", thread=thread)
        seen["status"] = (await call("status"))[1]
        seen["threads"] = (await call("list_threads"))[1]
        print(json.dumps(seen))


asyncio.run(main(sys.argv[1]))
