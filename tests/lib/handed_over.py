# SPDX-License-Identifier: Apache-2.0
"""Listening sockets that a service manager hands to a program when it starts it (sd_listen_fds(3))."""
from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys

# LISTEN_PID has to be the program's own number: this child sets it and becomes the program.
CHILD = ("import os, sys\n"
         "name, count = sys.argv[1], int(sys.argv[2])\n"
         "for place in range(count): os.dup2(int(sys.argv[3 + place]), 40 + place)\n"
         "for place in range(count): os.dup2(40 + place, 3 + place); os.set_inheritable(3 + place, True)\n"
         "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count), LISTEN_FDNAMES=':'.join([name] * count))\n"
         "os.execv(sys.argv[3 + count], sys.argv[3 + count:])\n")


def listening(path: pathlib.Path) -> socket.socket:
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(path))
    local.listen()
    return local


def handed_over(name: str, sockets: list[socket.socket], *command: str | pathlib.Path, **environment: str) -> subprocess.Popen[str]:
    """As a socket unit with FileDescriptorName=`name` passes them."""
    inherited = {key: value for key, value in os.environ.items() if key != "SLUICE_ADMIN_ADDRESS"}
    numbers = [each.fileno() for each in sockets]
    return subprocess.Popen([sys.executable, "-c", CHILD, name, str(len(numbers)), *map(str, [*numbers, *command])], env={**inherited, **environment},
                            pass_fds=numbers, stderr=subprocess.PIPE, text=True)
