# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of training."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from ._buffers import span
from ._call import nanoseconds_of
from ._communicator import BasicCommunicator
from ._errors import UsageError, raise_error
from ._handle import OwnedHandle
from ._library import LOAD, SAVE, StateOptionsStruct, library

_CALLBACK = 8


class TrainingState(OwnedHandle):
    """What training needs to go on after a restart of its job, stored on disk by all ranks together.

        state = sinew.TrainingState(comm, "checkpoints")
        state.add_shared("weights", weights)
        state.add_own("residuals", save=buckets.residuals, load=buckets.restore_residuals)
        for step in range(state.restore() or 0, steps):
            if step % 100 == 0:
                state.commit(step)
            train()

    A commit counts only when the parts of all ranks are complete on disk; each part is stored on `copies` nodes, and
    checked by SHA-256 when it is read. The newest `keep` commits stay. All methods are collective but those that add,
    which all ranks call alike before the first other one. An error of one rank is raised on all; it names the rank, its
    host and the file. See docs/sgd.md.
    """

    _destroy = library.sinew_state_destroy
    _closed = "this state is closed"

    def __init__(self, comm: BasicCommunicator, folder: str | os.PathLike[str], *, keep: int = 2, copies: int = 2,
                 timeout: float | None = None) -> None:
        super().__init__()
        self._raised: BaseException | None = None
        options = StateOptionsStruct(ctypes.sizeof(StateOptionsStruct), keep, copies, nanoseconds_of(timeout))
        self._check(library.sinew_state_create(comm._checked(), os.fsencode(folder), options, self._handle))
        comm._family.add(self)

    def add_shared(self, name: str, array: Any) -> None:
        """Adds an array that is equal on all ranks. It may be restored by another number of ranks."""
        self._add(library.sinew_state_add_shared, name, array)

    def add_own(self, name: str, array: Any = None, *, save: Callable[[], Any] | None = None,
                load: Callable[[bytes], Any] | None = None) -> None:
        """Adds an array of this rank alone, or what `save` returns at a commit (bytes, or an array) and `load` takes back
        as bytes. It can be restored only by as many ranks."""
        if (array is None) != (save is not None and load is not None):
            raise UsageError(f"{name!r} has an array and functions, or neither (expected an array, or save and load)")
        if array is not None:
            return self._add(library.sinew_state_add_own, name, array)

        def call_save(_context: Any, give: Any, to: int) -> int:
            return self._guard(lambda: self._give(save(), give, to))  # type: ignore[misc]

        def call_load(_context: Any, address: int, count: int) -> int:
            return self._guard(lambda: load(ctypes.string_at(address, count) if count else b""))  # type: ignore[misc]

        functions = SAVE(call_save), LOAD(call_load)
        self._check(library.sinew_state_add_function(self._checked(), name.encode(), *functions, None))
        self._keeps.append(functions)
        return None

    def commit(self, step: int) -> None:
        """Stores a commit, and returns when all its parts are on disk. `step` is equal on all ranks."""
        if not 0 <= step < 2**64:
            raise UsageError(f"step is {step} (expected 0 to 2**64 - 1)")
        self._check(library.sinew_state_commit(self._checked(), step))

    def restore(self) -> int | None:
        """Restores the newest complete commit and returns its step; None if there is no commit."""
        found, step = ctypes.c_int(), ctypes.c_uint64()
        self._check(library.sinew_state_restore(self._checked(), found, step))
        return step.value if found.value else None

    def sync(self, root: int = 0) -> None:
        """Copies the root's shared arrays to all ranks."""
        self._check(library.sinew_state_sync(self._checked(), root))

    def close(self) -> None:
        """Ends this rank's part. Not collective. What was committed stays."""
        super().close()

    def _add(self, function: Any, name: str, array: Any) -> None:
        elements = span(array, True, name)
        self._check(function(self._checked(), name.encode(), elements.pointer, elements.count, elements.code))
        self._keeps.append(elements)

    @staticmethod
    def _give(saved: Any, give: Any, to: int) -> None:
        elements = span(saved, False, "what save returned")
        size = elements.count * library.sinew_type_size(elements.code)
        if give(to, ctypes.cast(elements.pointer, ctypes.c_void_p) if size else None, size):
            raise MemoryError("no memory for what save returned")

    def _guard(self, function: Callable[[], Any]) -> int:
        try:
            function()
            return 0
        except BaseException as error:  # noqa: B902  (it must not reach the C function that calls this)
            self._raised = error
            return 1


    def _check(self, status: int) -> None:
        raised, self._raised = self._raised, None
        if status:
            raise_error(status, raised)
