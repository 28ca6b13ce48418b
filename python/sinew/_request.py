# SPDX-License-Identifier: Apache-2.0
"""Non-blocking calls under way."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple

from ._errors import INTERRUPTED, raise_error
from ._library import Process, ReceivedStruct, library


#: As the source of a receive: any rank.
ANY_SOURCE = -1


class Received(NamedTuple):
    """The result of a receive: source rank, tag and number of elements; -1, 0, 0 for other calls."""

    source: int
    tag: int
    count: int  # type: ignore[assignment]  # hides tuple.count


class Request:
    """A non-blocking call under way. It keeps its buffers until it has completed.

    An error of the operation is raised once, by wait, test or wait_for; the request is then complete. A
    request that is dropped waits for its end, at most until the operation's deadline.
    """

    def __init__(self, keeps: Any, failed: list[Any]) -> None:
        """Made before the operation starts, which stores its handle in `handle`: nothing may happen between its start
        and this object. `failed` gets the buffers if the operation fails, as the medium may still write to them."""
        self.handle = ctypes.c_void_p()
        self._keeps = keeps
        self._failed = failed
        self._received = Received(-1, 0, 0)

    def wait(self) -> Received:
        """Blocks until the operation has completed. Ctrl-C ends the wait, not the operation."""
        if self.handle:
            result = ReceivedStruct()
            self._end(library.sinew_request_wait(self.handle, result), True, result)
        return self._received

    def test(self) -> bool:
        """Returns whether the operation has completed; makes progress unless a thread of the library does."""
        if not self.handle:
            return True
        done, result = ctypes.c_int(), ReceivedStruct()
        return self._end(library.sinew_request_test(self.handle, done, result), done.value != 0, result)

    def wait_for(self, seconds: float) -> bool:
        """Blocks as `wait` does, for at most `seconds`; returns whether the operation has completed."""
        if not self.handle:
            return True
        done, result = ctypes.c_int(), ReceivedStruct()
        nanoseconds = min(int(seconds * 1e9), 2**63 - 1)
        status = library.sinew_request_wait_for(self.handle, nanoseconds, done, result)
        return self._end(status, done.value != 0, result)

    def cancel(self) -> bool:
        """Withdraws a receive that has not matched a message; returns whether it was withdrawn."""
        if not self.handle:
            return False
        cancelled = ctypes.c_int()
        status = library.sinew_request_cancel(self.handle, cancelled)
        if status:
            raise_error(status)
        if cancelled.value:
            self.close()
        return cancelled.value != 0

    def _end(self, status: int, done: bool, result: ReceivedStruct) -> bool:
        if status:
            try:
                raise_error(status)
            finally:
                if status != INTERRUPTED:  # else the operation continues
                    self._failed.append(self._keeps)
                    self.close()
        if done:
            self._received = Received(result.source, result.tag, result.count)
            self.close()
        return done

    def close(self) -> None:
        """Waits for the end of the operation, at most until its deadline, and releases the buffers."""
        handle, self.handle = self.handle, ctypes.c_void_p()
        if not Process.is_fork:
            library.sinew_request_destroy(handle)
        self._keeps = None

    def __del__(self) -> None:
        if self.handle:
            self.close()

    # mpi4py's names
    Wait = wait
    Test = test

    def Cancel(self) -> None:  # noqa: N802
        """As `cancel`."""
        self.cancel()

    @staticmethod
    def Waitall(requests: Iterable[Request]) -> None:  # noqa: N802
        """Waits for all of them."""
        for request in requests:
            request.wait()
