#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a macro with the text of scripts, one behind the other, without lines that are comments. What is local to one is local to it.

usage: compile_script.py MACRO HEADER SCRIPT..."""
import json
import pathlib
import sys


def read(path: str) -> list[str]:
    lines = pathlib.Path(path).read_text(encoding='ascii').splitlines(keepends=True)
    return ['do\n', *(line for line in lines if not line.lstrip().startswith('--')), 'end\n']


def main(macro: str, target: str, *sources: str) -> None:
    lines = [line for source in sources for line in read(source)]
    # JSON's escapes are C's for printable ASCII, tabs and newlines.
    text = ' \\\n'.join(f'\t{json.dumps(line)}' for line in lines)
    pathlib.Path(target).write_text(f'#pragma once\n\n#define {macro} \\\n{text}\n', encoding='ascii')


if __name__ == '__main__':
    main(*sys.argv[1:])
