# SPDX-License-Identifier: Apache-2.0
"""Optimisers whose state is divided among the ranks."""
from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ._buffers import span
from ._call import check
from ._communicator import BasicCommunicator
from ._errors import UsageError
from ._handle import OwnedHandle
from ._library import GradientStepStruct, OptimizerRuleStruct, ParameterStruct, library
from ._state import TrainingState
from ._tensors import GradientStep, address, averaged, gradient_options, index_of, indices, named


class Sgd(NamedTuple):
    """Stochastic gradient descent, as torch.optim.SGD computes it."""

    learning_rate: float = 1e-2
    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def _struct(self) -> OptimizerRuleStruct:
        return OptimizerRuleStruct(ctypes.sizeof(OptimizerRuleStruct), 0, int(self.nesterov), 0, 0,
                                   self.learning_rate, self.weight_decay, self.momentum)


class Adam(NamedTuple):
    """Adam, or AdamW if weight decay is decoupled, as torch.optim computes them."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = True

    def _struct(self) -> OptimizerRuleStruct:
        return OptimizerRuleStruct(ctypes.sizeof(OptimizerRuleStruct), 1, 0, int(self.decoupled), 0,
                                   self.learning_rate, self.weight_decay, 0.0, self.beta1, self.beta2, self.epsilon)


class ShardedOptimizer(OwnedHandle):
    """An optimiser whose state is divided among the ranks (stage 1 of ZeRO): each updates its part of the parameters.

        optimizer = sinew.ShardedOptimizer(comm, {"weights": (weights, gradient)}, sinew.Adam(learning_rate=1e-3))
        optimizer.broadcast_parameters()
        for batch in batches:
            gradient[:] = ...
            optimizer.ready("weights")
            optimizer.step()             # all ranks have the new weights

    `parameters` is a mapping of names to pairs (array, gradient) of float16, bfloat16 or float32, or a sequence of pairs
    (name, pair). `rule` is sinew.Sgd or sinew.Adam. The options are those of sinew.GradientBuckets, and so are errors and
    rules for threads. Raises UsageError on all ranks, naming the rank and the tensor, if the ranks differ in what they do.
    """

    _destroy = library.sinew_optimizer_destroy
    _closed = "this optimiser is closed"

    def __init__(self, comm: BasicCommunicator,
                 parameters: Mapping[str, tuple[Any, Any]] | Iterable[tuple[str, tuple[Any, Any]]], rule: Sgd | Adam,
                 **options: Any) -> None:
        super().__init__()
        given = gradient_options(**options)
        pairs = named(parameters)
        self._index = indices(name for name, _ in pairs)
        structs = (ParameterStruct * max(len(pairs), 1))()
        for i, (name, (array, gradient)) in enumerate(pairs):
            elements, slopes = span(array, True, name), span(gradient, True, f"the gradient of {name}")
            if (elements.count, elements.code) != (slopes.count, slopes.code):
                raise UsageError(f"{name!r} has {elements.count} elements, and its gradient {slopes.count}, or they are "
                                 "of different types (expected equal ones)")
            self._keeps += [elements, slopes]
            structs[i] = ParameterStruct(name.encode(), address(elements), address(slopes), elements.count,
                                         elements.code)
        check(library.sinew_optimizer_create(comm._checked(), structs, len(pairs), rule._struct(), given,
                                             self._handle))
        comm._family.add(self)

    def __len__(self) -> int:
        """The number of tensors."""
        return len(self._index)

    def ready(self, tensor: str | int) -> None:
        """Says that the gradient of a tensor has been computed in this step. Any thread may call it."""
        check(library.sinew_optimizer_ready(self._checked(), index_of(tensor, self._index)))

    def step(self) -> GradientStep:
        """Returns when all parameters have been updated, on all ranks alike."""
        step = GradientStepStruct()
        check(library.sinew_optimizer_step(self._checked(), step))
        return GradientStep(step.active_ranks, step.norm)

    def set_learning_rate(self, rate: float) -> None:
        """Sets the learning rate from the next step on. Equal on all ranks; not collective."""
        check(library.sinew_optimizer_set_learning_rate(self._checked(), rate))

    def broadcast_parameters(self, root: int = 0) -> None:
        """Copies the root's parameters to all ranks."""
        check(library.sinew_optimizer_broadcast_parameters(self._checked(), root))

    def average(self, metrics: Sequence[float]) -> list[float]:
        """Numbers averaged over the ranks that have not joined."""
        return averaged("sinew_optimizer_average", self._checked(), metrics)

    def join(self) -> int:
        """For a rank that has no more data: takes part in the steps of the others until all have called it. Returns a
        rank that has seen all steps."""
        last = ctypes.c_int()
        check(library.sinew_optimizer_join(self._checked(), last))
        return last.value

    @property
    def state_elements(self) -> int:
        """How many floats this rank keeps."""
        return library.sinew_optimizer_state_elements(self._checked())

    def add_to(self, training: TrainingState, name: str = "optimizer") -> None:
        """Adds what this rank keeps to commits. Parameters are added by the program, as shared arrays."""
        check(library.sinew_optimizer_add_to(self._checked(), training._checked(), name.encode()))

    def close(self) -> None:
        """Ends this rank's part. Not collective. A state that it was added to keeps what it stores."""
        super().close()
