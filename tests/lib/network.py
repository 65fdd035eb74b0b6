# SPDX-License-Identifier: Apache-2.0
"""A network of a test's own: a namespace that only the calling thread, the threads that it starts, and their processes see."""
from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def ip(*arguments: str) -> None:
    """The command of iproute2, in the network of the calling thread."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def own_network():
    """Only loopback is there, and up. What was started within has to be ended within."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.unshare(CLONE_NEWNET))
        try:
            ip("link", "set", "lo", "up")
            if "SLUICE_POD_NETWORK" in os.environ:  # tests/pod-network
                ip("route", "add", "local", f"{os.environ['SLUICE_POD_NETWORK']}.0.0/16", "dev", "lo")
            yield
        finally:
            _check(_libc.setns(before, CLONE_NEWNET))
    finally:
        os.close(before)
