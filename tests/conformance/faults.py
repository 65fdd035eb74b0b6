# SPDX-License-Identifier: Apache-2.0
"""What tests/conformance/broken.py breaks examples/provider.py with: the program as a module, and ways to get between its functions."""
from __future__ import annotations

import importlib.util
import os
import pathlib

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/provider.py"
spec = importlib.util.spec_from_file_location("provider", EXAMPLE)
provider = importlib.util.module_from_spec(spec)
spec.loader.exec_module(provider)

FAULTS = {}


def fault(function):
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


def end() -> None:
    os._exit(3)


def around(owner, name: str, wrapper) -> None:
    """Puts `wrapper(original, *arguments)` in the place of a function."""
    original = getattr(owner, name)
    setattr(owner, name, lambda *arguments: wrapper(original, *arguments))


def on_message(change) -> None:
    """`change(link, message)` gives what comes instead of a message; nothing comes instead of None."""
    around(provider, "messages", lambda original, link: (
        new for message in original(link) if (new := change(link, message)) is not None))


def on_type(word: str, act) -> None:
    def change(link, message):
        if message[0] == word:
            act(link, message[1])
        return message
    on_message(change)


def on_commit(act) -> None:
    """`act(link, objects, staged)` goes before what a commit does."""
    def wrapper(original, link, objects, staged, address):
        act(link, objects, staged)
        original(link, objects, staged, address)
    around(provider, "take_commit", wrapper)


def never_says(word: str) -> None:
    around(provider, "send", lambda original, link, kind, body:
           None if kind == word else original(link, kind, body))


def ignores(word: str) -> None:
    on_message(lambda link, message: None if message[0] == word else message)
