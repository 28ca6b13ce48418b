# SPDX-License-Identifier: Apache-2.0
"""Arrays that other libraries export by DLPack or __cuda_array_interface__, also in the memory of a GPU."""
from __future__ import annotations

import ctypes
import math
import sys
from typing import Any

from ._cuda import DEFAULT_STREAM, device_of, wait_for_stream
from ._elements import BF16, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Span

#: As the stream of an export: nothing is ordered. It is -1 in DLPack's protocol.
ANY_STREAM = -1


class _DLTensor(ctypes.Structure):
    # DLDevice and DLDataType are given member by member. DLManagedTensor begins with this.
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    # DLManagedTensorVersioned, since DLPack 1.0.
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_pointer.restype = ctypes.c_void_p
_capsule_is = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is.argtypes = [ctypes.py_object, ctypes.c_char_p]

_CPU, _CUDA, _PINNED, _MANAGED = 1, 2, 3, 13
_READ_ONLY = 1
_dlpack_types = {(0, 8): I8, (0, 16): I16, (0, 32): I32, (0, 64): I64, (1, 8): U8, (1, 16): U16, (1, 32): U32,
                 (1, 64): U64, (2, 16): F16, (2, 32): F32, (2, 64): F64, (4, 16): BF16, (5, 64): C64, (5, 128): C128,
                 (6, 8): U8}
_interface_types = {"i1": I8, "i2": I16, "i4": I32, "i8": I64, "u1": U8, "u2": U16, "u4": U32, "u8": U64, "f2": F16,
                    "f4": F32, "f8": F64, "c8": C64, "c16": C128, "b1": U8}


def _refuse_device(what: str, device: int) -> TypeError:
    return TypeError(f"{what} is not in the memory of the CPU (DLPack device {device}). Copy it to the host first")


def _check_strides(what: str, shape: list[int], strides: list[int] | None, unit: int, copy: str) -> None:
    """Raises ValueError unless elements lie one after the other. `unit` is the stride of neighbours."""
    if not strides or 0 in shape:
        return
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != unit:
            raise ValueError(f"{what} is not contiguous in memory (C order). Pass a copy: {copy}")
        unit *= extent


def _exported_on(array: Any, stream: int) -> Any:
    """A capsule of an array whose producer lets `stream` wait for the work that computes it. The version lets the
    producer say whether it is read-only; producers of before DLPack 1.0 do not know that argument."""
    try:
        return array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:
        return array.__dlpack__(stream=stream)


def of_dlpack(array: Any, writes: bool, what: str, stream: int | None) -> Span:
    """See _buffers.span."""
    kind, number = (int(each) for each in array.__dlpack_device__())
    device = ready = None
    # A capsule keeps the memory, and destroys the exported tensor, as nobody consumes it.
    if kind in (_CPU, _PINNED):
        capsule = array.__dlpack__()
    elif kind == _MANAGED:
        capsule = _exported_on(array, DEFAULT_STREAM)
        wait_for_stream(DEFAULT_STREAM)
    elif kind == _CUDA and stream is not None:
        capsule = _exported_on(array, stream)
        device, ready = number, stream
    else:
        raise _refuse_device(what, kind)
    if _capsule_is(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        tensor = versioned.tensor
        if writes and versioned.flags & _READ_ONLY:
            raise ValueError(f"{what} is read-only, but the call writes to it")
    else:
        tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    code = _dlpack_types.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if code is None:
        raise TypeError(f"{what} has elements that cannot be sent (DLPack type {tensor.code} of {tensor.bits} bits)")
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
    _check_strides(what, shape, strides, 1, f"{what}.contiguous()")
    address = (tensor.data or 0) + tensor.byte_offset
    return Span(ctypes.c_void_p(address), math.prod(shape), code, (capsule, array), tensor.code == 6, device, ready)


def of_cuda_array_interface(array: Any, writes: bool, what: str, stream: int | None) -> Span:
    """See _buffers.span. The interface is that of its version 3; those before have no stream."""
    interface = array.__cuda_array_interface__
    form = interface["typestr"]
    code = _interface_types.get(form[1:])
    if code is None or form[0] == (">" if sys.byteorder == "little" else "<"):
        raise TypeError(f"{what} has elements that cannot be sent (typestr {form!r})")
    if interface.get("mask") is not None:
        raise TypeError(f"{what} has a mask, which cannot be sent")
    address, read_only = interface["data"]
    if writes and read_only:
        raise ValueError(f"{what} is read-only, but the call writes to it")
    shape = list(interface["shape"])
    strides = interface.get("strides")
    _check_strides(what, shape, list(strides) if strides is not None else None, int(form[2:]), "array.copy()")
    produced_on = interface.get("stream")
    if produced_on == 0:
        raise ValueError(f"{what} names stream 0 in its __cuda_array_interface__, which that protocol does not allow")
    count = math.prod(shape)
    device = device_of(address) if count > 0 else 0
    if device is not None and stream is None:
        raise _refuse_device(what, _CUDA)
    if device is None:
        if produced_on is not None:
            wait_for_stream(produced_on)
        return Span(ctypes.c_void_p(address), count, code, array, form[1] == "b")
    ready = stream if produced_on is None or stream == ANY_STREAM else produced_on
    return Span(ctypes.c_void_p(address), count, code, array, form[1] == "b", device, ready)
