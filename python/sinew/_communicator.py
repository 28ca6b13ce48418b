# SPDX-License-Identifier: Apache-2.0
"""The calls of a communicator."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ._buffers import code_of_dtype, from_buffer, span
from ._call import OF_PARTS, REDUCTIONS, ROOTED, check, check_same_type, options_of, ordered
from ._errors import UsageError
from ._group import IN_PLACE, Group
from ._library import COLLECTIVES, ReceivedStruct, library
from ._operations import Op, code_of_op
from ._persistent import PersistentRequest
from ._request import ANY_SOURCE, Received, Request

#: Without declared types, whose conversions would be half of what a short call costs. So each argument is None, an object
#: of ctypes that has the type of the parameter, or an integer where that is 32 bits wide.
_allreduce = library["sinew_allreduce"]
_size = ctypes.c_size_t
_NO_ELEMENTS = _size(0)


class BasicCommunicator(Group):
    """A group of ranks, without the names of mpi4py: messages and MPI's collective operations, on arrays that are not
    copied.

    All ranks make the collective calls in the same order. Calls whose names start with `i` return a Request at once
    and progress in the background. With one array a call works in place, and returns that array; with `out` it
    reads `array`, writes `out` and returns that. Arrays are contiguous, in C order; their shape does not matter.
    In place, the array is for allgather and gather's root the whole, with this rank's part in its position; for
    reduce_scatter the whole, whose front gets this rank's part.

    `op` is a name ("sum", "average", "max", ...) or a sinew.Op. `algorithm` and `timeout` (seconds) are options of one
    call, equal on all ranks. `stream` is one of a GPU: arrays may be in the memory of one (DLPack,
    `__cuda_array_interface__`), both of a call if one is. Without it a call comes after what the arrays' producers have
    enqueued, and its result is complete when it returns or its request has ended. With it (the handle of a CUDA stream, or
    a stream of torch or CuPy) the call runs in the order of that stream, and a blocking one returns at once; the arrays
    must then exist until the stream has come to its end.

    A call releases the interpreter lock; one thread at a time may call a communicator. After Timeout, PeerLost,
    BackendError or KeyboardInterrupt in a call (not in Request.wait) it is lost: later calls raise the error again
    (Error, if a KeyboardInterrupt ended it).
    """

    # ---- collective operations ---------------------------------------------------------------

    def allreduce(self, array: Any, op: str | Op = "sum", out: Any = None, *, algorithm: str | None = None,
                  timeout: float | None = None, stream: Any = None) -> Any:
        """Every rank gets the reduction of all ranks' elements."""
        status = -1
        if algorithm is None and timeout is None and stream is None:
            # What most calls are: arrays of numpy whose types were seen before. Each name costs some 30 ns.
            try:
                count = _size(array.size)
                if out is None:
                    status = _allreduce(self._handle, IN_PLACE, _NO_ELEMENTS, from_buffer(array), count,
                                        code_of_dtype[array.dtype], code_of_op[op], None)
                elif out.dtype is array.dtype:
                    status = _allreduce(self._handle, from_buffer(array), count, from_buffer(out), _size(out.size),
                                        code_of_dtype[array.dtype], code_of_op[op], None)
            except (AttributeError, KeyError, TypeError, ValueError, BufferError):
                pass  # Anything else, also what is wrong, takes the long way.
        if status == 0:
            return array if out is None else out
        if status > 0:
            self._checked()
            self._fail(status, (array, out))
        return self._block(self._call("allreduce", array, out, op=op, order=ordered(stream)), algorithm, timeout)

    def iallreduce(self, array: Any, op: str | Op = "sum", out: Any = None, *, algorithm: str | None = None,
                   timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of allreduce."""
        return self._start(self._call("allreduce", array, out, op=op, order=ordered(stream)), algorithm, timeout)

    def reduce_scatter(self, array: Any, counts: Sequence[int], op: str | Op = "sum", out: Any = None,
                       offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                       timeout: float | None = None, stream: Any = None) -> Any:
        """Rank r gets part r (of counts[r] elements) of the reduction. `offsets` says where the parts begin; by
        default they are packed."""
        call = self._call("reduce_scatter", array, out, op=op, parts=(counts, offsets), order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def ireduce_scatter(self, array: Any, counts: Sequence[int], op: str | Op = "sum", out: Any = None,
                        offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                        timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of reduce_scatter."""
        call = self._call("reduce_scatter", array, out, op=op, parts=(counts, offsets), order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def reduce_scatter_block(self, array: Any, op: str | Op = "sum", out: Any = None, *,
                             algorithm: str | None = None, timeout: float | None = None, stream: Any = None) -> Any:
        """As reduce_scatter, with parts of equal size."""
        call = self._call("reduce_scatter_block", array, out, op=op, order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def ireduce_scatter_block(self, array: Any, op: str | Op = "sum", out: Any = None, *,
                              algorithm: str | None = None, timeout: float | None = None,
                              stream: Any = None) -> Request:
        """The non-blocking form of reduce_scatter_block."""
        call = self._call("reduce_scatter_block", array, out, op=op, order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def allgather(self, array: Any, out: Any = None, *, algorithm: str | None = None,
                  timeout: float | None = None, stream: Any = None) -> Any:
        """Every rank gets the parts of all ranks, in rank order."""
        return self._block(self._call("allgather", array, out, order=ordered(stream)), algorithm, timeout)

    def iallgather(self, array: Any, out: Any = None, *, algorithm: str | None = None,
                   timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of allgather."""
        return self._start(self._call("allgather", array, out, order=ordered(stream)), algorithm, timeout)

    def allgatherv(self, array: Any, counts: Sequence[int], out: Any = None, offsets: Sequence[int] | None = None, *,
                   algorithm: str | None = None, timeout: float | None = None, stream: Any = None) -> Any:
        """As allgather, with parts of different sizes."""
        call = self._call("allgatherv", array, out, parts=(counts, offsets), order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def iallgatherv(self, array: Any, counts: Sequence[int], out: Any = None, offsets: Sequence[int] | None = None,
                    *, algorithm: str | None = None, timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of allgatherv."""
        call = self._call("allgatherv", array, out, parts=(counts, offsets), order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def broadcast(self, array: Any, root: int = 0, *, algorithm: str | None = None,
                  timeout: float | None = None, stream: Any = None) -> Any:
        """Copies the root's elements to all ranks."""
        return self._block(self._call("broadcast", None, array, root=root, order=ordered(stream)), algorithm, timeout)

    def ibroadcast(self, array: Any, root: int = 0, *, algorithm: str | None = None,
                   timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of broadcast."""
        return self._start(self._call("broadcast", None, array, root=root, order=ordered(stream)), algorithm, timeout)

    def reduce(self, array: Any, op: str | Op = "sum", out: Any = None, root: int = 0, *,
               algorithm: str | None = None, timeout: float | None = None, stream: Any = None) -> Any:
        """The root gets the reduction of all ranks' elements. On other ranks `out` is not used, `array` is only
        read, and the result is None."""
        call = self._call("reduce", array, out, op=op, root=root, order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def ireduce(self, array: Any, op: str | Op = "sum", out: Any = None, root: int = 0, *,
                algorithm: str | None = None, timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of reduce."""
        call = self._call("reduce", array, out, op=op, root=root, order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def gather(self, array: Any, out: Any = None, root: int = 0, *, algorithm: str | None = None,
               timeout: float | None = None, stream: Any = None) -> Any:
        """The root gets the parts of all ranks, in rank order. On other ranks `out` is not used, `array` is their
        part and only read, and the result is None."""
        return self._block(self._call("gather", array, out, root=root, order=ordered(stream)), algorithm, timeout)

    def igather(self, array: Any, out: Any = None, root: int = 0, *, algorithm: str | None = None,
                timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of gather."""
        return self._start(self._call("gather", array, out, root=root, order=ordered(stream)), algorithm, timeout)

    def gatherv(self, array: Any, counts: Sequence[int] | None = None, out: Any = None, root: int = 0,
                offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                timeout: float | None = None, stream: Any = None) -> Any:
        """As gather, with parts of different sizes; `counts` and `offsets` count on the root only."""
        call = self._call("gatherv", array, out, root=root, parts=(counts, offsets), order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def igatherv(self, array: Any, counts: Sequence[int] | None = None, out: Any = None, root: int = 0,
                 offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                 timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of gatherv."""
        call = self._call("gatherv", array, out, root=root, parts=(counts, offsets), order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def scatter(self, array: Any, out: Any = None, root: int = 0, *, algorithm: str | None = None,
                timeout: float | None = None, stream: Any = None) -> Any:
        """Each rank gets its part of the root's elements. On other ranks `array` is not used (None) if there is
        an `out`, else it gets the part."""
        return self._block(self._call("scatter", array, out, root=root, order=ordered(stream)), algorithm, timeout)

    def iscatter(self, array: Any, out: Any = None, root: int = 0, *, algorithm: str | None = None,
                 timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of scatter."""
        return self._start(self._call("scatter", array, out, root=root, order=ordered(stream)), algorithm, timeout)

    def scatterv(self, array: Any, counts: Sequence[int] | None = None, out: Any = None, root: int = 0,
                 offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                 timeout: float | None = None, stream: Any = None) -> Any:
        """As scatter, with parts of different sizes; `counts` and `offsets` count on the root only."""
        call = self._call("scatterv", array, out, root=root, parts=(counts, offsets), order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def iscatterv(self, array: Any, counts: Sequence[int] | None = None, out: Any = None, root: int = 0,
                  offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                  timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of scatterv."""
        call = self._call("scatterv", array, out, root=root, parts=(counts, offsets), order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def alltoall(self, array: Any, out: Any = None, *, algorithm: str | None = None,
                 timeout: float | None = None, stream: Any = None) -> Any:
        """Rank r gets part r of every rank's elements, in rank order."""
        return self._block(self._call("alltoall", array, out, order=ordered(stream)), algorithm, timeout)

    def ialltoall(self, array: Any, out: Any = None, *, algorithm: str | None = None,
                  timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of alltoall."""
        return self._start(self._call("alltoall", array, out, order=ordered(stream)), algorithm, timeout)

    def alltoallv(self, array: Any, counts: Sequence[int], out: Any = None, sent_counts: Sequence[int] | None = None,
                  offsets: Sequence[int] | None = None, sent_offsets: Sequence[int] | None = None, *,
                  algorithm: str | None = None, timeout: float | None = None, stream: Any = None) -> Any:
        """As alltoall, with parts of different sizes: `counts` of what is received, `sent_counts` of what is sent (not
        in place)."""
        call = self._call("alltoallv", array, out, parts=(counts, offsets), sent=(sent_counts, sent_offsets),
                          order=ordered(stream))
        return self._block(call, algorithm, timeout)

    def ialltoallv(self, array: Any, counts: Sequence[int], out: Any = None,
                   sent_counts: Sequence[int] | None = None, offsets: Sequence[int] | None = None,
                   sent_offsets: Sequence[int] | None = None, *, algorithm: str | None = None,
                   timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of alltoallv."""
        call = self._call("alltoallv", array, out, parts=(counts, offsets), sent=(sent_counts, sent_offsets),
                          order=ordered(stream))
        return self._start(call, algorithm, timeout)

    def scan(self, array: Any, op: str | Op = "sum", out: Any = None, *, algorithm: str | None = None,
             timeout: float | None = None, stream: Any = None) -> Any:
        """Rank r gets the reduction of ranks 0 to r."""
        return self._block(self._call("scan", array, out, op=op, order=ordered(stream)), algorithm, timeout)

    def iscan(self, array: Any, op: str | Op = "sum", out: Any = None, *, algorithm: str | None = None,
              timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of scan."""
        return self._start(self._call("scan", array, out, op=op, order=ordered(stream)), algorithm, timeout)

    def exscan(self, array: Any, op: str | Op = "sum", out: Any = None, *, algorithm: str | None = None,
               timeout: float | None = None, stream: Any = None) -> Any:
        """Rank r gets the reduction of ranks 0 to r - 1; rank 0's array is not changed."""
        return self._block(self._call("exscan", array, out, op=op, order=ordered(stream)), algorithm, timeout)

    def iexscan(self, array: Any, op: str | Op = "sum", out: Any = None, *, algorithm: str | None = None,
                timeout: float | None = None, stream: Any = None) -> Request:
        """The non-blocking form of exscan."""
        return self._start(self._call("exscan", array, out, op=op, order=ordered(stream)), algorithm, timeout)

    def barrier(self, *, timeout: float | None = None) -> None:
        """Returns when all ranks have called it."""
        self._block(self._call("barrier", None, None, order=None), None, timeout)

    def ibarrier(self, *, timeout: float | None = None) -> Request:
        """The non-blocking form of barrier."""
        return self._start(self._call("barrier", None, None, order=None), None, timeout)

    def allreduce_value(self, value: int | float, op: str | Op = "sum") -> int | float:
        """One number reduced over all ranks: an int of 64 bits, or a float."""
        cell: Any = ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)
        self._block(self._call("allreduce", cell, None, op=op, order=None), None, None)
        return cell.value

    def persistent(self, collective: str, array: Any = None, op: str | Op = "sum", out: Any = None, *, root: int = 0,
                   counts: Sequence[int] | None = None, offsets: Sequence[int] | None = None,
                   sent_counts: Sequence[int] | None = None, sent_offsets: Sequence[int] | None = None,
                   algorithm: str | None = None, timeout: float | None = None) -> PersistentRequest:
        """A call of the collective of this name ("allreduce", "broadcast", ...) that can be started many times. What the
        collective does not have (`op`, `root`, ...) does not count. Sends nothing and waits for no rank."""
        if collective not in COLLECTIVES:
            raise UsageError(f"there is no collective {collective!r} (there are: {', '.join(COLLECTIVES)})")
        sends = (None, array) if collective == "broadcast" else (array, out)
        call = self._call(collective, *sends, op=op if collective in REDUCTIONS else None,
                          root=root if collective in ROOTED else None,
                          parts=(counts, offsets) if collective in OF_PARTS else None,
                          sent=(sent_counts, sent_offsets) if collective == "alltoallv" else None, order=None)
        call.refuse_python()
        request = PersistentRequest(call.kept, self._failed)
        self._family.add(request)
        function = getattr(library, f"sinew_{collective}_init")
        check(function(*call.arguments, options_of(algorithm, timeout), request.handle))
        return request

    # ---- messages: matched by rank and tag, in order -----------------------------------------

    def send(self, array: Any, to: int, tag: int = 0, *, timeout: float | None = None, stream: Any = None) -> None:
        """Returns when `array` may be reused."""
        order = ordered(stream)
        data = span(array, False, "array", order.stream)
        status = library.sinew_send(self._checked(), data.pointer, data.count, data.code, to, tag,
                                    options_of(None, timeout, order.placement(data)))
        if status:
            self._fail(status, data)

    def recv(self, array: Any, source: int = ANY_SOURCE, tag: int = 0, *, timeout: float | None = None,
             stream: Any = None) -> Received:
        """Receives a message of at most as many elements as `array` has."""
        order = ordered(stream)
        data = span(array, True, "array", order.stream)
        result = ReceivedStruct()
        status = library.sinew_recv(self._checked(), data.pointer, data.count, data.code, source, tag,
                                    options_of(None, timeout, order.placement(data)), result)
        if status:
            self._fail(status, data)
        return Received(result.source, result.tag, result.count)

    def sendrecv(self, array: Any, to: int, out: Any, source: int = ANY_SOURCE, tag: int = 0, *,
                 timeout: float | None = None, stream: Any = None) -> Received:
        """Sends `array` and receives into `out` at the same time."""
        order = ordered(stream)
        sent, got = span(array, False, "array", order.stream), span(out, True, "out", order.stream)
        check_same_type(sent, got)
        result = ReceivedStruct()
        status = library.sinew_sendrecv(self._checked(), sent.pointer, sent.count, to, got.pointer, got.count, source,
                                        sent.code, tag, options_of(None, timeout, order.placement(sent, got)), result)
        if status:
            self._fail(status, (sent, got))
        return Received(result.source, result.tag, result.count)

    def isend(self, array: Any, to: int, tag: int = 0, *, timeout: float | None = None) -> Request:
        """The non-blocking form of send."""
        order = ordered(None)
        data = span(array, False, "array", order.stream)
        return self._message(library.sinew_isend, data, to, tag, timeout, order.placement(data))

    def irecv(self, array: Any, source: int = ANY_SOURCE, tag: int = 0, *, timeout: float | None = None) -> Request:
        """The non-blocking form of recv."""
        order = ordered(None)
        data = span(array, True, "array", order.stream)
        return self._message(library.sinew_irecv, data, source, tag, timeout, order.placement(data))
