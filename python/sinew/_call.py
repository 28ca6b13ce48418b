# SPDX-License-Identifier: Apache-2.0
"""What the calls of a communicator are made of."""
from __future__ import annotations

import ctypes
from typing import Any

from ._buffers import Span
from ._errors import UsageError, raise_error
from ._library import OptionsStruct
from ._operations import Op


class Call:
    """A collective call: its arguments but for the options, what must be kept meanwhile, what it returns."""

    __slots__ = ("name", "arguments", "kept", "result", "op")

    def __init__(self, name: str, arguments: list[Any], kept: Any, result: Any, op: Op | None) -> None:
        self.name = name
        self.arguments = arguments
        self.kept = kept
        self.result = result
        self.op = op


def options_of(algorithm: str | None, timeout: float | None) -> Any:
    """The options of a call; None for none."""
    if algorithm is None and timeout is None:
        return None
    if timeout is not None and not timeout > 0:
        raise UsageError(f"timeout is {timeout} (expected seconds, more than 0; None: that of the communicator)")
    nanoseconds = 0 if timeout is None else max(1, int(min(timeout * 1e9, 2.0**62)))
    return ctypes.byref(OptionsStruct(ctypes.sizeof(OptionsStruct), algorithm.encode() if algorithm else None,
                                      nanoseconds))


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
