# SPDX-License-Identifier: Apache-2.0
"""Optimisers: one whose state is divided among the ranks, one for parameters on a GPU."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from ._buffers import span
from ._call import check
from ._communicator import BasicCommunicator
from ._elements import Span
from ._errors import UsageError
from ._exports import ANY_STREAM
from ._handle import OwnedHandle
from ._library import DeviceParameterStruct, GradientStepStruct, OptimizerRuleStruct, ParameterStruct, library
from ._state import TrainingState
from ._tensors import (GradientStep, address, averaged, computed_on_default_stream, gradient_options, index_of, indices,
                       named)


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


class _Optimizer(OwnedHandle):
    """What optimisers have in common. `_name` is that of their functions in the library."""

    _closed = "this optimiser is closed"
    _name: ClassVar[str]

    def __len__(self) -> int:
        """The number of tensors."""
        return len(self._index)

    def ready(self, tensor: str | int) -> None:
        """Says that the gradient of a tensor has been computed in this step. Any thread may call it."""
        self._call("ready", index_of(tensor, self._index))

    def step(self) -> GradientStep:
        """Returns when all parameters have been updated, on all ranks alike."""
        step = GradientStepStruct()
        self._call("step", step)
        return GradientStep(step.active_ranks, step.norm)

    def set_learning_rate(self, rate: float) -> None:
        """Sets the learning rate from the next step on. Equal on all ranks; not collective."""
        self._call("set_learning_rate", rate)

    def average(self, metrics: Sequence[float]) -> list[float]:
        """Numbers averaged over the ranks that have not joined."""
        return averaged(f"sinew_{self._name}_average", self._checked(), metrics)

    def join(self) -> int:
        """For a rank that has no more data: takes part in the steps of the others until all have called it. Returns a
        rank that has seen all steps."""
        last = ctypes.c_int()
        self._call("join", last)
        return last.value

    def add_to(self, training: TrainingState, name: str = "optimizer") -> None:
        """Adds what this rank keeps to commits. The program adds the parameters."""
        self._call("add_to", training._checked(), name.encode())

    def close(self) -> None:
        """Ends this rank's part. Not collective. A state that it was added to keeps what it stores."""
        super().close()

    def _make(self, comm: BasicCommunicator, parameters: Mapping[str, tuple[Any, Any]] | Iterable[Any],
              rule: OptimizerRuleStruct, struct_of: Callable[[str, Span, Span], Any], stream: int | None,
              options: dict[str, Any]) -> None:
        """Makes the library's object of parameters and gradients, each of which `struct_of` puts into a struct. `stream` is
        that of the arrays' export."""
        given = gradient_options(**options)
        pairs = named(parameters)
        self._index = indices(name for name, _ in pairs)
        structs = []
        for name, (array, gradient) in pairs:
            elements = span(array, True, name, stream)
            slopes = span(gradient, True, f"the gradient of {name}", stream)
            self._keeps += [elements, slopes]
            structs.append(struct_of(name, elements, slopes))
        computed_on_default_stream(given, self._keeps)
        array_of = (type(structs[0]) * len(structs))(*structs) if structs else None
        self._call_on(comm._checked(), "create", array_of, len(structs), rule, given, self._handle)
        comm._family.add(self)

    def _call(self, function: str, *arguments: Any) -> None:
        self._call_on(self._checked(), function, *arguments)

    def _call_on(self, handle: ctypes.c_void_p, function: str, *arguments: Any) -> None:
        check(getattr(library, f"sinew_{self._name}_{function}")(handle, *arguments))


class ShardedOptimizer(_Optimizer):
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
    _name = "optimizer"

    def __init__(self, comm: BasicCommunicator,
                 parameters: Mapping[str, tuple[Any, Any]] | Iterable[tuple[str, tuple[Any, Any]]], rule: Sgd | Adam,
                 **options: Any) -> None:
        super().__init__()
        self._make(comm, parameters, rule._struct(), self._struct, None, options)

    @staticmethod
    def _struct(name: str, elements: Span, gradient: Span) -> ParameterStruct:
        if (elements.count, elements.code) != (gradient.count, gradient.code):
            raise UsageError(f"{name!r} has {elements.count} elements, and its gradient {gradient.count}, or they are of "
                             "different types (expected equal ones)")
        return ParameterStruct(name.encode(), address(elements), address(gradient), elements.count, elements.code)

    def broadcast_parameters(self, root: int = 0) -> None:
        """Copies the root's parameters to all ranks."""
        self._call("broadcast_parameters", root)

    @property
    def state_elements(self) -> int:
        """How many floats this rank keeps."""
        return library.sinew_optimizer_state_elements(self._checked())


class DeviceSgd(_Optimizer):
    """SGD for parameters in the memory of a GPU: the kernel that has the sums of the gradients updates them.

        optimizer = sinew.DeviceSgd(comm, {"weights": (weights, gradient)}, sinew.Sgd(learning_rate=0.1, momentum=0.9))

    Parameters are float32, gradients float32, bfloat16 or float16, all of one GPU; a step is that of ShardedOptimizer.
    Parameters are equal on all ranks at first (`comm.broadcast`). Options, `stream` among them, are those of
    sinew.GradientBuckets, and so is what `ready` says. Raises Unavailable if the library has no kernels for the GPU.
    """

    _destroy = library.sinew_device_sgd_destroy
    _name = "device_sgd"

    def __init__(self, comm: BasicCommunicator,
                 parameters: Mapping[str, tuple[Any, Any]] | Iterable[tuple[str, tuple[Any, Any]]], rule: Sgd = Sgd(),
                 **options: Any) -> None:
        super().__init__()
        self._make(comm, parameters, rule._struct(), self._struct, ANY_STREAM, options)

    @staticmethod
    def _struct(name: str, elements: Span, gradient: Span) -> DeviceParameterStruct:
        if elements.count != gradient.count:
            raise UsageError(f"{name!r} has {elements.count} elements, and its gradient {gradient.count}")
        return DeviceParameterStruct(name.encode(), address(elements), address(gradient), elements.count, elements.code,
                                     gradient.code)
