# SPDX-License-Identifier: Apache-2.0
"""What is taken as a buffer, without a copy, and what is refused with which words."""
from __future__ import annotations

import array
import ctypes
import gc
import sys

import numpy as np
import ranks
import sinew


class Dlpack:
    """An object that has only __dlpack__, as tensors of torch have."""

    def __init__(self, data, device=1):
        self.data = data
        self.device = device
        self.exports = 0

    def __dlpack__(self, stream=None):
        self.exports += 1
        return self.data.__dlpack__()

    def __dlpack_device__(self):
        return (self.device, 0)


def test_array_of_the_standard_library(comm):
    n = comm.size
    for code in "bBhHiIlLqQfd":
        data = array.array(code, [1, 2, 3])
        assert comm.allreduce(data) is data
        assert list(data) == [n, 2 * n, 3 * n], code


def test_bytes(comm):
    data = bytearray(b"\x01\x02")
    comm.allreduce(data, "max")
    assert data == b"\x01\x02"
    whole = bytearray(3 * comm.size)
    comm.allgather(b"abc", out=whole)  # bytes are only read
    assert whole == b"abc" * comm.size
    with ranks.raises(ValueError, "array is read-only"):
        comm.allreduce(b"abc")


def test_ctypes_and_memoryview(comm):
    cells = (ctypes.c_float * 4)(1, 2, 3, 4)
    comm.allreduce(cells)
    assert list(cells) == [comm.size * x for x in (1, 2, 3, 4)]
    data = np.ones(10)
    comm.allreduce(memoryview(data)[2:5])
    assert data.tolist() == [1] * 2 + [comm.size] * 3 + [1] * 5


def test_dlpack(comm):
    for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4", "c8"):
        data = np.ones((3, 4), dtype)
        tensor = Dlpack(data)
        assert comm.allreduce(tensor) is tensor
        assert (data == comm.size).all() and tensor.exports == 1, dtype
    data = np.zeros((2, comm.size))
    comm.allgather(Dlpack(np.ones(2)), out=Dlpack(data))
    assert (data == 1).all()
    with ranks.raises(TypeError, "not in the memory of the CPU (DLPack device 10)"):
        comm.allreduce(Dlpack(data, device=10))
    data[:] = 1
    comm.allreduce(Dlpack(data, device=3))  # memory of the host that CUDA has pinned
    assert (data == comm.size).all()
    with ranks.raises(ValueError, "not contiguous"):
        comm.allreduce(Dlpack(np.zeros((4, 4))[:, ::2]))
    gc.collect()
    references = sys.getrefcount(data)
    comm.allreduce(Dlpack(data))
    assert sys.getrefcount(data) == references


def test_torch(comm):
    try:
        import torch
    except ImportError:
        if comm.rank == 0:
            print("torch is not installed: its tensors were not tried")
        return
    tensor = torch.ones(3, 5)
    comm.allreduce(tensor)
    assert bool((tensor == comm.size).all())
    half = torch.ones(3, dtype=torch.bfloat16)
    comm.allreduce(half)
    assert bool((half == comm.size).all())


def test_booleans_and_structures(comm):
    n, r = comm.size, comm.rank
    flags = np.array([r == 0, True])
    comm.allreduce(flags, "logical_or")
    assert flags.tolist() == [True, True] and flags.dtype == bool
    with ranks.raises(TypeError, "sum is not defined on bool"):
        comm.allreduce(flags, "sum")
    point = np.dtype([("x", "f4"), ("n", "i8"), ("tag", "u1")])
    data = np.zeros(2, point)
    data["n"] = r
    comm.broadcast(data, root=n - 1)
    assert (data["n"] == n - 1).all()
    with ranks.raises(sinew.UsageError, "not defined on opaque"):
        comm.allreduce(data)


def test_refused_arrays(comm):
    data = np.ones((4, 4))
    for bad in (data[:, 1], data[::2], np.asfortranarray(np.ones((2, 3))), memoryview(data)[::2]):
        with ranks.raises(ValueError, "array is not contiguous"):
            comm.allreduce(bad)
    read_only = np.ones(3)
    read_only.flags.writeable = False
    for call in (comm.allreduce, comm.broadcast, comm.recv):
        with ranks.raises(ValueError, "array is read-only"):
            call(read_only)
    with ranks.raises(ValueError, "out is read-only"):
        comm.allreduce(np.ones(3), out=read_only)
    comm.allreduce(read_only, out=np.empty(3))
    for bad, words in ((np.ones(2, ">f4"), "byte order"), (np.array(["a"]), "dtype <U1"),
                       (np.array([object()]), "dtype object"), (np.zeros(1, "M8[s]"), "dtype datetime64[s]"),
                       (np.zeros(1, np.longdouble), "dtype float128"), (3.5, "is a float"), ([1, 2], "is a list"),
                       (None, "is a NoneType")):
        with ranks.raises(TypeError, words):
            comm.allreduce(bad)
    with ranks.raises(TypeError, "array has elements of float64, but out of float32"):
        comm.allreduce(np.ones(2), out=np.ones(2, "f4"))
    with ranks.raises(TypeError, "array has elements of float32, but out of complex64"):
        comm.allgather(np.ones(2, "f4"), out=np.ones(2 * comm.size, "c8"))


def test_refused_arguments(comm):
    n = comm.size
    data = np.ones(2 * n)
    with ranks.raises(sinew.UsageError, "no operation 'summ'", "logical_and"):
        comm.allreduce(data, "summ")
    with ranks.raises(TypeError, "op is a int"):
        comm.allreduce(data, 3)
    with ranks.raises(sinew.UsageError, "timeout is 0"):
        comm.allreduce(data, timeout=0)
    with ranks.raises(sinew.UsageError, "rings"):
        comm.allreduce(data, algorithm="rings")
    with ranks.raises(sinew.UsageError, f"{n + 1} counts for {n} ranks"):
        comm.allgatherv(data, [1] * (n + 1))
    with ranks.raises(sinew.UsageError, "below 0"):
        comm.allgatherv(data, [-1] * n)
    with ranks.raises(sinew.UsageError, "root 77"):
        comm.broadcast(data, root=77)
    with ranks.raises(sinew.UsageError, "color is -2"):
        comm.split(-2)
    with ranks.raises(sinew.UsageError, "has 3 elements"):
        comm.allreduce(np.ones(2), out=np.ones(3))
    with ranks.raises(sinew.UsageError, "elements, needs"):
        comm.allgather(np.ones(2), out=np.ones(2 * n + 1))
    with ranks.raises(sinew.UsageError, "in a world already"):
        sinew.World()
    operation = sinew.Op.create(lambda a, b: a, "f8")
    with ranks.raises(sinew.UsageError, "only blocking calls"):
        comm.iallreduce(data, operation)
    assert comm.allreduce_value(1) == n  # the communicator is still usable


ranks.run(globals())
