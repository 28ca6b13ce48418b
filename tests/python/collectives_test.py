# SPDX-License-Identifier: Apache-2.0
"""Every collective, blocking and non-blocking, in place and not, against numpy."""
from __future__ import annotations

import numpy as np
import ranks
import sinew


def whole(comm: sinew.Communicator, per_rank: int) -> np.ndarray:
    """What allgather gives of `part`."""
    return np.concatenate([part_of(r, per_rank) for r in range(comm.size)])


def part_of(rank: int, count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) + 1000 * rank


def both(comm: sinew.Communicator, name: str, expected: np.ndarray | None, *arguments, out=None, data=None, **options):
    """Calls a collective, and its non-blocking form; `data` is copied for each call, and `out` written."""
    for form in (name, "i" + name):
        array = None if data is None else data.copy()
        to = None if out is None else np.full_like(out, -7)
        result = getattr(comm, form)(array, *arguments, **({} if out is None else {"out": to}), **options)
        if form != name:
            result.wait()
            result = to if to is not None else array
        if expected is not None:
            np.testing.assert_array_equal(np.ravel(result)[: expected.size], expected.ravel(), err_msg=form)
        if to is not None and array is not None and data is not None:
            np.testing.assert_array_equal(array, data, err_msg=form + " wrote to its input")


def test_allreduce_of_every_type(comm):
    n = comm.size
    for dtype in "f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8".split():
        data = (np.arange(33) % 3 + comm.rank).astype(dtype)
        expected = (np.arange(33) % 3 * n + n * (n - 1) // 2).astype(dtype)
        both(comm, "allreduce", expected, data=data)
        both(comm, "allreduce", expected, data=data, out=data)


def test_allreduce_of_every_operation(comm):
    r, n = comm.rank, comm.size
    values = [np.arange(5) * (k + 1) % 7 for k in range(n)]
    mine = values[r]
    reduce = np.ufunc.reduce
    for name, function in (("sum", np.add), ("prod", np.multiply), ("min", np.minimum), ("max", np.maximum),
                           ("bit_and", np.bitwise_and), ("bit_or", np.bitwise_or), ("bit_xor", np.bitwise_xor)):
        both(comm, "allreduce", reduce(function, values), name, data=mine)
    for name, function in () if n == 1 else (("logical_and", np.logical_and), ("logical_or", np.logical_or)):
        both(comm, "allreduce", reduce(function, values).astype(np.int64), name, data=mine)
    both(comm, "allreduce", np.mean(values, axis=0), "average", data=mine.astype("f8"))
    both(comm, "allreduce", np.maximum.reduce(values), sinew.MAX, data=mine)


def test_shapes_and_counts(comm):
    n = comm.size
    for shape in ((), (0,), (1,), (3, 0, 2), (2, 3, 4), (100_003,)):
        data = np.ones(shape, "f4")
        both(comm, "allreduce", np.full(shape, n, "f4"), data=data)
        result = comm.allreduce(data)
        assert result is data and result.shape == shape


def test_reduce_scatter(comm):
    r, n = comm.rank, comm.size
    data = whole(comm, 4)
    expected = n * part_of(r, 4)
    both(comm, "reduce_scatter_block", expected, data=data)
    both(comm, "reduce_scatter_block", expected, data=data, out=np.empty(4, np.int64))
    counts = [k + 1 for k in range(n)]
    data = np.arange(sum(counts), dtype="f8")
    begin = sum(counts[:r])
    expected = n * data[begin: begin + counts[r]]
    both(comm, "reduce_scatter", expected, counts, data=data)
    both(comm, "reduce_scatter", expected, counts, data=data, out=np.empty(counts[r]))
    offsets = [sum(counts) - sum(counts[: k + 1]) for k in range(n)]  # from the end
    expected = n * data[offsets[r]: offsets[r] + counts[r]]
    both(comm, "reduce_scatter", expected, counts, data=data, out=np.empty(counts[r]), offsets=offsets)


def test_allgather(comm):
    r, n = comm.rank, comm.size
    expected = whole(comm, 3)
    both(comm, "allgather", expected, data=part_of(r, 3), out=np.empty(3 * n, np.int64))
    mine = np.zeros_like(expected)
    mine[3 * r: 3 * r + 3] = part_of(r, 3)
    both(comm, "allgather", expected, data=mine)
    counts = [k for k in range(n)]  # rank 0 has none
    expected = np.concatenate([part_of(k, k) for k in range(n)])
    both(comm, "allgatherv", expected, counts, data=part_of(r, r), out=np.empty(sum(counts), np.int64))


def test_broadcast(comm):
    for root in range(comm.size):
        expected = np.arange(10) * (root + 1)
        both(comm, "broadcast", expected, root, data=np.arange(10) * (comm.rank + 1))


def test_reduce(comm):
    r, n = comm.rank, comm.size
    for root in range(n):
        at_root = r == root
        expected = np.arange(6) * n if at_root else None
        both(comm, "reduce", expected, data=np.arange(6), root=root)
        both(comm, "reduce", expected, data=np.arange(6), root=root, out=np.empty(6, np.int64))
        read_only = np.arange(6)
        read_only.flags.writeable = at_root
        result = comm.reduce(read_only, root=root)
        assert (result is read_only) if at_root else (result is None)


def test_gather_and_scatter(comm):
    r, n = comm.rank, comm.size
    for root in range(n):
        at_root = r == root
        all_parts = whole(comm, 2)
        both(comm, "gather", all_parts if at_root else None, data=part_of(r, 2), root=root,
             out=np.empty(2 * n, np.int64) if at_root else None)
        both(comm, "scatter", part_of(r, 2), data=all_parts if at_root else None, root=root, out=np.empty(2, np.int64))
        in_place = all_parts.copy() if at_root else part_of(r, 2)
        both(comm, "gather", all_parts if at_root else None, data=in_place, root=root)
        part = comm.scatter(all_parts.copy() if at_root else np.empty(2, np.int64), root=root)
        if not at_root:
            np.testing.assert_array_equal(part, part_of(r, 2))
        counts = [k + 1 for k in range(n)]
        uneven = np.concatenate([part_of(k, k + 1) for k in range(n)])
        both(comm, "gatherv", uneven if at_root else None, counts if at_root else None, data=part_of(r, r + 1),
             root=root, out=np.empty(sum(counts), np.int64) if at_root else None)
        both(comm, "scatterv", part_of(r, r + 1), counts if at_root else None, data=uneven if at_root else None,
             root=root, out=np.empty(r + 1, np.int64))


def test_alltoall(comm):
    r, n = comm.rank, comm.size
    data = np.arange(n) + 100 * r
    expected = 100 * np.arange(n) + r
    both(comm, "alltoall", expected, data=data)
    both(comm, "alltoall", expected, data=data, out=np.empty(n, np.int64))
    # Rank r sends k + 1 elements to rank k.
    data = np.repeat(data, np.arange(n) + 1)
    both(comm, "alltoallv", np.repeat(expected, r + 1), [r + 1] * n, data=data, out=np.empty(n * (r + 1), np.int64),
         sent_counts=[k + 1 for k in range(n)])


def test_scan(comm):
    r = comm.rank
    both(comm, "scan", np.full(3, r * (r + 1) // 2), data=np.full(3, r))
    both(comm, "scan", np.full(3, r * (r + 1) // 2), data=np.full(3, r), out=np.empty(3, np.int64))
    both(comm, "exscan", np.full(3, r * (r - 1) // 2) if r else np.full(3, 0), data=np.full(3, r))


def test_barrier_and_values(comm):
    n = comm.size
    comm.barrier()
    comm.ibarrier().wait()
    assert comm.allreduce_value(2) == 2 * n and isinstance(comm.allreduce_value(2), int)
    assert comm.allreduce_value(0.5, "max") == 0.5


def test_options(comm):
    data = np.ones(64, "f4")
    comm.allreduce(data, algorithm="ring" if comm.size > 1 else None, timeout=60)
    np.testing.assert_array_equal(data, comm.size)
    assert comm.algorithm_for("allreduce", data) in comm.explain("allreduce")


def test_functions_of_python(comm):
    r, n = comm.rank, comm.size
    longest = sinew.Op.create(lambda a, b: np.where(np.abs(a) >= np.abs(b), a, b), "f8", name="longest")
    data = np.array([r - n, 1.0 * r])
    np.testing.assert_array_equal(comm.allreduce(data, longest), [-n, n - 1])
    pair = np.dtype([("mean", "f8"), ("weight", "i8")])

    def merge(a, b):
        both = np.empty_like(a)
        both["weight"] = a["weight"] + b["weight"]
        both["mean"] = (a["mean"] * a["weight"] + b["mean"] * b["weight"]) / both["weight"]
        return both

    mean = sinew.Op.create(merge, pair, commutative=False)
    data = np.array([(r, 1)], pair)
    comm.allreduce(data, mean)
    assert data["weight"][0] == n and abs(data["mean"][0] - (n - 1) / 2) < 1e-12
    if n == 1:
        return
    copy = comm.dup()
    broken = sinew.Op.create(lambda a, b: 1 / 0, "f8", name="broken")
    try:
        copy.allreduce(np.ones(1), broken)
        raise AssertionError("the function raised, but the call did not")
    except sinew.CallbackError as error:
        assert isinstance(error.__cause__, ZeroDivisionError) and "broken" in str(error)
    except sinew.PeerLost:
        pass  # another rank called it


def test_shared_memory(comm):
    array = comm.allocate((5, 7), "f8")
    assert array.shape == (5, 7) and not array.any() and array.ctypes.data % 4096 == 0
    array[:] = 1
    view = array[1:3]
    comm.allreduce(array)
    del array
    np.testing.assert_array_equal(view, comm.size)
    assert comm.allocate(0).size == 0
    with ranks.raises(MemoryError):
        comm.allocate(2**60, "u1")
    with ranks.raises(TypeError, "Python objects"):
        comm.allocate(2, object)


def test_communicators(comm):
    r, n = comm.rank, comm.size
    half = comm.split(r % 2, key=-r)
    assert half.size == (n + 1 - r % 2) // 2 and half.rank == half.size - 1 - r // 2
    assert half.allreduce_value(1) == half.size
    half.close()
    with ranks.raises(sinew.UsageError, "closed"):
        half.allreduce(np.ones(1))
    alone = comm.split(0 if r == 0 else None)
    assert (alone is not None) == (r == 0)
    copy = comm.dup()
    assert (copy.rank, copy.size) == (r, n)
    node = comm.split_node()
    assert node.size == comm.local_size and node.rank == comm.local_rank
    assert comm.nodes == comm.node_of(n - 1) + 1 and comm.host_of(0)
    with ranks.raises(sinew.UsageError, "rank 99"):
        comm.host_of(99)


ranks.run(globals())
