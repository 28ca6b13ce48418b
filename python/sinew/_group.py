# SPDX-License-Identifier: Apache-2.0
"""A group of ranks, and the way of its calls to the library."""
from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar

from . import _buffers
from ._buffers import span
from ._call import (Call, Order, Placement, check, check_same_place, check_same_type, nanoseconds_of, options_of,
                    text_of)
from ._elements import Span
from ._errors import USAGE, UsageError
from ._exports import ANY_STREAM
from ._library import Process, library
from ._memory import allocate
from ._operations import Op, operation
from ._request import Request

IN_PLACE = ctypes.c_void_p(1)
_NOTHING = Span(None, 0, _buffers.U8, None)
_IN_PLACE_SPAN = Span(IN_PLACE, 0, _buffers.U8, None)
_NOT_OF_BOOLEANS = ("sum", "average")


Own = TypeVar("Own", bound="Group")


class Group:
    """What a group of ranks is, and how its calls reach the library: all of a communicator but its calls."""

    def __init__(self, handle: int, parent: Group | None) -> None:
        self._handle: ctypes.c_void_p | None = ctypes.c_void_p(handle)
        self._owned = parent is not None
        #: Buffers of calls that have failed: other ranks and the medium may still write to them.
        self._failed: list[Any] = []
        #: What must end before the world does: communicators and requests of one world.
        self._family: weakref.WeakSet[Any] = parent._family if parent is not None else weakref.WeakSet()
        if parent is not None:
            self._family.add(self)

    # ---- what it is --------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """This rank, from 0 to size - 1."""
        return library.sinew_rank(self._checked())

    @property
    def size(self) -> int:
        """The number of ranks."""
        return library.sinew_size(self._checked())

    @property
    def nodes(self) -> int:
        """The number of nodes. Ranks of one node share memory."""
        return library.sinew_nodes(self._checked())

    @property
    def local_rank(self) -> int:
        """The index of this rank among the ranks of its node."""
        return library.sinew_local_rank(self._checked())

    @property
    def local_size(self) -> int:
        """The number of ranks of this node."""
        return library.sinew_local_size(self._checked())

    @property
    def max_tag(self) -> int:
        """The largest tag of messages."""
        return library.sinew_max_tag(self._checked())

    def node_of(self, rank: int) -> int:
        """The node of a rank."""
        return library.sinew_node_of(self._checked(), self._known(rank))

    def host_of(self, rank: int) -> str:
        """The name of the host of a rank."""
        return library.sinew_host_of(self._checked(), self._known(rank)).decode()

    def explain(self, collective: str) -> str:
        """Describes the algorithms chosen for a collective ("allreduce") by size, and the times expected."""
        return text_of(library.sinew_explain, self._checked(), collective.encode())

    def algorithm_for(self, collective: str, array: Any, op: str | Op = "sum") -> str:
        """The name of the algorithm that a call on `array` (the whole vector) would use."""
        data = span(array, False, "array", ANY_STREAM)
        bytes_ = data.count * library.sinew_type_size(data.code)
        return text_of(library.sinew_algorithm_for, self._checked(), collective.encode(), bytes_, data.code,
                     operation(op).code)

    def allocate(self, shape: int | Sequence[int], dtype: Any = "f4") -> Any:
        """A zeroed numpy array in memory that the ranks of this node share: collectives on it need no copies. Not
        collective. It may outlive the communicator."""
        return allocate(self._checked(), shape, dtype)

    # ---- communicators from it ---------------------------------------------------------------

    def split(self: Own, color: int | None, key: int = 0) -> Own | None:
        """A communicator of the ranks with equal `color` (at least 0), ordered by `key`, then by rank. Collective. None
        if `color` is None: the rank joins no part."""
        if color is not None and color < 0:
            raise UsageError(f"color is {color} (expected at least 0, or None to join no part)")
        part = ctypes.c_void_p()
        check(library.sinew_split(self._checked(), -1 if color is None else color, key, part))
        return type(self)(part.value, self) if part.value else None

    def split_node(self: Own) -> Own:
        """A communicator of the ranks that share this rank's node. Collective."""
        part = ctypes.c_void_p()
        check(library.sinew_split_node(self._checked(), part))
        return type(self)(part.value or 0, self)

    def dup(self: Own) -> Own:
        """A communicator of the same ranks with separate messages. Collective."""
        part = ctypes.c_void_p()
        check(library.sinew_dup(self._checked(), part))
        return type(self)(part.value or 0, self)

    def shrink(self: Own, timeout: float | None = None) -> Own:
        """A communicator of the ranks that are left, in their order, after this one was lost (PeerLost, Timeout). Every
        rank that is left must call it; `timeout` (seconds; default SINEW_TIMEOUT) limits the time in which nothing is
        heard of one that does not. Not over MPI, which does not survive a rank: SINEW_TRANSPORT=socket."""
        part = ctypes.c_void_p()
        check(library.sinew_shrink(self._checked(), nanoseconds_of(timeout), part))
        return type(self)(part.value or 0, self)

    def close(self) -> None:
        """Destroys this rank's end. Not collective. The communicator of a world is closed with the world."""
        if self._owned and self._handle is not None:
            handle, self._handle = self._handle, None
            check(library.sinew_communicator_destroy(handle))

    def _close_all(self) -> None:
        """Ends what was made of a world's communicator, and this."""
        for each in sorted(self._family, key=lambda one: isinstance(one, Group)):  # requests first
            if not (isinstance(each, Request) and each.cancel()):  # receives whose message never came
                each.close()
        self._handle = None

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and self._handle is not None and not Process.is_fork:
            library.sinew_communicator_destroy(self._handle)

    # ---- the way to the library --------------------------------------------------------------

    def _checked(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise UsageError("this communicator is closed")
        return self._handle

    def _known(self, rank: int) -> int:
        if not 0 <= rank < self.size:
            raise UsageError(f"rank {rank} is out of range (0 to {self.size - 1})")
        return rank

    def _call(self, name: str, array: Any, out: Any, *, op: str | Op | None = None, root: int | None = None,
              parts: tuple[Any, Any] | None = None, sent: tuple[Any, Any] | None = None, order: Order | None) -> Call:
        """The arguments of a collective, in the order of sinew/sinew.h. `order`: that of a call which takes memory of a
        GPU."""
        handle = self._checked()
        if name == "barrier":
            return Call(name, [handle], (), None, None)
        stream = order.stream if order is not None else None
        rooted_elsewhere = root is not None and root != self.rank
        if name == "broadcast":
            data = span(out, True, "array", stream)
            return Call(name, [handle, data.pointer, data.count, data.code, root], data, out, None,
                        order.placement(data) if order is not None else None)
        if rooted_elsewhere and name.startswith("scatter"):
            array, out = None, out if out is not None else array
            first, second = _NOTHING, span(out, True, "out", stream)
        elif rooted_elsewhere:
            out = None
            first, second = span(array, False, "array", stream), _NOTHING
        elif out is None:
            first, second, out = _IN_PLACE_SPAN, span(array, True, "array", stream), array
        else:
            first, second = span(array, False, "array", stream), span(out, True, "out", stream)
            check_same_type(first, second)
            check_same_place(first, second)
        typed = first if second is _NOTHING else second
        arguments: list[Any] = [handle, first.pointer, first.count, second.pointer, second.count]
        kept: list[Any] = [first, second]
        for each in (sent, parts):
            if each is not None:
                arrays = [self._sizes(values, what) for values, what in zip(each, ("counts", "offsets"))]
                arguments += arrays
                kept += arrays
        arguments.append(typed.code)
        operation_ = None
        if op is not None:
            operation_ = operation(op)
            if typed.boolean and operation_.name in _NOT_OF_BOOLEANS:
                raise TypeError(f"{operation_.name} is not defined on bool. Convert the array, or use logical_or")
            arguments.append(operation_.code)
        if root is not None:
            arguments.append(root)
        placement = None
        if order is not None and (order.named, first.device, second.device) != (None, None, None):
            placement = order.placement(*(each for each in (first, second) if each not in (_NOTHING, _IN_PLACE_SPAN)))
        return Call(name, arguments, kept, out, operation_, placement)

    def _sizes(self, values: Sequence[int] | None, what: str) -> Any:
        if values is None:
            return None
        size = self.size
        if len(values) != size:
            raise UsageError(f"{len(values)} {what} for {size} ranks")
        if min(values) < 0:
            raise UsageError(f"{what} are {list(values)} (expected none below 0)")
        return (ctypes.c_size_t * size)(*values)

    def _block(self, call: Call, algorithm: str | None, timeout: float | None) -> Any:
        status = getattr(library, "sinew_" + call.name)(*call.arguments,
                                                           options_of(algorithm, timeout, call.placement))
        if status:
            self._fail(status, call.kept, call.op)
        return call.result

    def _fail(self, status: int, kept: Any, op: Op | None = None) -> None:
        """Raises the error of a blocking call, whose buffers are kept if it was the first that failed."""
        if status != USAGE and not self._failed:
            self._failed.append(kept)
        check(status, op)

    def _start(self, call: Call, algorithm: str | None, timeout: float | None) -> Request:
        call.refuse_python()
        request = self._request(call)
        options = options_of(algorithm, timeout, call.placement)
        check(getattr(library, "sinew_i" + call.name)(*call.arguments, options, request.handle))
        return request

    def _message(self, function: Any, data: Span, peer: int, tag: int, timeout: float | None,
                 placement: Placement | None) -> Request:
        request = self._request(data)
        check(function(self._checked(), data.pointer, data.count, data.code, peer, tag,
                       options_of(None, timeout, placement), request.handle))
        return request

    def _request(self, keeps: Any) -> Request:
        request = Request(keeps, self._failed)
        self._family.add(request)
        return request
