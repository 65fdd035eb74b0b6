# SPDX-License-Identifier: Apache-2.0
"""Faults of examples/provider.py as a filter."""
from __future__ import annotations

import os

from faults import around, fault, provider


@fault
def another_hello():
    around(provider, "run_filter", lambda original, args: original(provider.argparse.Namespace(**{**vars(args), "grouping": "merged"})))


@fault
def renders_for_all_to_read():
    around(provider, "write_files", lambda original, where, files: (
        original(where, files), [os.chmod(os.path.join(where, name), 0o644) for name in files if where != "-"]))


@fault
def archives_something_else():
    around(provider, "write_files", lambda original, where, files: original(where, files if where != "-" else {"x": b"x"}))


@fault
def renders_nothing():
    provider.rendered = lambda objects: {}


@fault
def renders_what_is_cut_off():
    commit = provider.frame("commit", {"serial": 1})
    around(provider, "read_state", lambda original, data: original(data if data.endswith(commit) or not data else data + commit))


@fault
def reports_what_is_not():
    around(provider, "frame", lambda original, kind, body: original(kind, {**body, "state": "applied"} if "state" in body else body))
