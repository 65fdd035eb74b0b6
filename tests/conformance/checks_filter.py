# SPDX-License-Identifier: Apache-2.0
"""The provider as a filter, which is optional (doc/writing-a-provider.md): left out when the program does not answer --hello."""
from __future__ import annotations

import io
import pathlib
import tarfile

from .bench import HELLO, Bench, Failed, frame
from .message import Invalid, printable, read_message
from .registry import filter_check
from .wishes import Object

FRAMES_MAX = 1000


def read_frames(bench: Bench, data: bytes) -> list[tuple[str, Object]]:
    found = []
    while data:
        length = int.from_bytes(data[:4], "big")
        if len(data) < 4 or not 1 <= length <= len(data) - 4 or len(found) == FRAMES_MAX:
            raise Failed(f"no frame: {printable(repr(data[:40]))}")
        try:
            found.append(read_message(data[4:4 + length], bench.tables))
        except Invalid as problem:
            raise Failed(str(problem)) from None
        data = data[4 + length:]
    return found


def state(bench: Bench, *last: bytes) -> bytes:
    objects = [frame("upsert", item) for item in bench.wishes().usual()]
    return b"".join([frame("hello", HELLO), frame("sync-begin", {}), *objects, *last])


def hello_of(bench: Bench) -> Object:
    match read_frames(bench, bench.run_filter(["--hello"], b"").stdout):
        case [("hello", body)]:
            bench.grouping = (body.get("capabilities") or {}).get("grouping", bench.grouping)
            return body
    raise Failed("--hello does not write one hello and nothing else")


def require_good(done) -> None:
    if done.returncode != 0:
        raise Failed(f"exit code {done.returncode}: {printable(done.stderr.decode(errors='replace').strip())}")


def files_below(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


@filter_check
def says_the_hello_of_the_link(bench: Bench) -> None:
    """--hello writes the hello that it sends on the link, one frame, and ends."""
    told = hello_of(bench)
    on_link = bench.fresh().hello
    for key in sorted({*told, *on_link}):
        if told.get(key) != on_link.get(key):
            raise Failed(f"{key} is {printable(repr(told.get(key)))}, and on the link {printable(repr(on_link.get(key)))}")


@filter_check
def renders_a_state(bench: Bench) -> None:
    """--render DIR writes files that nobody else can read, and --render - the same files as an archive."""
    hello_of(bench)
    folder = bench.filter_folder()
    given = state(bench, frame("commit", {"serial": 1}))
    require_good(bench.run_filter(["--render", str(folder)], given))
    files = files_below(folder)
    if not any(path.stat().st_size for path in files.values()):
        raise Failed("nothing is written for a load balancer with a host and a pool")
    for name, path in files.items():
        if path.stat().st_mode & 0o077:
            raise Failed(f"{printable(name)} has mode {path.stat().st_mode & 0o777:04o}")
    done = bench.run_filter(["--render", "-"], given)
    require_good(done)
    try:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            archived = {item.name: tar.extractfile(item).read() for item in tar if item.isfile()}
    except tarfile.TarError as problem:
        raise Failed(f"--render - writes no archive: {problem}") from None
    if archived != {name: path.read_bytes() for name, path in files.items()}:
        raise Failed(f"the archive and the folder differ: {printable(str(sorted(archived)))} and {printable(str(sorted(files)))}")


@filter_check
def renders_only_what_is_whole(bench: Bench) -> None:
    """A state without its commit, or one that is cut off, is refused with exit code 1 and a reason, and nothing is written."""
    hello_of(bench)
    folder = bench.filter_folder()
    commit = frame("commit", {"serial": 1})
    for what, given in (("nothing", b""), ("no commit", state(bench)), ("half a commit", state(bench, commit[:-1]))):
        done = bench.run_filter(["--render", str(folder)], given)
        if done.returncode != 1 or not done.stderr.strip():
            raise Failed(f"{what}: exit code {done.returncode}, and {'a' if done.stderr.strip() else 'no'} reason")
        if folder.exists() and files_below(folder):
            raise Failed(f"{what}: files are written")


@filter_check
def reports_without_applying(bench: Bench) -> None:
    """--reports writes its hello, and for each load balancer a status that is pending."""
    hello_of(bench)
    file = bench.filter_folder().with_suffix(".reports")
    require_good(bench.run_filter(["--reports", str(file)], state(bench, frame("commit", {"serial": 1}))))
    match read_frames(bench, file.read_bytes()):
        case [("hello", _), ("lb-status", {"id": name, "state": "pending"})] if name == bench.wishes().lb_id():
            return
        case found:
            raise Failed("it reports " + printable(", ".join(f"{kind} {body.get('id', '')} {body.get('state', '')}".strip() for kind, body in found)))
