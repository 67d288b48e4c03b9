"""The workers: started when needed, kept for the next call, stopped when they take too long or nobody waits any more."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Any

from optimaldp.studio.settings import TABLE_CALLS, AtWork

_LONGEST_LINE = 1 << 28  # a design of thousands of datasets with its certificate is some ten megabytes
_MOST_WORKERS = 4


class WorkerLostError(Exception):
    """A worker ended before it answered."""


class Worker:
    """One process that computes."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @staticmethod
    async def start(settings: Mapping[str, Any], module: str = "optimaldp.studio.worker") -> Worker:
        command = (sys.executable, "-m", module)
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=_LONGEST_LINE)
        worker = Worker(process)
        worker._write(settings)
        return worker

    async def call(self, name: str, body: str) -> tuple[int, str]:
        """Run one call and wait for its answer."""
        self._write({"call": name, "body": body})
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise WorkerLostError
        answer = json.loads(line)
        return int(answer["status"]), str(answer["body"])

    async def stop(self) -> None:
        """End the process at once, whatever it does."""
        self._kill()
        await self.finish()

    async def finish(self) -> None:
        """Let an idle process end by itself; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 2)
        except TimeoutError:
            self._kill()
            await self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it may have ended a moment ago
            self._process.kill()

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")


class Pool:
    """At most a few workers; a call takes an idle one or starts one.

    **Guarantee.** A call that is cancelled or runs out of time leaves no process behind that still works on it.
    Calls that need no table never run in a process that has opened one.
    """

    def __init__(self, table: AtWork) -> None:
        self.table = table
        self._idle: dict[bool, list[Worker]] = {True: [], False: []}  # by whether they have to do with the table
        self._ending: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(_MOST_WORKERS)

    async def warm(self) -> None:
        """Start workers before anybody asks, and let them load what the pages need."""
        await self.run("preview", '{"question": "majority(x)", "epsilon": 1}', seconds=None)
        if self.table.data is not None:
            await self.run("session", "{}", seconds=None)

    async def use(self, table: AtWork) -> None:
        """Work on another table from now on; workers that have to do with the one before end."""
        self.table = table
        old, self._idle[True] = self._idle[True], []
        await asyncio.gather(*(worker.stop() for worker in old))

    async def settled(self) -> None:
        """Wait until the processes that were stopped have really ended: they write nothing any more."""
        await asyncio.gather(*self._ending)

    async def run(self, name: str, body: str, *, seconds: float | None) -> tuple[int, str]:
        """Run a call; raises ``TimeoutError`` after *seconds*, and :class:`WorkerLostError` if the process died."""
        of_table = name in TABLE_CALLS
        async with self._free:
            idle, table = self._idle[of_table], self.table
            worker = idle.pop() if idle else await Worker.start(table.to_document())
            try:
                answer = await asyncio.wait_for(worker.call(name, body), seconds)
            except BaseException:
                self._end(worker)
                raise
            if of_table and table is not self.table:
                self._end(worker)  # another table was opened meanwhile
            else:
                idle.append(worker)
            return answer

    def _end(self, worker: Worker) -> None:
        """Kill a worker now and bury it in the background: who waited for it has gone."""
        ending = asyncio.create_task(worker.stop())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all workers."""
        idle = [worker for workers in self._idle.values() for worker in workers]
        self._idle = {True: [], False: []}
        await asyncio.gather(*(worker.finish() for worker in idle), *self._ending)
