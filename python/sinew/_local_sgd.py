# SPDX-License-Identifier: Apache-2.0
"""Parameters averaged every few steps."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

from ._buffers import span
from ._call import check
from ._communicator import BasicCommunicator
from ._errors import UsageError
from ._handle import OwnedHandle
from ._library import GradientStruct, LocalSgdOptionsStruct, library
from ._state import TrainingState
from ._tensors import address, gradient_options, named


class LocalSgd(OwnedHandle):
    """Averages parameters every `period` steps instead of gradients in each; ranks train alone in between.

        local = sinew.LocalSgd(comm, {"weights": weights, "bias": bias}, period=16)
        for batch in my_batches:
            ...                          # a step of this rank's own optimiser
            local.step()                 # averages in every 16th step
        local.synchronise()

    `parameters` are arrays of float16, bfloat16, float32 or float64, given as gradients are to sinew.GradientBuckets;
    rank 0's are copied to all ranks. In the first `warm_up` steps they are averaged each time. `outer_momentum`,
    `outer_learning_rate` and `nesterov` are those of SlowMo and DiLoCo (docs/sgd.md). The other options are those of
    sinew.GradientBuckets, and say how changes travel. All ranks make the same number of steps.
    """

    _destroy = library.sinew_local_sgd_destroy
    _closed = "this local SGD is closed"

    def __init__(self, comm: BasicCommunicator, parameters: Mapping[str, Any] | Iterable[Any], *, period: int = 16,
                 warm_up: int = 0, outer_momentum: float = 0.0, outer_learning_rate: float = 1.0,
                 nesterov: bool = False, **options: Any) -> None:
        super().__init__()
        if period < 1 or warm_up < 0:
            raise UsageError(f"period is {period}, warm_up is {warm_up} (expected at least 1, and at least 0)")
        buckets = gradient_options(**options)
        pairs = named(parameters)
        self._keeps = [span(array, True, name) for name, array in pairs]
        structs = (GradientStruct * max(len(pairs), 1))()
        for i, ((name, _), each) in enumerate(zip(pairs, self._keeps)):
            structs[i] = GradientStruct(name.encode(), address(each), each.count, each.code, 0)
        given = LocalSgdOptionsStruct(ctypes.sizeof(LocalSgdOptionsStruct), period, warm_up, outer_momentum,
                                      outer_learning_rate, ctypes.pointer(buckets), int(nesterov), 0)
        check(library.sinew_local_sgd_create(comm._checked(), structs, len(pairs), given, self._handle))
        comm._family.add(self)

    def step(self) -> bool:
        """Called after each step of the rank's own optimiser. Averages if it is time, and returns whether it has."""
        averaged = ctypes.c_int()
        check(library.sinew_local_sgd_step(self._checked(), averaged))
        return bool(averaged.value)

    def synchronise(self) -> None:
        """Averages now. The period begins anew. Collective."""
        check(library.sinew_local_sgd_synchronise(self._checked()))

    @property
    def steps(self) -> int:
        """Steps so far."""
        return library.sinew_local_sgd_steps(self._checked())

    def add_to(self, training: TrainingState, name: str = "local_sgd") -> None:
        """Adds what it keeps to commits, under names that begin with `name`. The program adds the parameters."""
        check(library.sinew_local_sgd_add_to(self._checked(), training._checked(), name.encode()))

    def close(self) -> None:
        """Ends this rank's part. Not collective. A state that it was added to keeps what it stores."""
        super().close()
