# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a GPU that is not there: of the stand-in of the CUDA driver in tests/fake_gpu, whose folder is
SINEW_FAKE_GPU. They are exported as those of PyTorch (DLPack) and of Numba (__cuda_array_interface__) are."""
from __future__ import annotations

import ctypes
import math
import os
from typing import Any

import numpy as np
import ranks

folder = os.environ.get("SINEW_FAKE_GPU")
if folder is None:
    ranks.skip("SINEW_FAKE_GPU does not name the folder of the stand-ins of CUDA's driver and NCCL")
driver = ctypes.CDLL(f"{folder}/libcuda.so.1", ctypes.RTLD_GLOBAL)
driver.fake_cuda_shadow.argtypes = [ctypes.c_void_p]
driver.fake_cuda_shadow.restype = ctypes.c_void_p
os.environ.setdefault("SINEW_NCCL_LIBRARY", f"{folder}/libnccl.so.2")

DEFAULT_STREAM = 1
_CUDA = 2
_ALL_IN_ORDER = -1
_kinds = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_working: list[Any] = []  # what streams were given; kept for good


def use_kernels() -> None:
    """The driver executes sinew's kernels from now on, by their twins on the host."""
    ctypes.CDLL(f"{folder}/libfake_kernels.so").fake_cuda_use_kernels()


def use_device(number: int) -> None:
    """Makes a GPU the current one of this thread."""
    driver.fake_cuda_use_device(number)


def checked(result: int) -> None:
    assert result == 0, f"CUDA error {result}"


class Stream:
    """A stream of the driver, as torch.cuda.Stream is one."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        checked(driver.cuStreamCreate(ctypes.byref(handle), 1))
        self.cuda_stream = handle.value or 0

    def __del__(self) -> None:
        driver.cuStreamDestroy_v2(ctypes.c_void_p(self.cuda_stream))


def handle_of(stream: Stream | int) -> ctypes.c_void_p:
    return ctypes.c_void_p(stream if isinstance(stream, int) else stream.cuda_stream)


def enqueue(stream: Stream | int, function: Any) -> None:
    """Gives a stream something to do."""
    call, release = _call(lambda _argument: function()), _call(lambda _argument: None)
    _working.append((call, release))
    checked(driver.fake_cuda_enqueue(handle_of(stream), call, None, release))


def synchronise(stream: Stream | int) -> None:
    checked(driver.cuStreamSynchronize(handle_of(stream)))


def _order(first: Stream | int, second: Stream | int) -> None:
    """What the second stream is given from now on begins after what the first has now."""
    event = ctypes.c_void_p()
    checked(driver.cuEventCreate(ctypes.byref(event), 2))
    checked(driver.cuEventRecord(event, handle_of(first)))
    checked(driver.cuStreamWaitEvent(handle_of(second), event, 0))
    checked(driver.cuEventDestroy_v2(event))


class Array:
    """An array in the memory of the current GPU, and the stream on which its owner works."""

    def __init__(self, values: Any, dtype: Any = None) -> None:
        values = np.asarray(values, dtype)
        self.shape, self.dtype, self.strides = values.shape, values.dtype, None
        self.current: Stream | int = DEFAULT_STREAM
        self.read_only = False
        memory = ctypes.c_uint64()
        checked(driver.cuMemAlloc_v2(ctypes.byref(memory), values.nbytes + 1))
        self.address = memory.value
        if values.size > 0:
            self.shadow()[...] = values

    def __del__(self) -> None:
        if hasattr(self, "address"):
            driver.cuMemFree_v2(ctypes.c_uint64(self.address))

    def shadow(self) -> np.ndarray:
        """The elements, as the side of the GPU sees them."""
        size = math.prod(self.shape) * self.dtype.itemsize
        memory = (ctypes.c_char * size).from_address(driver.fake_cuda_shadow(self.address))
        return np.frombuffer(memory, self.dtype).reshape(self.shape)

    def values(self) -> np.ndarray:
        """A copy of the elements as they are now."""
        return self.shadow().copy()

    def __len__(self) -> int:
        return self.shape[0]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_exports: dict[int, Any] = {}  # by the address of their capsule


@_call
def _forget(capsule: int) -> None:
    _exports.pop(capsule)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _call]
_new_capsule.restype = ctypes.py_object


def exports() -> int:
    """How many capsules there are now."""
    return len(_exports)


class Tensor(Array):
    """An array with __dlpack__, as torch has: the stream of an export waits for the work of the current one."""

    device = _CUDA
    bfloat16 = False

    def __init__(self, values: Any, dtype: Any = None) -> None:
        super().__init__(values, dtype)
        self.exported_on: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        number = ctypes.c_int()
        checked(driver.cuCtxGetDevice(ctypes.byref(number)))
        return self.device, number.value

    def _wait(self, stream: int | None) -> None:
        self.exported_on.append(stream)
        if stream == 0:
            raise AssertionError("0 is ambiguous as the stream of an export")
        if stream != _ALL_IN_ORDER and handle_of(self.current).value != (stream or DEFAULT_STREAM):
            _order(self.current, stream or DEFAULT_STREAM)

    def _struct(self) -> _DLTensor:
        number = len(self.shape)
        kind = 4 if self.bfloat16 else _kinds[self.dtype.kind]
        extents = (ctypes.c_int64 * number)(*self.shape)
        strides = (ctypes.c_int64 * number)(*self.strides) if self.strides else None
        data = self.address if math.prod(self.shape) else None  # of empty tensors, torch gives null
        return _DLTensor(data, self.device, 0, number, kind, 8 * self.dtype.itemsize, 1, extents, strides, 0)

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        self._wait(stream)
        if max_version is None:
            return self._capsule(_Managed(self._struct()), b"dltensor")
        return self._capsule(_ManagedVersioned(1, 0, None, None, int(self.read_only), self._struct()), b"dltensor_versioned")

    def _capsule(self, managed: Any, name: bytes) -> Any:
        capsule = _new_capsule(ctypes.addressof(managed), name, _forget)
        _exports[id(capsule)] = managed, self
        return capsule


class OldTensor(Tensor):
    """One whose producer is older than DLPack 1.0."""

    def __dlpack__(self, stream: int | None = None) -> Any:  # type: ignore[override]
        self._wait(stream)
        return self._capsule(_Managed(self._struct()), b"dltensor")


class InterfaceArray(Array):
    """An array with __cuda_array_interface__ alone. It names its stream, unless that is None."""

    names_stream = True
    mask = None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        stream = handle_of(self.current).value if self.names_stream else None
        data = self.address if math.prod(self.shape) else 0
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (data, self.read_only), "version": 3,
                "strides": self.strides, "stream": stream, "mask": self.mask}
