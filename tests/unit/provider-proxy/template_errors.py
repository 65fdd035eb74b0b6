#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Templates that must not compile, and what is said of each.

usage: template_errors.py COMPILER"""
import pathlib
import subprocess
import sys
import tempfile

CASES = {
    'a {{#b}}\n': ': b does not end',
    'a {{/b}}\n': '1: b ends where it is not open',
    '{{#b}}{{#c}}{{/b}}{{/c}}\n': '1: b ends where it is not open',
    '\n{{{a}}}\n': '2: not a tag',
    '{{ a }}\n': '1: not a tag',
    '{{&a}}\n': '1: not a tag',
    '{{^a}}\n': '1: not a tag',
    '{{> a}}\n': '1: not a tag',
    '{{A}}\n': '1: not a tag',
    '{{a}\n': '1: not a tag',
    'a "b\n': '1: double quotes are open',
    '"{{#b}}"{{/b}}\n': '1: b opens or closes double quotes',
    'a\\{{b}}\n': '1: a backslash before b',
    '{{a}}{{#a}}{{/a}}\n': ': both value and block: a',
    'a\rb\n': 'a control character',
}


def main(compiler: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, target = pathlib.Path(name, 'a.tmpl'), pathlib.Path(name, 'a.h')
        for text, want in CASES.items():
            source.write_bytes(text.encode())
            run = subprocess.run([compiler, 'a', source, target], capture_output=True, text=True, check=False)
            if run.returncode == 0 or want not in run.stderr or target.exists():
                sys.exit(f'{text!r}: wanted {want!r}, got {run.returncode} {run.stderr!r}')
        source.write_text('{{#b}}\n{{a}} "{{a}}"\n{{/b}}\n', encoding='ascii')
        subprocess.run([compiler, 'a', source, target], check=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
