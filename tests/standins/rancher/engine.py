# SPDX-License-Identifier: Apache-2.0
"""Runs the processes that move rows through their states.

At most one process runs on a row. Starting one puts the row into the transitional state at once, so the
answer to the request that started it already shows it. A process whose handler fails stays where it is,
marked `transitioning: error`, and is tried again by the server itself until it succeeds or another process
takes over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from typing import Awaitable, Callable

from . import states
from .behaviour import Behaviour
from .errors import conflict
from .store import Row, Store, now_ms

log = logging.getLogger(__name__)


class ProcessFailed(Exception):
    """The attempt failed for a reason that users are shown: `transitioning` becomes error."""


@dataclass
class Run:
    process: str
    step: states.Step
    task: asyncio.Task | None = None
    again: bool = False          # asked for once more while it was running
    attempts: int = 0
    wake: asyncio.Event = field(default_factory=asyncio.Event)


Handler = Callable[[Row], Awaitable[None]]


class Engine:
    def __init__(self, store: Store, behaviour: Behaviour):
        self.store = store
        self.behaviour = behaviour
        self.handlers: dict[tuple[str, str], Handler] = {}
        self.finished: dict[tuple[str, str], Callable[[Row], None]] = {}
        self.runs: dict[str, Run] = {}

    def on(self, table: str, process: str, handler: Handler) -> None:
        """`handler` does the work of a process; it may run several times and must be repeatable."""
        self.handlers[(table, process)] = handler

    def after(self, table: str, process: str, callback: Callable[[Row], None]) -> None:
        """`callback` runs when the process has brought the row to its end state."""
        self.finished[(table, process)] = callback

    def allowed(self, row: Row, process: str) -> bool:
        return states.step(row.table, process, row.state) is not None

    def start(self, row: Row, process: str) -> None:
        """Start a process, or raise 409 where the state does not permit it."""
        step = states.step(row.table, process, row.state)
        if step is None:
            raise conflict()
        running = self.runs.get(row.id)
        if running and process == "update":
            running.again = not self.behaviour.lose_overlapping_updates
            self._mark(row, step.via)
            running.wake.set()
            return
        if running and running.process == process:
            return
        if running and running.task:
            running.task.cancel()
        self._mark(row, step.via)
        run = Run(process, step)
        self.runs[row.id] = run
        run.task = asyncio.get_running_loop().create_task(self._run(row, run))

    def show(self, row: Row, state: str) -> None:
        """Write a state that nothing carries out: the process that runs will overwrite it."""
        self._mark(row, state)

    def resume(self) -> None:
        """Take up the processes of all rows that are in a transitional state, after a restart."""
        for table, processes in states.RESUME.items():
            for row in list(self.store.live(table)):
                if row.state in processes:
                    self.start(row, processes[row.state])

    def wake(self) -> None:
        """End all waits between attempts, and look anew at how long the present states are to last."""
        for run in self.runs.values():
            run.wake.set()

    def idle(self) -> bool:
        """Nothing is going on, except what has failed and waits for its next attempt."""
        return all(run.attempts > 0 for run in self.runs.values())

    async def stop(self) -> None:
        tasks = [run.task for run in self.runs.values() if run.task]
        self.runs.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, row: Row, run: Run) -> None:
        try:
            while not await self._attempt(row, run):
                pass
        except asyncio.CancelledError:
            raise
        except Exception:  # a defect of the stand-in: it must be seen, and not look like a slow server
            log.exception("process %s of %s", run.process, row)
            self._mark(row, row.state, "error", "internal failure of the stand-in, see its log")
            raise
        finally:
            if self.runs.get(row.id) is run:
                del self.runs[row.id]

    async def _attempt(self, row: Row, run: Run) -> bool:
        await self._linger(row, run)
        run.again = False
        handler = self.handlers.get((row.table, run.process))
        try:
            if handler:
                await handler(row)
        except ProcessFailed as problem:
            self._mark(row, row.state, "error", str(problem))
            await self._wait(run)
            return False
        run.attempts = 0
        if run.again:
            return False
        self._finish(row, run)
        return True

    def _finish(self, row: Row, run: Run) -> None:
        # The row is free from here on: what the callback starts must not be taken for an overlapping process.
        if self.runs.get(row.id) is run:
            del self.runs[row.id]
        if run.step.end == "removed":
            row["removed"] = now_ms()
        self._mark(row, run.step.end, "no", None)
        callback = self.finished.get((row.table, run.process))
        if callback:
            callback(row)

    async def _linger(self, row: Row, run: Run) -> None:
        """Stay in the transitional state for its time, which may be changed meanwhile."""
        clock = asyncio.get_running_loop().time
        start = clock()
        while (rest := start + self.behaviour.delay_of(row.table, row.state) - clock()) > 0:
            run.wake.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(run.wake.wait(), rest)

    async def _wait(self, run: Run) -> None:
        wait = self.behaviour.retry_wait + 0.1 * 2 ** min(run.attempts, 20)
        run.attempts += 1
        run.wake.clear()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(run.wake.wait(), min(wait, self.behaviour.retry_max))

    def _mark(self, row: Row, state: str, transitioning: str = "yes",
              message: str | None = "In Progress") -> None:
        changes = {"state": state, "transitioning": transitioning, "transitioningMessage": message,
                   "transitioningProgress": None}
        if any(row.fields.get(name, "") != value for name, value in changes.items()):
            row.fields.update(changes)
            self.store.touch(row)
