# SPDX-License-Identifier: Apache-2.0
"""What the calls of a communicator are made of."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from ._cuda import DEFAULT_STREAM, stream_of, wait_for_stream
from ._elements import Span
from ._errors import UsageError, raise_error
from ._library import OptionsStruct
from ._operations import Op


# The collectives that have an operation, a root, and parts of different sizes.
REDUCTIONS = ("allreduce", "reduce_scatter", "reduce_scatter_block", "reduce", "scan", "exscan")
ROOTED = ("broadcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
OF_PARTS = ("reduce_scatter", "allgatherv", "gatherv", "scatterv", "alltoallv")

_DETECT, _DEVICE = 0, 2  # SINEW_MEMORY_DETECT, SINEW_MEMORY_DEVICE


class Placement(NamedTuple):
    """The options of a call on the memory of a GPU: its stream, or the one that it comes after; where its memory is."""

    stream: int | None
    after: int | None
    memory: int


class Order:
    """How a call is ordered if its arrays are in the memory of a GPU: by the stream that the program names, and then it
    runs there; otherwise after what the arrays' producers have enqueued, and it ends when the GPU has completed it."""

    __slots__ = ("named", "stream")

    def __init__(self, stream: Any) -> None:
        self.named = stream_of(stream)
        #: The one for which arrays are exported.
        self.stream = DEFAULT_STREAM if self.named is None else self.named

    def placement(self, *spans: Span) -> Placement | None:
        """The options of a call on these; None if they are in the memory of the host. Waits for the streams that compute
        them and that the call cannot name."""
        there = [each for each in spans if each.device is not None]
        if self.named is not None and len(there) < len(spans):
            raise UsageError("a stream is given, but an array is in the memory of the host. Streams order calls on the "
                             "memory of a GPU only")
        if not there:
            return None
        ready = list(dict.fromkeys(each.ready for each in there))
        after = ready[0] if self.named is None else None
        for stream in ready:
            if stream is not None and stream not in (after, self.named):
                wait_for_stream(stream)
        # The library asks the driver where memory is. Of an empty array it cannot.
        return Placement(self.named, after, _DEVICE if any(each.count == 0 for each in there) else _DETECT)


_UNNAMED = Order(None)


def ordered(stream: Any) -> Order:
    """The order of a call with this argument."""
    return _UNNAMED if stream is None else Order(stream)


class Call:
    """A collective call: its arguments but for the options, what must be kept meanwhile, what it returns."""

    __slots__ = ("name", "arguments", "kept", "result", "op", "placement")

    def __init__(self, name: str, arguments: list[Any], kept: Any, result: Any, op: Op | None,
                 placement: Placement | None = None) -> None:
        self.name = name
        self.arguments = arguments
        self.kept = kept
        self.result = result
        self.op = op
        self.placement = placement

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


def options_of(algorithm: str | None, timeout: float | None, placement: Placement | None = None) -> Any:
    """The options of a call; None for none."""
    if algorithm is None and timeout is None and placement is None:
        return None
    return ctypes.byref(OptionsStruct(ctypes.sizeof(OptionsStruct), algorithm.encode() if algorithm else None,
                                      nanoseconds_of(timeout), *(placement or ())))


def check_same_type(first: Span, second: Span) -> None:
    if first.code != second.code:
        raise TypeError(f"array has elements of {first.type_name()}, but out of {second.type_name()}")


def check_same_place(first: Span, second: Span) -> None:
    one_kind = (first.device is None) == (second.device is None)
    if not one_kind or (first.device != second.device and first.count > 0 and second.count > 0):
        raise ValueError(f"array is {first.place()}, but out {second.place()}. Copy one to where the other is")


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
