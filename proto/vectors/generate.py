#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the .bin files from the .json files of this folder, or with --check says which of them differ.

A .json file holds one message as [type, body]. Binary values are written {"$bin": "<base64>"}; everything else means in
msgpack what it means in JSON. A `rev` always takes the nine-byte form of a number. That of an object of the provider link is
computed: it is 0 in the .json file, and stands in the .bin file and in `revs.json`.
"""
import base64
import hashlib
import json
import pathlib
import sys

import msgpack

HERE = pathlib.Path(__file__).resolve().parent


def revive(value):
    """JSON to what msgpack packs."""
    if isinstance(value, dict):
        if set(value) == {"$bin"}:
            return base64.b64decode(value["$bin"])
        return {key: revive(item) for key, item in value.items()}
    if isinstance(value, list):
        return [revive(item) for item in value]
    return value


def pack(value) -> bytes:
    return msgpack.packb(value, use_bin_type=True)


def pack_body(body: dict) -> tuple[bytes, int | None]:
    """The body's bytes and, for objects that carry one, the revision: the first eight bytes of SHA-256 of the body with a
    revision of zero."""
    if "rev" not in body:
        return pack(body), None
    rev = None
    out = msgpack.Packer(use_bin_type=True)
    parts = [out.pack_map_header(len(body))]
    for key, value in body.items():
        parts.append(pack(key))
        parts.append(b"\xcf" + value.to_bytes(8, "big") if key == "rev" else pack(value))
    raw = b"".join(parts)
    if body.get("kind"):
        rev = int.from_bytes(hashlib.sha256(raw).digest()[:8], "big")
        raw = raw.replace(b"\xa3rev\xcf" + bytes(8), b"\xa3rev\xcf" + rev.to_bytes(8, "big"), 1)
    return raw, rev


def frame(message: list) -> tuple[bytes, int | None]:
    kind, body = message
    raw, rev = pack_body(revive(body))
    payload = b"\x92" + pack(kind) + raw
    return len(payload).to_bytes(4, "big") + payload, rev


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    revs, stale = {}, []
    wanted = {}
    for path in sorted(HERE.glob("*.json")):
        if path.name == "revs.json":
            continue
        data, rev = frame(json.loads(path.read_text()))
        wanted[path.with_suffix(".bin")] = data
        if rev is not None:
            revs[path.stem] = f"{rev:016x}"
    wanted[HERE / "revs.json"] = (json.dumps(revs, indent=2) + "\n").encode()
    for path, data in wanted.items():
        if not path.exists() or path.read_bytes() != data:
            stale.append(path.name)
            if not check:
                path.write_bytes(data)
    print(f"{len(wanted)} files, {len(stale)} {'stale' if check else 'written'}", *stale)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
