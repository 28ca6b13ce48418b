# SPDX-License-Identifier: Apache-2.0
"""Gradients of data-parallel training, averaged in buckets while the backward pass computes."""
from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ._buffers import span
from ._call import check
from ._communicator import BasicCommunicator
from ._errors import UsageError
from ._exports import ANY_STREAM
from ._handle import OwnedHandle
from ._library import BucketTimingStruct, GradientStepStruct, GradientStruct, library
from ._tensors import (GradientStep, address, averaged, computed_on_default_stream, gradient_options, index_of, indices,
                       named, rows_of)


class BucketTiming(NamedTuple):
    """A size of buckets, and the median time of a step with it on the slowest rank; 0: not measured yet."""

    bucket_bytes: int
    seconds: float


class BucketTuning(NamedTuple):
    """What `tune_bucket_bytes` has found: whether the size is final, the size, and what was measured."""

    done: bool
    bucket_bytes: int
    measured: list[BucketTiming]


class GradientBuckets(OwnedHandle):
    """Averages gradients over all ranks during the backward pass of data-parallel training.

        buckets = sinew.GradientBuckets(comm, {"weights": weights_gradient, "bias": bias_gradient})
        buckets.broadcast_parameters([weights, bias])
        for batch in batches:
            ...                      # compute the bias's gradient
            buckets.ready("bias")
            ...                      # compute the weights' gradient, while the bias's is averaged
            buckets.ready("weights")
            buckets.finish()         # all gradients are averages now, in place

    `gradients` is a mapping of names to arrays, a sequence of pairs of them, or of arrays alone (torch's gradients are
    taken by `__dlpack__`). For an array a pair (shape, dtype) may stand: its memory is that of the bucket, so that
    nothing is copied, and `buckets["name"]` is the numpy array. Types: float16, bfloat16, float32, float64.

    Gradients may be in the memory of a GPU, if all are: float16, bfloat16, float32. `stream` is the one that computes them,
    by default CUDA's default stream, which is torch's, too; `ready` says that it has been given the work. The object keeps
    the memory of the tensors, and so must the program: torch's `zero_grad(set_to_none=False)`.

    `wire`: how gradients travel ("native", "bf16", "f16", "fp8", "int8"; see docs/sgd.md). `order` is
    "reverse_registration" (the backward pass of most networks) or "registration". `clip_norm` scales all gradients down
    to that global norm. `check_finite` raises NotFinite, on all ranks, if a gradient has NaN or infinity.
    `powersgd_rank`: matrices of float32 travel as products of two of this rank; an array of more than two dimensions is a
    matrix whose rows are those of its first one. `tune_bucket_bytes` measures sizes of buckets in the first steps and
    keeps the fastest (`tuning`). The others are `bucket_bytes` (25 MiB), `first_bucket_bytes` (1 MiB), `op` ("average" or
    "sum"), `error_feedback` (on), `algorithm` and `timeout` (seconds).
    Options are equal on all ranks, but for `stream`. All methods but `ready` are collective, and for the thread that made
    this object.

    Raises UsageError on all ranks, naming the rank and the tensor, if the ranks differ in what they do.
    """

    _destroy = library.sinew_buckets_destroy
    _closed = "these gradient buckets are closed"

    def __init__(self, comm: BasicCommunicator, gradients: Mapping[str, Any] | Iterable[Any], **options: Any) -> None:
        super().__init__()
        self._shapes: dict[int, tuple[tuple[int, ...], Any]] = {}
        self._views: dict[int, Any] = {}
        given = gradient_options(**options)
        pairs = named(gradients)
        self._index = indices(name for name, _ in pairs)
        structs = (GradientStruct * max(len(pairs), 1))()
        for i, (name, gradient) in enumerate(pairs):
            structs[i] = self._struct(i, name, gradient)
        computed_on_default_stream(given, self._keeps)
        check(library.sinew_buckets_create(comm._checked(), structs, len(pairs), given, self._handle))
        self._comm = comm
        comm._family.add(self)

    def _struct(self, index: int, name: str, gradient: Any) -> GradientStruct:
        if isinstance(gradient, tuple):
            import numpy

            shape, dtype = gradient
            extents = (shape,) if isinstance(shape, int) else tuple(shape)
            element = numpy.dtype(dtype)
            self._shapes[index] = (extents, element)
            code = span(numpy.empty(1, element), True, name).code
            return GradientStruct(name.encode(), None, math.prod(extents), code,
                                  extents[0] if len(extents) >= 2 else 0)
        elements = span(gradient, True, name, ANY_STREAM)
        self._keeps.append(elements)
        return GradientStruct(name.encode(), address(elements), elements.count, elements.code, rows_of(gradient))

    # ---- what there is ---------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of tensors."""
        return len(self._index)

    @property
    def buckets(self) -> int:
        """The number of buckets."""
        return library.sinew_buckets_count(self._checked())

    @property
    def tuning(self) -> BucketTuning:
        """The size of the buckets, and how it was found. Not collective."""
        size, done, needed = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_size_t()
        check(library.sinew_buckets_tuning(self._checked(), size, done, None, 0, needed))
        timings = (BucketTimingStruct * max(needed.value, 1))()
        check(library.sinew_buckets_tuning(self._checked(), size, done, timings, needed.value, needed))
        measured = [BucketTiming(each.bucket_bytes, each.seconds) for each in timings[:needed.value]]
        return BucketTuning(bool(done.value), size.value, measured)

    def __getitem__(self, tensor: str | int) -> Any:
        """The array of a tensor that was given as (shape, dtype); it may outlive this object."""
        import numpy

        index = index_of(tensor, self._index)
        if index not in self._views:
            handle = ctypes.c_void_p()
            check(library.sinew_buckets_view(self._checked(), index, handle))
            extents, element = self._shapes[index]
            size = math.prod(extents) * element.itemsize
            memory: Any = (ctypes.c_char * size).from_address(library.sinew_memory_data(handle) or 0)
            weakref.finalize(memory, library.sinew_memory_destroy, handle).atexit = False
            self._views[index] = numpy.ndarray(extents, element, memory)
        return self._views[index]

    # ---- a step ----------------------------------------------------------------------------------

    def ready(self, tensor: str | int) -> None:
        """Says that the gradient of a tensor has been computed in this step. Any thread may call it."""
        check(library.sinew_buckets_ready(self._checked(), index_of(tensor, self._index)))

    def finish(self) -> GradientStep:
        """Returns when every gradient has its result, in place. The next step may then begin."""
        step = GradientStepStruct()
        check(library.sinew_buckets_finish(self._checked(), step))
        return GradientStep(step.active_ranks, step.norm)

    def join(self) -> int:
        """For a rank that has no more data: takes part in the steps of the others until all have called it. Returns a
        rank that has seen all steps."""
        last = ctypes.c_int()
        check(library.sinew_buckets_join(self._checked(), last))
        return last.value

    # ---- between steps ---------------------------------------------------------------------------

    def broadcast_parameters(self, parameters: Iterable[Any], root: int = 0) -> None:
        """Copies the root's arrays to all ranks, and verifies by a hash that all have the same bits; those in the memory of
        a GPU are copied alone."""
        arrays = list(parameters)
        everywhere = [span(each, True, f"parameter {i}", ANY_STREAM) for i, each in enumerate(arrays)]
        spans = [each for each in everywhere if each.device is None]
        structs = (GradientStruct * max(len(spans), 1))()
        for i, each in enumerate(spans):
            structs[i] = GradientStruct(None, address(each), each.count, each.code, 0)
        check(library.sinew_buckets_broadcast_parameters(self._checked(), structs, len(spans), root))
        for array, each in zip(arrays, everywhere):
            if each.device is not None:
                self._comm.broadcast(array, root)

    def average(self, metrics: Sequence[float]) -> list[float]:
        """Numbers averaged over the ranks that have not joined."""
        return averaged("sinew_buckets_average", self._checked(), metrics)

    def residuals(self) -> bytes:
        """What this rank has rounded away and not sent yet (fp8, int8, PowerSGD), for a checkpoint: float32 as bytes."""
        needed = ctypes.c_size_t()
        check(library.sinew_buckets_residuals(self._checked(), None, 0, needed))
        numbers = (ctypes.c_float * max(needed.value, 1))()
        check(library.sinew_buckets_residuals(self._checked(), numbers, needed.value, None))
        return bytes(memoryview(numbers).cast("B")[:4 * needed.value])

    def restore_residuals(self, residuals: Any) -> None:
        """Continues from what `residuals` has returned on the same rank of as many."""
        numbers = bytes(residuals)
        check(library.sinew_buckets_restore_residuals(self._checked(), numbers, len(numbers) // 4))

    def close(self) -> None:
        """Ends this rank's part. Not collective. In the middle of a step it ends that of the other ranks with PeerLost.
        Arrays of the buckets stay valid."""
        super().close()
        self._views.clear()
