"""The floor as a script has it: a request over a kept connection, then one `sh`."""

import http.client
import subprocess
import sys

address, command = sys.argv[1:3]
turns, first, more = map(int, sys.argv[3:6])
connection = http.client.HTTPConnection(address)
for turn in range(1, turns + 1):
    connection.request("POST", "/v1/chat/completions", b"x" * (first + (turn - 1) * more))
    connection.getresponse().read()
    subprocess.run(
        ["sh", "-c", command.format(turn)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=True,
    )
