# SPDX-License-Identifier: Apache-2.0
"""Streams of a GPU, and the few functions of the CUDA driver that arrays need."""
from __future__ import annotations

import ctypes
import functools
import time
from typing import Any

from ._errors import Error, Unavailable

#: The default stream of CUDA (CU_STREAM_LEGACY), on which PyTorch and CuPy compute unless told otherwise.
DEFAULT_STREAM = 1

_KIND, _MANAGED, _DEVICE = 2, 8, 9  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _IS_MANAGED, _DEVICE_ORDINAL
_OF_A_GPU = 2  # CU_MEMORYTYPE_DEVICE
_NOT_READY = 600  # CUDA_ERROR_NOT_READY

_LIBRARY = "libcuda.so.1"
#: How long `wait_for_stream` waits before it gives up.
WAIT_SECONDS = 3600.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 5e-6, 1e-3  # seconds between two questions to the driver


def stream_of(stream: Any) -> int | None:
    """The handle of a stream that is given as a number, or as an object with `__cuda_stream__`, `cuda_stream` (torch) or
    `ptr` (cupy). None for None. The default stream has a handle of its own: 0 means no stream to the library."""
    if stream is None:
        return None
    handle: Any = stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        handle = (protocol() if callable(protocol) else protocol)[1]
    elif hasattr(stream, "cuda_stream"):
        handle = stream.cuda_stream
    elif hasattr(stream, "ptr"):
        handle = stream.ptr
    if isinstance(handle, bool) or not hasattr(handle, "__index__"):
        raise TypeError(f"stream is a {type(stream).__name__} (expected the handle of a CUDA stream as an int, or a stream "
                        "of torch, CuPy or another library with __cuda_stream__)")
    return int(handle) or DEFAULT_STREAM


@functools.cache
def _driver() -> ctypes.CDLL:
    """The driver, which whoever made an array in the memory of a GPU has loaded."""
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise Unavailable(f"the NVIDIA driver cannot be loaded ({error}), but an array is said to be of a GPU. Install the "
                          "driver, or pass an array in the memory of the host") from error


def wait_for_stream(stream: int) -> None:
    """Blocks until a stream has done what it was given, at most WAIT_SECONDS. In the main thread signal handlers of
    Python run meanwhile, so that Ctrl-C ends the wait."""
    query = _driver().cuStreamQuery
    handle = ctypes.c_void_p(stream)
    begin = time.monotonic()
    while result := query(handle):
        if result != _NOT_READY:
            raise Error(f"cuStreamQuery of stream {stream:#x}: CUDA error {result}", result)
        waited = time.monotonic() - begin
        if waited > WAIT_SECONDS:
            raise Error(f"stream {stream:#x} has not done its work after {waited:.1f} s. Look for a kernel that does not "
                        "end, or for an event that the stream waits for and that nobody records; or wait for the stream "
                        "before the call")
        time.sleep(min(max(waited / 10, _SHORTEST_PAUSE), _LONGEST_PAUSE))  # a tenth longer than needed, and 0.1 ms


def device_of(address: int) -> int | None:
    """The number of the GPU whose memory this is. None for memory of the host, to which managed memory belongs here."""
    kind, managed, device = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_int()
    for result, attribute in ((kind, _KIND), (managed, _MANAGED), (device, _DEVICE)):
        if _driver().cuPointerGetAttribute(ctypes.byref(result), attribute, ctypes.c_uint64(address)):
            return None
    return device.value if kind.value == _OF_A_GPU and not managed.value else None
