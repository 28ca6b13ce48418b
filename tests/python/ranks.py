# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a module on all ranks, for programs that `sinew run` or mpirun starts.

A test is a function `test_NAME(comm)` of the module. All ranks run them in the same order; the exit code is 1 if one
has failed on this rank, and 77 without numpy. Where SINEW_REQUIRE_GPU is 1, a test that would be skipped fails.
"""
from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from typing import Any, NoReturn

import sinew


def requires_gpu() -> bool:
    return os.environ.get("SINEW_REQUIRE_GPU") == "1"


def skip(reason: str) -> NoReturn:
    print(f"SKIP: {reason}" if not requires_gpu() else f"SINEW_REQUIRE_GPU=1, but {reason}")
    sys.exit(1 if requires_gpu() else 77)


class raises:
    """`with raises(ValueError, "read-only"):` fails unless the block raises that, with a text that has the words."""

    def __init__(self, kind: type[BaseException], *words: str) -> None:
        self.kind = kind
        self.words = words

    def __enter__(self) -> raises:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _traceback: Any) -> bool:
        assert error is not None, f"{self.kind.__name__} was not raised"
        if not isinstance(error, self.kind):
            return False
        for words in self.words:
            assert words in str(error), f"{words!r} is not in {str(error)!r}"
        return True


def run(module: dict[str, Any], *, needs_numpy: bool = True) -> None:
    """Runs the tests of `module`, which is globals()."""
    if needs_numpy and importlib.util.find_spec("numpy") is None:
        skip("numpy is not installed (Debian: python3-numpy)")
    failed = 0
    with sinew.World() as world:
        comm = world.communicator
        for name, test in list(module.items()):
            if not name.startswith("test_"):
                continue
            try:
                test(comm)
            except Exception:
                failed += 1
                print(f"rank {comm.rank} of {comm.size}: {name} failed", file=sys.stderr)
                traceback.print_exc()
    sys.exit(1 if failed else 0)
