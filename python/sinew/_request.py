# SPDX-License-Identifier: Apache-2.0
"""Non-blocking calls under way."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple

from ._errors import raise_error
from ._library import ReceivedStruct, library


class Received(NamedTuple):
    """The result of a receive: source rank, tag and number of elements; -1, 0, 0 for other calls."""

    source: int
    tag: int
    count: int


class Request:
    """A non-blocking call under way. It keeps its buffers until it has completed.

    An error of the operation is raised once, by wait, test or wait_for; the request is then complete. A
    request that is dropped waits for its end, at most until the operation's deadline.
    """

    def __init__(self, handle: int, keeps: Any) -> None:
        self._handle: int | None = handle
        self._keeps = keeps
        self._received = Received(-1, 0, 0)

    def wait(self) -> Received:
        """Blocks until the operation has completed. Ctrl-C ends the wait, not the operation."""
        if self._handle is not None:
            result = ReceivedStruct()
            self._end(library.sinew_request_wait(self._handle, result), True, result)
        return self._received

    def test(self) -> bool:
        """Returns whether the operation has completed; makes progress unless a thread of the library does."""
        if self._handle is None:
            return True
        done, result = ctypes.c_int(), ReceivedStruct()
        return self._end(library.sinew_request_test(self._handle, done, result), done.value != 0, result)

    def wait_for(self, seconds: float) -> bool:
        """Blocks as `wait` does, for at most `seconds`; returns whether the operation has completed."""
        if self._handle is None:
            return True
        done, result = ctypes.c_int(), ReceivedStruct()
        nanoseconds = min(int(seconds * 1e9), 2**63 - 1)
        status = library.sinew_request_wait_for(self._handle, nanoseconds, done, result)
        return self._end(status, done.value != 0, result)

    def cancel(self) -> bool:
        """Withdraws a receive that has not matched a message; returns whether it was withdrawn."""
        if self._handle is None:
            return False
        cancelled = ctypes.c_int()
        status = library.sinew_request_cancel(self._handle, cancelled)
        if status:
            raise_error(status)
        if cancelled.value:
            self.close()
        return cancelled.value != 0

    def _end(self, status: int, done: bool, result: ReceivedStruct) -> bool:
        if status:
            try:
                raise_error(status)
            except KeyboardInterrupt:
                raise
            except Exception:
                self.close()
                raise
        if done:
            self._received = Received(result.source, result.tag, result.count)
            self.close()
        return done

    def close(self) -> None:
        """Waits for the end of the operation, at most until its deadline, and releases the buffers."""
        handle, self._handle = self._handle, None
        if handle is not None:
            library.sinew_request_destroy(handle)
        self._keeps = None

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
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
