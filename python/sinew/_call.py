# SPDX-License-Identifier: Apache-2.0
"""What the calls of a communicator are made of."""
from __future__ import annotations

import ctypes
from typing import Any

from ._buffers import Span
from ._errors import UsageError, raise_error
from ._library import OptionsStruct
from ._operations import Op


# The collectives that have an operation, a root, and parts of different sizes.
REDUCTIONS = ("allreduce", "reduce_scatter", "reduce_scatter_block", "reduce", "scan", "exscan")
ROOTED = ("broadcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
OF_PARTS = ("reduce_scatter", "allgatherv", "gatherv", "scatterv", "alltoallv")


class Call:
    """A collective call: its arguments but for the options, what must be kept meanwhile, what it returns."""

    __slots__ = ("name", "arguments", "kept", "result", "op")

    def __init__(self, name: str, arguments: list[Any], kept: Any, result: Any, op: Op | None) -> None:
        self.name = name
        self.arguments = arguments
        self.kept = kept
        self.result = result
        self.op = op

    def refuse_python(self) -> None:
        """Raises UsageError if the operation is a function of Python, for calls that do not block."""
        if self.op is not None and self.op.is_python:
            raise UsageError(f"{self.op!r} is a function of Python, which only blocking calls can use")


def nanoseconds_of(timeout: float | None) -> int:
    """A time limit; 0 for None."""
    if timeout is None:
        return 0
    if not timeout > 0:
        raise UsageError(f"timeout is {timeout} (expected seconds, more than 0; None: that of the communicator)")
    return max(1, int(min(timeout * 1e9, 2.0**62)))


def options_of(algorithm: str | None, timeout: float | None) -> Any:
    """The options of a call; None for none."""
    if algorithm is None and timeout is None:
        return None
    return ctypes.byref(OptionsStruct(ctypes.sizeof(OptionsStruct), algorithm.encode() if algorithm else None,
                                      nanoseconds_of(timeout)))


def check_same_type(first: Span, second: Span) -> None:
    if first.code != second.code:
        raise TypeError(f"array has elements of {first.type_name()}, but out of {second.type_name()}")


def check(status: int, op: Op | None = None) -> None:
    """Raises the error of a call that has failed."""
    if status:
        raise_error(status, op.take_raised() if op is not None else None)


def text_of(function: Any, *arguments: Any) -> str:
    """What a function that stores text says."""
    needed = ctypes.c_size_t()
    check(function(*arguments, None, 0, needed))
    text = ctypes.create_string_buffer(needed.value)
    check(function(*arguments, text, needed.value, None))
    return text.value.decode()
