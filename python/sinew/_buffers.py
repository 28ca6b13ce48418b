# SPDX-License-Identifier: Apache-2.0
"""Addresses, counts and types of arrays, without copies."""
from __future__ import annotations

import ctypes
import sys
from typing import Any

from ._elements import (BF16, C64, C128, F16, F32, F64, I8, I16, I32, I64, OPAQUE, U8, U16, U32, U64, Span, names)
from ._exports import of_cuda_array_interface, of_dlpack

# The type of each dtype of numpy that has been used, for calls that must be short. Only dtypes that the
# buffer protocol knows and every operation is meant for.
code_of_dtype: dict[Any, int] = {}

#: An object of no bytes in the memory of `from_buffer(array)`; it keeps the array's memory. Fails if the array
#: is read-only or not contiguous.
from_buffer = (ctypes.c_char * 0).from_buffer

_integer = {(1, True): I8, (2, True): I16, (4, True): I32, (8, True): I64,
            (1, False): U8, (2, False): U16, (4, False): U32, (8, False): U64}
_floating = {"e": F16, "f": F32, "d": F64, "Zf": C64, "Zd": C128}
_native = "<" if sys.byteorder == "little" else ">"


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None


class _ReadOnly:
    """A buffer that may only be read, and its address."""

    def __init__(self, view: memoryview) -> None:
        self._buffer = _PyBuffer()
        _get_buffer(view, self._buffer, 0)
        self.address = self._buffer.buf or 0

    def __del__(self) -> None:
        _release_buffer(self._buffer)


def _code_of_format(form: str, itemsize: int) -> tuple[int, bool]:
    """The type of the elements of a memoryview, and whether they are booleans."""
    kind = form
    if form[:1] in "@=<>!":
        order = {"@": _native, "=": _native, "!": ">"}.get(form[0], form[0])
        kind = form[1:]
        if order != _native and itemsize > 1:
            raise TypeError("elements in the other byte order, which must be converted first")
    if kind in _floating:
        return _floating[kind], False
    if kind == "?":
        return U8, True
    if kind in ("c", "s"):
        return U8, False
    if len(kind) == 1 and kind in "bhilqn":
        return _integer[itemsize, True], False
    if len(kind) == 1 and kind in "BHILQN":
        return _integer[itemsize, False], False
    if kind.startswith("T{") and "O" not in kind and itemsize > 0:
        return OPAQUE | itemsize, False
    raise TypeError("elements that cannot be sent; expected integers, float16, float32, float64, complex64, "
                    "complex128, bool, or structures of them")


def _of_memoryview(view: memoryview, writes: bool, what: str, owner: Any) -> Span:
    if not view.c_contiguous:
        raise ValueError(f"{what} is not contiguous in memory (C order). Pass a copy: numpy.ascontiguousarray(...)")
    if writes and view.readonly:
        raise ValueError(f"{what} is read-only, but the call writes to it")
    try:
        code, boolean = _code_of_format(view.format, view.itemsize)
    except TypeError as error:
        name = f"dtype {owner.dtype}" if hasattr(owner, "dtype") else f"format {view.format!r}"
        raise TypeError(f"{what} has {error} ({name})") from None
    count = view.nbytes // view.itemsize
    if not view.readonly:
        return Span(from_buffer(view), count, code, owner, boolean)
    read = _ReadOnly(view)
    return Span(ctypes.c_void_p(read.address), count, code, (read, owner), boolean)


def _of_numpy_alone(array: Any, writes: bool, what: str) -> Span:
    """An array of numpy whose dtype the buffer protocol does not know."""
    if array.dtype.name == "bfloat16":  # of ml_dtypes
        words = span(array.view("u2"), writes, what)
        return Span(words.pointer, words.count, BF16, (words, array))
    raise TypeError(f"{what} has elements that cannot be sent (dtype {array.dtype}). Expected integers, float16, "
                    "bfloat16, float32, float64, complex64, complex128, bool, or structures of them")


def span(array: Any, writes: bool, what: str, stream: int | None = None) -> Span:
    """The elements of `array`. `writes`: whether the call writes to them; `what` is the argument's name. `stream`: the one
    in whose order they will be used if they are in the memory of a GPU (ANY_STREAM: their owner orders it otherwise);
    None: they must be in that of the host."""
    try:
        view = memoryview(array)
    except (TypeError, ValueError, BufferError) as error:
        if hasattr(array, "__array_interface__") and hasattr(array, "dtype"):
            return _of_numpy_alone(array, writes, what)
        if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
            return of_dlpack(array, writes, what, stream)
        if hasattr(array, "__cuda_array_interface__"):
            return of_cuda_array_interface(array, writes, what, stream)
        raise TypeError(f"{what} is a {type(array).__name__}, which has neither the buffer protocol nor __dlpack__ "
                        f"({error})") from None
    found = _of_memoryview(view, writes, what, array)
    if found.code < len(names) and not found.boolean and hasattr(array, "__array_interface__"):
        code_of_dtype[array.dtype] = found.code
    return found
