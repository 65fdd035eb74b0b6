#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a template into a table for provider-proxy/template.h, which describes the syntax.

usage: compile_template.py NAME TEMPLATE HEADER"""
import json
import pathlib
import re
import sys

TAG = re.compile(r'\{\{(?:([#/]?)([a-z][a-z0-9_]*)|!([^{}]*))\}\}')
PART = re.compile(r'\{\{> ([a-z_.]+\.tmpl)\}\}\n')
ALONE = re.compile(r'[ \t]*\{\{(?:[#/][a-z][a-z0-9_]*|![^{}]*)\}\}[ \t]*\n')


class TemplateError(Exception):
    """What is wrong, without the line's number."""


class Compiler:
    def __init__(self) -> None:
        self.nodes: list[list] = []  # kind, name or text, end
        self.values: set[str] = set()
        self.blocks: set[str] = set()
        self.open: list[tuple[int, bool]] = []  # node, inside of quotes
        self.is_quoted = False

    def line(self, line: str) -> None:
        alone = ALONE.fullmatch(line)
        at = 0
        if alone:
            line = line.strip()
        for tag in TAG.finditer(line):
            if line[:tag.start()].endswith('{') or line[tag.end():].startswith('}'):
                raise TemplateError('not a tag: ' + line.strip())
            self.text(line[at:tag.start()])
            self.tag(tag.group(1), tag.group(2))
            at = tag.end()
        self.text(line[at:])
        if not alone and self.is_quoted:
            raise TemplateError('double quotes are open at the end of the line')

    def text(self, text: str) -> None:
        if '{{' in text or '}}' in text:
            raise TemplateError('not a tag: ' + text.strip())
        is_escaped = False
        for char in text:
            if char == '"' and not is_escaped:
                self.is_quoted = not self.is_quoted
            is_escaped = char == '\\' and not is_escaped
        if self.nodes and self.nodes[-1][0] == 'TEXT' and text:
            # A block that has just ended still ends where it did.
            if not any(node[2] == len(self.nodes) for node in self.nodes):
                self.nodes[-1][1] += text
                return
        if text:
            self.nodes.append(['TEXT', text, 0])

    def tag(self, sign: str | None, name: str | None) -> None:
        if name is None:
            return
        if sign == '#':
            self.blocks.add(name)
            self.open.append((len(self.nodes), self.is_quoted))
            self.nodes.append(['BLOCK', name, 0])
        elif sign == '/':
            self.close(name)
        else:
            last = self.nodes[-1] if self.nodes else ['', '', 0]
            if last[0] == 'TEXT' and last[1].endswith('\\'):
                raise TemplateError(f'a backslash before {name}')
            self.values.add(name)
            self.nodes.append(['QUOTED' if self.is_quoted else 'BARE', name, 0])

    def close(self, name: str) -> None:
        if not self.open or self.nodes[self.open[-1][0]][1] != name:
            raise TemplateError(f'{name} ends where it is not open')
        at, is_quoted = self.open.pop()
        if is_quoted != self.is_quoted:
            raise TemplateError(f'{name} opens or closes double quotes for what follows')
        self.nodes[at][2] = len(self.nodes)

    def end(self) -> None:
        if self.open:
            raise TemplateError(f'{self.nodes[self.open[-1][0]][1]} does not end')
        if self.values & self.blocks:
            raise TemplateError('both value and block: ' + ', '.join(sorted(self.values & self.blocks)))


def enum(prefix: str, kind: str, names: set[str]) -> list[str]:
    if not names:
        return []
    return [f'enum {prefix}_{kind} {{', *(f'\t{prefix}_{kind}_{name},'.upper() for name in sorted(names)), '};', '']


def node_text(prefix: str, node: list) -> str:
    kind, what, end = node
    if kind == 'TEXT':
        # JSON's escapes are C's for what a template may hold: printable ASCII, tabs and newlines.
        return f'\t{{TEMPLATE_TEXT, 0, STR({json.dumps(what)}), 0}},'
    group = 'BLOCK' if kind == 'BLOCK' else 'VALUE'
    return f'\t{{TEMPLATE_{kind}, {f"{prefix}_{group}_{what}".upper()}, STR_NONE, {end}}},'


def header(prefix: str, compiler: Compiler) -> str:
    return '\n'.join([
        '#pragma once', '', '#include "provider-proxy/template.h"', '',
        *enum(prefix, 'value', compiler.values), *enum(prefix, 'block', compiler.blocks),
        f'static const struct template_node {prefix}_nodes[] = {{',
        *(node_text(prefix, node) for node in compiler.nodes), '};', '',
        f'static const struct template {prefix}_template = {{',
        f'\t{prefix}_nodes, sizeof({prefix}_nodes) / sizeof({prefix}_nodes[0])}};', ''])


def read(compiler: Compiler, source: pathlib.Path) -> None:
    number = 0
    with open(source, encoding='ascii', newline='\n') as file:
        lines = file.readlines()
    try:
        for number, line in enumerate(lines, 1):
            if re.search(r'[^\t\n -~]', line):
                raise TemplateError('a control character')
            part = PART.fullmatch(line)
            if part:
                read(compiler, source.parent / part.group(1))
            else:
                compiler.line(line)
    except TemplateError as error:
        sys.exit(f'{source}:{number}: {error}')


def main(prefix: str, source: str, target: str) -> None:
    compiler = Compiler()
    read(compiler, pathlib.Path(source))
    try:
        compiler.end()
    except TemplateError as error:
        sys.exit(f'{source}: {error}')
    with open(target, 'w', encoding='ascii') as file:
        file.write(header(prefix, compiler))


if __name__ == '__main__':
    main(*sys.argv[1:])
