# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory that the ranks of a node share."""
from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence
from typing import Any

from ._errors import raise_error
from ._library import library


def allocate(communicator: int, shape: int | Sequence[int], dtype: Any) -> Any:
    """See Communicator.allocate."""
    import numpy

    element = numpy.dtype(dtype)
    if element.hasobject:
        raise TypeError(f"arrays of dtype {element} cannot be shared: they contain Python objects")
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(extents) * element.itemsize
    handle = ctypes.c_void_p()
    status = library.sinew_allocate(communicator, size, handle)
    if status:
        raise_error(status)
    memory: Any = (ctypes.c_char * size).from_address(library.sinew_memory_data(handle))
    # Arrays made of `memory` keep it; when the last one is gone, nothing uses the memory.
    weakref.finalize(memory, library.sinew_memory_destroy, handle).atexit = False
    return numpy.ndarray(extents, element, memory)
