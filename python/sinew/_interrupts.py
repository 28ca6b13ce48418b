# SPDX-License-Identifier: Apache-2.0
"""Signal handlers of Python run while the main thread waits in the library, so that Ctrl-C ends a wait.

The library calls a check every 100 ms of a wait. If a handler raises, as SIGINT's does, the check keeps
the exception and tells the library to end the wait; the call then raises it.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator

from ._library import CHECK, library

_raised: list[BaseException] = []


def _checks() -> Generator[int, object, None]:
    # The interpreter may run signal handlers at the beginning of a call, before a try block of a function
    # could catch what they raise. A generator is resumed inside its try block.
    result = 0
    while True:
        try:
            while True:
                yield result
                ctypes.pythonapi.PyErr_CheckSignals()
                result = 0
        except GeneratorExit:
            return
        except BaseException as error:  # noqa: B902  (whatever the handler raises)
            _raised.append(error)
            result = 1


_generator = _checks()
next(_generator)
_check = CHECK(_generator.send)


def watch() -> None:
    """Lets signals end the waits of this thread, if it is the one in which Python runs their handlers."""
    if threading.current_thread() is threading.main_thread():
        library.sinew_set_interrupt_check(_check, None)


def unwatch() -> None:
    """Ends what `watch` began. Called before the interpreter ends."""
    library.sinew_set_interrupt_check(ctypes.cast(0, CHECK), None)


def taken() -> BaseException | None:
    """The exception of the handler that ended a wait, once."""
    return _raised.pop() if _raised else None
