# SPDX-License-Identifier: Apache-2.0
"""The exceptions, one for each status of sinew/sinew.h, and how a status becomes one."""
from __future__ import annotations

from . import _interrupts
from ._library import library


class Error(RuntimeError):
    """Base of all errors of sinew. `code` is errno of a SystemError, MPI's code of a BackendError, the tensor
    of a NotFinite, else 0."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class UsageError(Error):
    """The call is wrong and the program must be corrected. The text says whether the communicator stays usable."""


class Unavailable(Error):
    """An optional feature is not available here."""


class Timeout(Error, TimeoutError):
    """A deadline has passed; the text names the ranks that had not arrived. The communicator is lost."""


class PeerLost(Error, ConnectionError):
    """A rank died or gave up; the text names it and its host. The communicator is lost."""


class SystemError(Error):  # noqa: A001  (the name of the C++ class)
    """A system call failed; `code` is errno."""


class BackendError(Error):
    """MPI reported an error; `code` is its error code. The communicator is lost."""


class CallbackError(Error):
    """A function of the program failed; `__cause__` is its exception. The communicator is lost."""


class NotFinite(Error):
    """A gradient has NaN or infinity; `code` is the index of its tensor, and the text names the rank."""


USAGE = 1
MEMORY = 7
INTERRUPTED = 9
_classes = {
    USAGE: UsageError,
    2: Unavailable,
    3: Timeout,
    4: PeerLost,
    5: SystemError,
    6: BackendError,
    8: CallbackError,
    11: NotFinite,
}


def raise_error(status: int, cause: BaseException | None = None) -> None:
    """Raises the last error of this thread, whose status this is. `cause` is the exception behind it."""
    text = library.sinew_last_error().decode(errors="replace")
    if status == INTERRUPTED:
        raised = _interrupts.taken()
        if raised is not None:
            raise raised from None
    if status == MEMORY:
        raise MemoryError(text)
    raise _classes.get(status, Error)(text, library.sinew_last_error_code()) from cause
