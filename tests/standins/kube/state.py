# SPDX-License-Identifier: Apache-2.0
"""Everything that one running stand-in holds, and the knobs that can be turned while it runs."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .auth import Authenticator, Authorizer
from .defaults import ServiceAllocator
from .faults import Faults
from .journal import Journal
from .profiles import Profile
from .resources import Served
from .store import Store
from .wire import Split, WireSettings

if TYPE_CHECKING:
    from .watches import Stream

WATCH_ORDERS = ("fifo", "lifo", "random")
NULLABLE = ("streaming_lists", "gzip_streams", "page_max", "read_bytes_per_s", "split")
STREAMING = ("ignored", "no-gate", "off", "on")


@dataclass
class Settings:
    """Knobs. Those that default to None follow the profile."""

    bookmark_period_s: float = 60.0
    final_bookmark_s: float = 2.0
    min_request_timeout_s: float = 1800.0
    too_large_wait_s: float = 3.0
    watch_buffer_bytes: int = 256 * 1024 * 1024
    gzip_from_bytes: int = 128 * 1024
    streaming_lists: str | None = None
    end_marker: bool = True
    gzip_streams: bool | None = None
    page_max: int | None = None
    strict_namespaces: bool = False
    event_ttl_s: float = 3600.0
    pf_headers: bool = True


class BadSetting(ValueError):
    """An unknown knob or a value it cannot take."""


@dataclass
class State:
    """One stand-in."""

    profile: Profile
    store: Store
    authenticator: Authenticator
    settings: Settings = field(default_factory=Settings)
    wire: WireSettings = field(default_factory=WireSettings)
    authorizer: Authorizer = field(default_factory=Authorizer)
    faults: Faults = field(default_factory=Faults)
    journal: Journal = field(default_factory=Journal)
    allocator: ServiceAllocator = field(default_factory=ServiceAllocator)
    streams: dict[int, Stream] = field(default_factory=dict)
    dice: random.Random = field(default_factory=random.Random)
    tasks: set[asyncio.Task] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.index: dict[tuple[str, str], dict[str, Served]] = {}
        for served in self.profile.served():
            self.index.setdefault((served.group, served.version), {})[served.resource.plural] = served
        self.groups = {group for group, _ in self.index}

    @property
    def streaming_lists(self) -> str:
        """How streaming lists are answered."""
        return self.settings.streaming_lists or self.profile.streaming_lists

    @property
    def gzip_streams(self) -> bool:
        """Whether streaming lists are compressed when asked."""
        override = self.settings.gzip_streams
        return self.profile.gzip_streams if override is None else override

    def spawn(self, coroutine: Any) -> asyncio.Task:
        """Starts a task that lives until it is done or the stand-in stops."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def describe_settings(self) -> dict[str, Any]:
        """All knobs."""
        split = self.wire.split
        return dataclasses.asdict(self.settings) | {
            "split": dataclasses.asdict(split) if split else None,
            "read_bytes_per_s": self.wire.read_bytes_per_s,
            "watch_order": self.store.watch_order,
            "revision_step": self.store.revision_step,
            "window_events": self.store.window_events,
        }

    def set(self, changes: dict[str, Any]) -> None:
        """Turns knobs. Raises BadSetting before anything is changed."""
        known = self.describe_settings()
        unknown = changes.keys() - known.keys()
        if unknown:
            raise BadSetting(f"unknown settings {sorted(unknown)}; there are {sorted(known)}")
        for key, value in changes.items():
            _check(key, value, known[key])
        for key, value in changes.items():
            if key == "split":
                self.wire.split = Split(**value) if value else None
            elif key == "read_bytes_per_s":
                self.wire.read_bytes_per_s = value
            elif key in ("watch_order", "revision_step", "window_events"):
                setattr(self.store, key, value)
            else:
                setattr(self.settings, key, value)


def _check(key: str, value: Any, current: Any) -> None:
    choices = {"watch_order": WATCH_ORDERS, "streaming_lists": (None, *STREAMING)}.get(key)
    if choices and value not in choices:
        raise BadSetting(f"{key} is one of {choices}, not {value!r}")
    if value is None and key in NULLABLE:
        return
    if key == "split":
        names = {entry.name for entry in dataclasses.fields(Split)}
        if not isinstance(value, dict) or value.keys() - names:
            raise BadSetting(f"split is null or an object of {sorted(names)}")
    elif isinstance(current, bool) or key == "gzip_streams":
        if not isinstance(value, bool):
            raise BadSetting(f"{key} is true or false")
    elif isinstance(current, (int, float)) or key in ("page_max", "read_bytes_per_s"):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise BadSetting(f"{key} is a number that is not negative")
