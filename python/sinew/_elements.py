# SPDX-License-Identifier: Apache-2.0
"""The types of elements, and what the calls know of an array."""
from __future__ import annotations

from typing import Any

F16, BF16, F32, F64, C64, C128, I8, I16, I32, I64, U8, U16, U32, U64 = range(14)
OPAQUE = 0x80000000
names = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32",
         "int64", "uint8", "uint16", "uint32", "uint64")


class Span:
    """Elements in memory: `pointer` (what ctypes takes for void*), `count`, `code`. Keeps the memory.

    `device`: the number of the GPU in whose memory they are; None: in that of the host. `ready`: a stream after whose work
    they are to be used; None: there is nothing to wait for."""

    __slots__ = ("pointer", "count", "code", "boolean", "_owner", "device", "ready")

    def __init__(self, pointer: Any, count: int, code: int, owner: Any, boolean: bool = False,
                 device: int | None = None, ready: int | None = None) -> None:
        self.pointer = pointer
        self.count = count
        self.code = code
        self.boolean = boolean
        self._owner = owner
        self.device = device
        self.ready = ready

    def type_name(self) -> str:
        """The name of the elements' type, for errors."""
        if self.boolean:
            return "bool"
        return names[self.code] if self.code < len(names) else f"structures of {self.code - OPAQUE} bytes"

    def place(self) -> str:
        """Where they are, for errors."""
        return "in the memory of the host" if self.device is None else f"in the memory of GPU {self.device}"
