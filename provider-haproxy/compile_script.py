#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a macro with the text of a script, without lines that are comments.

usage: compile_script.py MACRO SCRIPT HEADER"""
import json
import pathlib
import sys


def main(macro: str, source: str, target: str) -> None:
    lines = pathlib.Path(source).read_text(encoding='ascii').splitlines(keepends=True)
    # JSON's escapes are C's for printable ASCII, tabs and newlines.
    text = ' \\\n'.join(f'\t{json.dumps(line)}' for line in lines if not line.lstrip().startswith('--'))
    pathlib.Path(target).write_text(f'#pragma once\n\n#define {macro} \\\n{text}\n', encoding='ascii')


if __name__ == '__main__':
    main(*sys.argv[1:])
