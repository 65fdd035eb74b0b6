# SPDX-License-Identifier: Apache-2.0
"""Reads a configuration of nginx back, as nginx's own parser does: directives with their words and blocks."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Directive:
    words: list[str]
    block: list["Directive"] | None = None

    @property
    def name(self) -> str:
        return self.words[0]


def parse(text: str) -> list[Directive]:
    """ValueError when it is none. A `..._by_lua_block` has its code as its last word."""
    items, at = _block(text, 0, False)
    if at != len(text):
        raise ValueError(f"something follows at {at}")
    return items


def walk(items: list[Directive], path: tuple[str, ...] = ()):
    """Every directive with the names of the blocks around it."""
    for item in items:
        yield path, item
        if item.block is not None:
            yield from walk(item.block, (*path, item.name))


def _block(text: str, at: int, is_inner: bool) -> tuple[list[Directive], int]:
    items: list[Directive] = []
    words: list[str] = []
    while at < len(text):
        char = text[at]
        if char in " \t\r\n":
            at += 1
        elif char == "#" :
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif char == ";":
            if not words:
                raise ValueError(f"a lone ; at {at}")
            items.append(Directive(words))
            words, at = [], at + 1
        elif char == "{":
            if not words:
                raise ValueError(f"a block without a name at {at}")
            if words[0].endswith("_by_lua_block"):
                end = _lua_end(text, at + 1)
                items.append(Directive([*words, text[at + 1:end]]))
                at = end + 1
            else:
                block, at = _block(text, at + 1, True)
                items.append(Directive(words, block))
            words = []
        elif char == "}":
            if not is_inner or words:
                raise ValueError(f"a lone }} at {at}")
            return items, at + 1
        else:
            word, at = _word(text, at)
            words.append(word)
    if is_inner or words:
        raise ValueError("it ends within a block or a directive")
    return items, at


def _word(text: str, at: int) -> tuple[str, int]:
    out = []
    quote = text[at] if text[at] in "\"'" else ""
    at += len(quote)
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            follower = text[at + 1]
            out.append({"t": "\t", "r": "\r", "n": "\n"}.get(follower, follower if follower in "\"'\\" else "\\" + follower))
            at += 2
        elif quote and char == quote:
            if at + 1 < len(text) and text[at + 1] not in " \t\r\n;{)":
                raise ValueError(f"something follows a quote at {at}")
            return "".join(out), at + 1
        elif not quote and char in " \t\r\n;{":
            return "".join(out), at
        else:
            out.append(char)
            at += 1
    raise ValueError("it ends within a word")


def _lua_end(text: str, at: int) -> int:
    depth = 1
    quote = ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise ValueError("Lua code without an end")
