# SPDX-License-Identifier: Apache-2.0
"""Runs something that starts many processes, and leaves none of them and no file behind, however it ends."""
from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys
import tempfile
import traceback
from typing import Any, Callable, NoReturn

from .processes import children, kill

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)


class Asked(SystemExit):
    """Somebody wants it to end: raised in the main thread of the guarded process, once."""


def guarded(work: Callable[[], int]) -> int:
    """Runs it in a process of its own, and returns its exit status; its temporary folder is gone afterwards.

    A signal is handed on to it, once, as Asked; the second one ends it at once. Whatever it started becomes our child when its parent
    ends (also by SIGKILL), and is killed at the end. If we are killed ourselves, it is asked to end.
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder = tempfile.mkdtemp(prefix="demo-")  # short: sockets stand in it
    # As TMPDIR is without us: workers of a proxy that root has started are somebody else, and have to reach the folders in it that are open to them.
    os.chmod(folder, 0o711)
    us = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    worker = os.fork()
    if worker == 0:
        _work(work, us, folder)
    to_send = iter([None, signal.SIGKILL])

    def hand_on(number: int, _frame: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, next(to_send, None) or number)

    for number in SIGNALS:
        signal.signal(number, hand_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        return _reap_until(worker)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        _end_all()
        if not os.environ.get("SLUICE_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


def _prctl(option: int, argument: int) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _work(work: Callable[[], int], guardian: int, folder: str) -> NoReturn:
    # What is typed at the terminal is handed on, and comes once.
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    code: Any = 1
    try:
        for number in SIGNALS:
            signal.signal(number, _leave)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        if os.getppid() == guardian:
            code = work()
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr, flush=True)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


def _leave(number: int, _frame: Any) -> NoReturn:
    for each in SIGNALS:
        signal.signal(each, lambda *_: None)
    raise Asked(128 + number)


def _reap_until(worker: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _end_all() -> None:
    # The children of those that are killed become ours.
    while ours := children(os.getpid()):
        kill(ours)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
