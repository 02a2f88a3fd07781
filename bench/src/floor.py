"""The floor as a script has it: a request over a kept connection, then one `sh`.

Says the seconds of CPU that its turns took, its own start left out.
"""

import http.client
import resource
import subprocess
import sys


def used():
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in whose)


address, command = sys.argv[1:3]
turns, first, more = map(int, sys.argv[3:6])
connection = http.client.HTTPConnection(address)
begin = used()
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
print(used() - begin)
