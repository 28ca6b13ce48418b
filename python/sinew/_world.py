# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving the job."""
from __future__ import annotations

import atexit
import ctypes
import sys
from types import TracebackType
from typing import Any

from . import _interrupts
from ._mpi_names import Communicator
from ._errors import UsageError, raise_error
from ._library import Process, library


class World:
    """All ranks of the job. The constructor joins the job; `close`, the end of the `with` block or the end of
    the program leaves it. Both are collective. One per process, used by the thread that made it.

    The rank is determined by an agent of `sinew run`, an MPI launcher or an earlier MPI_Init, or a PMIx server
    (srun); otherwise the world has one rank.

    If the `with` block ends by an exception, the other ranks are told and this one does not wait for them. The same
    holds at the end of a program that an exception ends. A rank that leaves by sys.exit(1) outside a `with` block
    waits for the others.
    """

    _open: World | None = None

    def __init__(self) -> None:
        self._handle: Any = None
        if World._open is not None:
            raise UsageError("this process is in a world already (one World per process). Use that one, or close it")
        _interrupts.watch()
        handle = ctypes.c_void_p()
        status = library.sinew_world_create(0, None, handle)
        if status:
            raise_error(status)
        self._handle = handle.value
        self._communicator = Communicator(library.sinew_world_communicator(self._handle), None)
        World._open = self

    @property
    def communicator(self) -> Communicator:
        """A communicator of all ranks, valid as long as the world."""
        return self._communicator

    @property
    def rank(self) -> int:
        """This rank, from 0 to size - 1."""
        return self._communicator.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._communicator.size

    @property
    def bootstrap(self) -> str:
        """How the rank was determined: "agent", "pmix", "mpi" or "alone"; "" after `close`."""
        return library.sinew_world_bootstrap(self._handle).decode()

    def close(self) -> None:
        """Leaves the job. Collective: waits for the other ranks, at most until the deadline. Ends all requests and
        communicators of this world first. Does nothing a second time."""
        if self._handle is None or Process.is_fork:
            return
        handle, self._handle = self._handle, None
        World._open = None
        self._communicator._close_all()
        status = library.sinew_world_destroy(handle)
        if status:
            raise_error(status)

    def abandon(self, reason: str) -> None:
        """Tells the other ranks that this one gives up: their calls raise PeerLost with the reason, and `close` does
        not wait for them."""
        if self._handle is not None and not Process.is_fork:
            status = library.sinew_world_abandon(self._handle, reason.encode())
            if status:
                raise_error(status)

    def __enter__(self) -> World:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if error is not None and not (isinstance(error, SystemExit) and not error.code):
            self.abandon(_words(error))
        self.close()


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@atexit.register
def _leave() -> None:
    """Leaves the world at the end of a program that has not."""
    world = World._open
    if Process.is_fork:
        return
    if world is not None:
        unhandled = getattr(sys, "last_value", None)
        if isinstance(unhandled, BaseException):
            world.abandon(_words(unhandled))
        world.close()
    _interrupts.unwatch()
