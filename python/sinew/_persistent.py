# SPDX-License-Identifier: Apache-2.0
"""Calls whose arguments stay the same, to be made many times."""
from __future__ import annotations

import ctypes
from typing import Any

from ._errors import INTERRUPTED, USAGE, raise_error
from ._library import Process, library


class PersistentRequest:
    """A collective call that can be started any number of times: `comm.persistent("allreduce", array)` makes one.

        step = comm.persistent("allreduce", gradient, "average")
        for batch in batches:
            compute(gradient, batch)
            step.start()
            prepare_next()
            step.wait()

    Its place among the communicator's collectives is that of `start`. The arrays belong to the operation from `start`
    until its end was reported, and are kept as long as this object. One that is dropped waits for an operation in
    progress, at most until its deadline.
    """

    def __init__(self, keeps: Any, failed: list[Any]) -> None:
        """As Request: made before the library's object, whose handle is stored in `handle`."""
        self.handle = ctypes.c_void_p()
        self._keeps = keeps
        self._failed = failed

    def start(self) -> None:
        """Begins the operation. Raises UsageError if the last one is in progress, or this is closed."""
        self._check(library.sinew_persistent_start(self.handle))

    def wait(self) -> None:
        """Blocks until the operation has completed. Ctrl-C ends the wait, not the operation."""
        self._check(library.sinew_persistent_wait(self.handle))

    def test(self) -> bool:
        """Returns whether no operation is in progress any more."""
        done = ctypes.c_int()
        self._check(library.sinew_persistent_test(self.handle, done))
        return done.value != 0

    def wait_for(self, seconds: float) -> bool:
        """As `wait`, for at most `seconds`; returns whether no operation is in progress any more."""
        done = ctypes.c_int()
        nanoseconds = min(int(seconds * 1e9), 2**63 - 1)
        self._check(library.sinew_persistent_wait_for(self.handle, nanoseconds, done))
        return done.value != 0

    def close(self) -> None:
        """Waits for an operation in progress, at most until its deadline, and releases the arrays."""
        handle, self.handle = self.handle, ctypes.c_void_p()
        if not Process.is_fork:
            library.sinew_persistent_destroy(handle)
        self._keeps = None

    def __del__(self) -> None:
        if self.handle:
            self.close()

    def _check(self, status: int) -> None:
        if status == 0:
            return
        if status not in (USAGE, INTERRUPTED):  # other ranks and the medium may still write to the arrays
            self._failed.append(self._keeps)
        raise_error(status)
