"""The processes that read tables: ready before they are needed, stopped when they take too long, replaced when they are gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping
from typing import Any

from optimaldp.asking.corridor import Clock
from optimaldp.service.watching import log
from optimaldp.studio.pool import Worker, WorkerLostError

_MODULE = "optimaldp.service.clerk"
WORK_SHARE = 0.9
"""Work may take that part of the time until its answer; the rest is for stopping it and for keeping what became of it."""
_WARM_SECONDS = 600.0  # where many start at once on few processors; only one that hangs takes longer
_RETRY_SECONDS = 2.0
_PATIENCE_SECONDS = 300.0  # how long a question waits for others


class CutOffError(Exception):
    """The work took longer than it may, or its process ended."""


class BusyError(Exception):
    """No clerk became free in reasonable time. Nothing was begun."""


class Workers:
    """A fixed number of clerks.

    **Guarantee.** A call that takes longer than it may leaves no process behind that still works on it. A clerk is given work
    only after it has loaded everything, so that no question pays for that.
    """

    def __init__(self, settings: Mapping[str, Any], number: int) -> None:
        self._settings, self._number = settings, number
        self._ready: asyncio.Queue[Worker] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._public = asyncio.Semaphore(max(1, number - 1))
        self._closing = False

    def start(self) -> None:
        """Start all clerks; calls wait until one is ready."""
        for _ in range(self._number):
            self._later(self._hire())

    async def run(self, name: str, body: str, *, seconds: float) -> tuple[int, str]:
        """A call on public things, which may take so many seconds; a clerk stays free for questions, if there are several."""
        async with self._public:
            return await self._call(await self._free(), name, body, seconds)

    async def run_by(self, clock: Clock, name: str, body: str) -> tuple[int, str]:
        """A call that is answered when *clock* says: the work is cut off shortly before, so that both come at the same time.

        Whoever had to wait for others has a whole interval.
        """
        try:
            worker = self._ready.get_nowait()
        except asyncio.QueueEmpty:
            worker = await self._free()
            clock.turn_came()
        return await self._call(worker, name, body, WORK_SHARE * clock.left())

    async def _free(self) -> Worker:
        try:
            return await asyncio.wait_for(self._ready.get(), _PATIENCE_SECONDS)
        except TimeoutError:
            raise BusyError from None

    async def close(self) -> None:
        """End all clerks; one that works is given the time that its question has."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        idle = [self._ready.get_nowait() for _ in range(self._ready.qsize())]
        await asyncio.gather(*(worker.finish() for worker in idle))

    async def _call(self, worker: Worker, name: str, body: str, seconds: float) -> tuple[int, str]:
        try:
            answer = await asyncio.wait_for(worker.call(name, body), seconds)
        except BaseException as error:
            # Killed before anybody is told: from here on nothing is drawn or written any more.
            await asyncio.shield(self._replace(worker))
            if isinstance(error, (TimeoutError, WorkerLostError, ConnectionError)):
                raise CutOffError from None
            raise
        self._ready.put_nowait(worker)
        return answer

    async def _replace(self, worker: Worker) -> None:
        await worker.stop()
        if not self._closing:
            self._later(self._hire())

    async def _hire(self) -> None:
        """Start a clerk; try again as long as it cannot work (a database that is away comes back)."""
        while True:
            worker = await Worker.start(self._settings, _MODULE)
            try:
                status, _ = await asyncio.wait_for(worker.call("warm", "{}"), _WARM_SECONDS)
            except BaseException as error:
                await asyncio.shield(worker.stop())
                if not isinstance(error, (TimeoutError, WorkerLostError, ConnectionError)):
                    raise
                status = 500
            if status == 200:
                self._ready.put_nowait(worker)
                return
            log("clerk", level=logging.ERROR, status=status)
            with contextlib.suppress(ProcessLookupError):
                await worker.stop()
            await asyncio.sleep(_RETRY_SECONDS)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
