"""An MCP server as large as those of Sentry and Notion: 24 tools, 80 KB of descriptions.

Leaves a mark whenever it is started."""
import json
import os
import sys

open(os.path.join("marks", str(os.getpid())), "w").close()
WORDS = "What it does, at length, with every option and an example of each. " * 48
TOOLS = [
    {"name": f"tool{n}", "description": WORDS, "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"id": {"type": "string", "description": "Which."}}}}
    for n in range(24)
]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "large", "version": "1"}},
        "tools/list": {"tools": TOOLS},
    }
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})}
    print(json.dumps(answer), flush=True)
