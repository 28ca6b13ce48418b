# SPDX-License-Identifier: Apache-2.0
"""The communicator of sinew for Python: MPI's collective operations on arrays, without copies.

    import numpy, sinew

    with sinew.World() as world:
        comm = world.communicator
        gradient = numpy.full(1_000_000, comm.rank, dtype=numpy.float32)
        comm.allreduce(gradient, "average")

`sinew.GradientBuckets` averages gradients while the backward pass computes, `sinew.TrainingState` stores checkpoints;
`sinew.ShardedOptimizer` divides an optimiser among the ranks, and `sinew.LocalSgd` averages parameters now and then.

Started by `sinew run -n 4 python3 train.py`, mpirun or srun; alone it is a world of one rank.

Buffers are numpy arrays, tensors of torch, and any other object with the buffer protocol (array.array, bytearray,
memoryview), `__dlpack__` or `__cuda_array_interface__`, also in the memory of a GPU. Errors are subclasses of `sinew.Error`.
The names of mpi4py (`Allreduce`, `Bcast`, ...) are aliases.
"""
from . import _library
from ._errors import (BackendError, CallbackError, Error, NotFinite, PeerLost, SystemError, Timeout, Unavailable,
                      UsageError)
from ._gradients import BucketTiming, BucketTuning, GradientBuckets
from ._library import LibraryNotFound
from ._local_sgd import LocalSgd
from ._mpi_names import (BAND, BOR, BXOR, BYTE, COMPLEX, Communicator, DOUBLE, DOUBLE_COMPLEX, FLOAT, IN_PLACE,
                         INT, INT8_T, INT16_T, INT32_T, INT64_T, LAND, LONG, LOR, LXOR, MAX, MIN, PROD, SUM,
                         UINT8_T, UINT16_T, UINT32_T, UINT64_T, UNDEFINED)
from ._operations import Op
from ._optimizer import Adam, DeviceSgd, Sgd, ShardedOptimizer
from ._persistent import PersistentRequest
from ._request import ANY_SOURCE, Received, Request
from ._state import TrainingState
from ._tensors import GradientStep
from ._world import World

__version__ = _library.version()

__all__ = [
    "ANY_SOURCE", "Adam", "BAND", "BOR", "BXOR", "BYTE", "BackendError", "BucketTiming", "BucketTuning", "COMPLEX",
    "CallbackError", "Communicator", "DOUBLE", "DOUBLE_COMPLEX", "DeviceSgd", "Error", "FLOAT", "GradientBuckets",
    "GradientStep", "INT", "INT16_T", "INT32_T", "INT64_T", "INT8_T", "IN_PLACE", "LAND", "LONG", "LOR", "LXOR",
    "LibraryNotFound", "LocalSgd", "MAX", "MIN", "NotFinite", "Op", "PROD", "PeerLost", "PersistentRequest",
    "Received", "Request", "SUM", "Sgd", "ShardedOptimizer", "SystemError", "Timeout", "TrainingState", "UINT16_T",
    "UINT32_T", "UINT64_T", "UINT8_T", "UNDEFINED", "Unavailable", "UsageError", "World",
]
