# SPDX-License-Identifier: Apache-2.0
"""What the C library has made for an object of Python."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

from ._errors import UsageError
from ._library import Process


class OwnedHandle:
    """An object of the C library, which is destroyed when this one is closed or no longer needed."""

    _destroy: ClassVar[Callable[[ctypes.c_void_p], None]]
    _closed: ClassVar[str]  # said when it is used after close()

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        self._keeps: list[Any] = []  # until it is closed

    def close(self) -> None:
        """Ends this rank's part. Not collective."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        if not Process.is_fork:
            type(self)._destroy(handle)
        self._keeps.clear()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def _checked(self) -> ctypes.c_void_p:
        if not self._handle:
            raise UsageError(self._closed)
        return self._handle
