# SPDX-License-Identifier: Apache-2.0
"""The names of mpi4py, for programs that were written for it: the upper-case calls, on buffers."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from . import _buffers
from ._communicator import BasicCommunicator
from ._errors import UsageError
from ._exports import ANY_STREAM
from ._operations import Op, predefined
from ._request import ANY_SOURCE, Received

#: As the color of Split: the rank joins no part.
UNDEFINED = -32766


class _InPlace:
    def __repr__(self) -> str:
        return "sinew.IN_PLACE"


#: As a buffer: the call works in place on the other buffer.
IN_PLACE = _InPlace()

SUM, PROD, MIN, MAX = (predefined[name] for name in ("sum", "prod", "min", "max"))
LAND, LOR, LXOR = (predefined["logical_" + name] for name in ("and", "or", "xor"))
BAND, BOR, BXOR = (predefined["bit_" + name] for name in ("and", "or", "xor"))


class Datatype:
    """The type of a buffer's elements, where a call of mpi4py names it. It must be the array's own."""

    def __init__(self, name: str, code: int) -> None:
        self.name = name
        self.code = code

    def __repr__(self) -> str:
        return f"sinew.{self.name}"


BYTE = Datatype("BYTE", _buffers.U8)
FLOAT, DOUBLE = Datatype("FLOAT", _buffers.F32), Datatype("DOUBLE", _buffers.F64)
COMPLEX, DOUBLE_COMPLEX = Datatype("COMPLEX", _buffers.C64), Datatype("DOUBLE_COMPLEX", _buffers.C128)
INT, LONG = Datatype("INT", _buffers.I32), Datatype("LONG", _buffers.I64)
INT8_T, INT16_T = Datatype("INT8_T", _buffers.I8), Datatype("INT16_T", _buffers.I16)
INT32_T, INT64_T = Datatype("INT32_T", _buffers.I32), Datatype("INT64_T", _buffers.I64)
UINT8_T, UINT16_T = Datatype("UINT8_T", _buffers.U8), Datatype("UINT16_T", _buffers.U16)
UINT32_T, UINT64_T = Datatype("UINT32_T", _buffers.U32), Datatype("UINT64_T", _buffers.U64)


class _Buffer:
    """A buffer argument of mpi4py: x, [x, count], [x, type], [x, count, type], [x, counts], [x, (counts, offsets)],
    [x, counts, offsets, type]."""

    def __init__(self, argument: Any, what: str) -> None:
        self.counts: Sequence[int] | None = None
        self.offsets: Sequence[int] | None = None
        if not isinstance(argument, (list, tuple)):
            self.array = argument
            return
        self.array, *rest = argument
        numbers: list[Any] = []
        for each in rest:
            if isinstance(each, Datatype):
                self._check_type(each, what)
            elif isinstance(each, str):
                raise TypeError(f"{what}: types are given as sinew.FLOAT and the like, not as {each!r}")
            elif each is not None:
                numbers.append(each)
        if len(numbers) == 1 and isinstance(numbers[0], tuple) and len(numbers[0]) == 2 and \
                hasattr(numbers[0][0], "__len__"):
            numbers = list(numbers[0])
        if len(numbers) == 1 and not hasattr(numbers[0], "__len__"):
            self._take(int(numbers[0]), what)
        elif numbers:
            self.counts = numbers[0]
            self.offsets = numbers[1] if len(numbers) > 1 else None

    def _check_type(self, type_: Datatype, what: str) -> None:
        if self.array is None or self.array is IN_PLACE:
            return
        code = _buffers.span(self.array, False, what, ANY_STREAM).code
        if code == type_.code:
            return
        if type_ is not BYTE:
            raise TypeError(f"{what}: the elements are not of type {type_!r}. A buffer is taken as what it is")
        self.array = self._view(what).cast("B")

    def _view(self, what: str) -> memoryview:
        try:
            return memoryview(self.array)
        except TypeError:
            raise TypeError(f"{what}: bytes and parts can be taken of an array with the buffer protocol only, not of a "
                            f"{type(self.array).__name__}") from None

    def _take(self, count: int, what: str) -> None:
        elements = _buffers.span(self.array, False, what, ANY_STREAM).count
        if count > elements:
            raise ValueError(f"{what} has {elements} elements, fewer than {count}")
        if count != elements:
            view = self._view(what)
            self.array = view.cast("B").cast(view.format)[:count] if view.ndim != 1 else view[:count]


def _pair(sendbuf: Any, recvbuf: Any) -> tuple[_Buffer, Any, _Buffer]:
    """The buffers of a call, and what is `array` and `out` there: the first is read and the second written. A call in
    place has one array, and no `out`."""
    if sendbuf is IN_PLACE:
        received = _Buffer(recvbuf, "recvbuf")
        return received, None, received
    sent = _Buffer(sendbuf, "sendbuf")
    if recvbuf is IN_PLACE or recvbuf is None:
        return sent, None, sent
    received = _Buffer(recvbuf, "recvbuf")
    return sent, received.array, received


def _with_parts(buffer: _Buffer, what: str) -> tuple[Any, Any]:
    if buffer.counts is None:
        raise UsageError(f"{what} names no counts (expected [array, counts] or [array, (counts, offsets)])")
    return buffer.counts, buffer.offsets


class Communicator(BasicCommunicator):
    """A group of ranks: messages and MPI's collective operations, on arrays that are not copied.

    Calls have names with small letters, and those of mpi4py's Comm, whose arguments are buffers (arrays, or lists such
    as [array, count, type]); see BasicCommunicator for what both do. `Allreduce` is followed by `Iallreduce`, and so
    are the others.
    """

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def Split(self, color: int = 0, key: int = 0) -> Communicator | None:
        return self.split(None if color == UNDEFINED else color, key)

    def Dup(self) -> Communicator:
        return self.dup()

    def Free(self) -> None:
        self.close()

    def Sendrecv(self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
                 source: int = ANY_SOURCE, recvtag: int = 0) -> Received:
        if sendtag != recvtag:
            raise UsageError(f"sendtag is {sendtag}, but recvtag {recvtag} (expected the same). Use Isend and Recv")
        sent, received = _Buffer(sendbuf, "sendbuf"), _Buffer(recvbuf, "recvbuf")
        return self.sendrecv(sent.array, dest, received.array, source, sendtag)


# The signatures of mpi4py. Each returns the arguments of the call with small letters.


def _nothing(self: Communicator) -> tuple[Any, ...]:
    return ()


def _one(self: Communicator, buf: Any, root: int = 0) -> tuple[Any, ...]:
    return _Buffer(buf, "buf").array, root


def _two(self: Communicator, sendbuf: Any, recvbuf: Any) -> tuple[Any, ...]:
    sent, out, _ = _pair(sendbuf, recvbuf)
    return sent.array, out


def _two_of_root(self: Communicator, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Any, ...]:
    return *_two(self, sendbuf, recvbuf), root


def _reduced(self: Communicator, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Any, ...]:
    sent, out, _ = _pair(sendbuf, recvbuf)
    return sent.array, op, out


def _reduced_at_root(self: Communicator, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> tuple[Any, ...]:
    return *_reduced(self, sendbuf, recvbuf, op), root


def _reduced_in_parts(self: Communicator, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int],
                      op: Op = SUM) -> tuple[Any, ...]:
    sent, out, _ = _pair(sendbuf, recvbuf)
    return sent.array, recvcounts, op, out


def _gathered_parts(self: Communicator, sendbuf: Any, recvbuf: Any) -> tuple[Any, ...]:
    sent, out, received = _pair(sendbuf, recvbuf)
    counts, offsets = _with_parts(received, "recvbuf")
    return sent.array, counts, out, offsets


def _parts_to_root(self: Communicator, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Any, ...]:
    sent, out, received = _pair(sendbuf, recvbuf)
    counts, offsets = _with_parts(received, "recvbuf") if self.rank == root else (None, None)
    return sent.array, counts, out, root, offsets


def _parts_from_root(self: Communicator, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Any, ...]:
    sent, out, _ = _pair(sendbuf, recvbuf)
    counts, offsets = _with_parts(sent, "sendbuf") if self.rank == root else (None, None)
    return sent.array, counts, out, root, offsets


def _exchanged_parts(self: Communicator, sendbuf: Any, recvbuf: Any) -> tuple[Any, ...]:
    sent, out, received = _pair(sendbuf, recvbuf)
    counts, offsets = _with_parts(received, "recvbuf")
    return sent.array, counts, out, sent.counts, offsets, sent.offsets


def _sent(self: Communicator, buf: Any, dest: int, tag: int = 0) -> tuple[Any, ...]:
    return _Buffer(buf, "buf").array, dest, tag


def _received(self: Communicator, buf: Any, source: int = ANY_SOURCE, tag: int = 0) -> tuple[Any, ...]:
    return _Buffer(buf, "buf").array, source, tag


#: By the name in mpi4py: that of the call with small letters, and the signature.
_CALLS: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "Barrier": ("barrier", _nothing),
    "Bcast": ("broadcast", _one),
    "Allreduce": ("allreduce", _reduced),
    "Reduce": ("reduce", _reduced_at_root),
    "Reduce_scatter": ("reduce_scatter", _reduced_in_parts),
    "Reduce_scatter_block": ("reduce_scatter_block", _reduced),
    "Scan": ("scan", _reduced),
    "Exscan": ("exscan", _reduced),
    "Allgather": ("allgather", _two),
    "Allgatherv": ("allgatherv", _gathered_parts),
    "Gather": ("gather", _two_of_root),
    "Gatherv": ("gatherv", _parts_to_root),
    "Scatter": ("scatter", _two_of_root),
    "Scatterv": ("scatterv", _parts_from_root),
    "Alltoall": ("alltoall", _two),
    "Alltoallv": ("alltoallv", _exchanged_parts),
    "Send": ("send", _sent),
    "Recv": ("recv", _received),
}


def _define(name: str, small: str, arguments: Callable[..., tuple[Any, ...]], result: str | None) -> None:
    """Gives Communicator a call. Its result is that of the call with small letters, or None."""
    function = getattr(BasicCommunicator, small)

    def call(self: Communicator, *args: Any, **named: Any) -> Any:
        done = function(self, *arguments(self, *args, **named))
        return None if result is None else done

    signature = inspect.signature(arguments).replace(return_annotation=result)
    call.__name__, call.__qualname__ = name, f"Communicator.{name}"
    call.__doc__ = f"{small}, with the arguments of mpi4py."
    call.__signature__ = signature  # type: ignore[attr-defined]
    setattr(Communicator, name, call)


for _name, (_small, _arguments) in _CALLS.items():
    _define(_name, _small, _arguments, "Received" if _name == "Recv" else None)
    _define("I" + _name.lower(), "i" + _small, _arguments, "Request")
