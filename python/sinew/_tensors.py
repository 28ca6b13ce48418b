# SPDX-License-Identifier: Apache-2.0
"""Named tensors and options of the classes that train, as the library takes them."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ._call import check, nanoseconds_of
from ._cuda import DEFAULT_STREAM, stream_of
from ._elements import Span
from ._errors import UsageError
from ._library import GradientOptionsStruct, library
from ._operations import Op, operation

_WIRES = ("native", "bf16", "f16", "fp8", "int8")


class GradientStep(NamedTuple):
    """The result of a step: the ranks that had gradients, and the norm of all before clipping (0 without)."""

    active_ranks: int
    norm: float


def gradient_options(*, bucket_bytes: int = 25 << 20, first_bucket_bytes: int = 1 << 20, wire: str = "native",
                     op: str | Op = "average", order: str = "reverse_registration", error_feedback: bool = True,
                     check_finite: bool = False, clip_norm: float = 0.0, powersgd_rank: int = 0,
                     tune_bucket_bytes: bool = False, algorithm: str | None = None, timeout: float | None = None,
                     stream: Any = None) -> GradientOptionsStruct:
    """The options of sinew.GradientBuckets."""
    if wire not in _WIRES:
        raise UsageError(f"there is no wire format {wire!r} (there are: {', '.join(_WIRES)})")
    if order not in ("reverse_registration", "registration"):
        raise UsageError(f"order is {order!r} (expected reverse_registration or registration)")
    return GradientOptionsStruct(
        ctypes.sizeof(GradientOptionsStruct), bucket_bytes, first_bucket_bytes, operation(op).code, clip_norm,
        algorithm.encode() if algorithm else None, nanoseconds_of(timeout), _WIRES.index(wire),
        int(order == "registration"), int(error_feedback), int(check_finite), powersgd_rank, int(tune_bucket_bytes),
        stream_of(stream))


def computed_on_default_stream(options: GradientOptionsStruct, tensors: Iterable[Span]) -> None:
    """Sets the stream of tensors in the memory of a GPU, if the program has named none."""
    if options.stream is None and any(each.device is not None for each in tensors):
        options.stream = DEFAULT_STREAM


def named(tensors: Mapping[str, Any] | Iterable[Any]) -> list[tuple[str, Any]]:
    """Pairs of names and tensors, of what may be a mapping, such pairs, or tensors alone."""
    if isinstance(tensors, Mapping):
        return list(tensors.items())
    pairs = []
    for i, each in enumerate(tensors):
        if isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str):
            pairs.append(each)
        else:
            pairs.append((f"tensor {i}", each))
    return pairs


def indices(names: Iterable[str]) -> dict[str, int]:
    """Where each name is. Raises UsageError if two are equal."""
    found: dict[str, int] = {}
    for i, name in enumerate(names):
        if found.setdefault(name, i) != i:
            raise UsageError(f"two tensors have the name {name!r}")
    return found


def index_of(tensor: str | int, known: Mapping[str, int]) -> int:
    """The index of a tensor that is given by its name or index."""
    if isinstance(tensor, str):
        if tensor not in known:
            raise UsageError(f"there is no tensor {tensor!r}")
        return known[tensor]
    if not 0 <= tensor < len(known):
        raise UsageError(f"tensor {tensor} is out of range (there are {len(known)})")
    return tensor


def address(elements: Span) -> int | None:
    """The address of elements, for structs."""
    return ctypes.cast(elements.pointer, ctypes.c_void_p).value if elements.count else None


def rows_of(array: Any) -> int:
    """The rows of an array that is a matrix, or one of higher order as a matrix; otherwise 0."""
    shape = tuple(getattr(array, "shape", ()))
    return int(shape[0]) if len(shape) >= 2 else 0


def averaged(function: str, handle: ctypes.c_void_p, metrics: Any) -> list[float]:
    """Numbers averaged by a function of the library."""
    numbers = (ctypes.c_double * max(len(metrics), 1))(*metrics)
    check(getattr(library, function)(handle, numbers, len(metrics)))
    return list(numbers)[:len(metrics)]
