# SPDX-License-Identifier: Apache-2.0
"""How elements of several ranks are combined."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _buffers
from ._errors import UsageError, raise_error
from ._library import FUNCTION, library


class Op:
    """A reduction. `Op("sum")` is a predefined one; `Op.create` makes one of a function."""

    names = ("sum", "prod", "min", "max", "logical_and", "logical_or", "logical_xor", "bit_and", "bit_or",
             "bit_xor", "minloc", "maxloc", "average")

    __slots__ = ("code", "name", "_callback", "_raised", "__weakref__")

    def __init__(self, name: str) -> None:
        """A predefined operation, by its name. Raises UsageError, which lists the names, if there is none."""
        if name not in self.names:
            raise UsageError(f"there is no operation {name!r} (there are: {', '.join(self.names)})")
        self.code = self.names.index(name)
        self.name = name
        self._callback: Any = None
        self._raised: BaseException | None = None

    @classmethod
    def create(cls, function: Callable[[Any, Any], Any], dtype: Any, commutative: bool = True,
               name: str = "user") -> Op:
        """An operation of an associative `function(lower, higher)` on numpy arrays of `dtype`; it returns
        the combined array. Operands are in rank order. For blocking calls. Needs numpy.

        If the function raises, the call raises CallbackError from that exception on this rank.
        """
        import numpy

        element = numpy.dtype(dtype)
        code = _buffers.span(numpy.empty(1, element), True, "dtype").code
        op = cls.__new__(cls)
        op.name = name
        op._raised = None

        def array_at(address: int, count: int) -> Any:
            memory: Any = (ctypes.c_char * (count * element.itemsize)).from_address(address)
            return numpy.frombuffer(memory, element)

        def call(out: int, lower: int, higher: int, count: int, _context: Any) -> int:
            try:
                if count:
                    array_at(out, count)[...] = function(array_at(lower, count), array_at(higher, count))
                return 0
            except BaseException as error:  # noqa: B902  (it must not reach the C function that calls this)
                op._raised = error
                return 1

        op._callback = FUNCTION(call)
        handle = ctypes.c_size_t()
        status = library.sinew_op_create(op._callback, None, code, int(commutative), name.encode(), handle)
        if status:
            raise_error(status)
        op.code = handle.value
        return op

    @property
    def is_python(self) -> bool:
        """Whether it is a function of the program."""
        return self._callback is not None

    def take_raised(self) -> BaseException | None:
        """The exception of the function in the last call, once."""
        raised, self._raised = self._raised, None
        return raised

    def __del__(self) -> None:
        if getattr(self, "_callback", None) is not None and hasattr(self, "code"):
            library.sinew_op_destroy(self.code)

    def __repr__(self) -> str:
        return f"sinew.Op({self.name!r})"


predefined = {name: Op(name) for name in Op.names}

#: The number of each predefined operation, by its name and itself, as the parameter of a call that must be short.
code_of_op: dict[Any, ctypes.c_size_t] = {}
for _op in predefined.values():
    code_of_op[_op.name] = code_of_op[_op] = ctypes.c_size_t(_op.code)


def operation(op: str | Op) -> Op:
    """The operation of an argument."""
    if isinstance(op, Op):
        return op
    if isinstance(op, str) and op in predefined:
        return predefined[op]
    if isinstance(op, str):
        return Op(op)
    raise TypeError(f"op is a {type(op).__name__} (expected a name, such as \"sum\", or a sinew.Op)")
