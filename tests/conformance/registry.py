# SPDX-License-Identifier: Apache-2.0
"""The list of checks: a check is a function of the bench; its name is that of the function, its docstring says what must hold."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from .bench import Bench

Function = Callable[[Bench], None]


@dataclass
class Check:
    name: str
    text: str
    run: Function
    is_slow: bool = False
    needs_traffic: bool = False
    needs_filter: bool = False


CHECKS: list[Check] = []


def check(function: Function) -> Function:
    CHECKS.append(Check(function.__name__.replace("_", "-"), " ".join(function.__doc__.split()), function))
    return function


def slow_check(function: Function) -> Function:
    """One that has to wait for the limits of the protocol; left out by --quick."""
    check(function)
    CHECKS[-1].is_slow = True
    return function


def traffic_check(function: Function) -> Function:
    """One that sends requests to the addresses that the provider tells; only with --traffic."""
    check(function)
    CHECKS[-1].needs_traffic = True
    return function


def filter_check(function: Function) -> Function:
    """One of the provider as a filter; left out when the program is none."""
    check(function)
    CHECKS[-1].needs_filter = True
    return function
