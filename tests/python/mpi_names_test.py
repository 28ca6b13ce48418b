# SPDX-License-Identifier: Apache-2.0
"""The names of mpi4py, with its ways to describe buffers. Beside mpi4py where that is installed and MPI
carries the job: both give the same arrays."""
from __future__ import annotations

import numpy as np
import ranks
import sinew


def calls(comm, mpi) -> list[np.ndarray]:
    """The calls of a program of mpi4py; `mpi` is sinew or mpi4py.MPI."""
    r, n = comm.Get_rank(), comm.Get_size()
    results = []

    def keep(*arrays):
        results.extend(np.array(a, copy=True) for a in arrays)

    mine, out = np.arange(6.0) + r, np.zeros(6)
    comm.Allreduce(mine, out, op=mpi.SUM)
    keep(out)
    comm.Allreduce(mpi.IN_PLACE, out, op=mpi.MAX)
    comm.Allreduce([mine, mpi.DOUBLE], [out, 6, mpi.DOUBLE])
    keep(out)
    comm.Reduce(mine, out if r == 0 else None, op=mpi.PROD, root=0)
    comm.Reduce(mpi.IN_PLACE if r == n - 1 else mine, mine if r == n - 1 else None, root=n - 1)
    keep(out, mine)
    mine = np.arange(6.0) + r
    comm.Bcast(mine, root=n - 1)
    keep(mine)
    comm.Bcast([mine, 3, mpi.DOUBLE], 0)
    keep(mine)
    part, whole = np.array([r, 10 * r], dtype=np.int64), np.zeros(2 * n, dtype=np.int64)
    comm.Allgather(part, whole)
    keep(whole)
    comm.Allgather(mpi.IN_PLACE, whole)
    comm.Gather(part, whole if r == 0 else None, root=0)
    keep(whole)
    comm.Scatter(whole if r == 0 else None, part, root=0)
    keep(part)
    counts = [k + 1 for k in range(n)]
    offsets = [sum(counts[:k]) for k in range(n)]
    uneven, total = np.full(r + 1, r, dtype=np.float32), np.zeros(sum(counts), dtype=np.float32)
    comm.Allgatherv(uneven, [total, counts, offsets, mpi.FLOAT])
    keep(total)
    comm.Allgatherv(uneven, [total, (counts, offsets)])
    comm.Gatherv(uneven, [total, counts, offsets, mpi.FLOAT] if r == 0 else None, root=0)
    comm.Scatterv([total, counts, offsets, mpi.FLOAT] if r == 0 else None, uneven, root=0)
    keep(total, uneven)
    ring = np.arange(n, dtype=np.int32) + 100 * r
    got = np.zeros(n, dtype=np.int32)
    comm.Alltoall(ring, got)
    keep(got)
    comm.Alltoallv([ring, ([1] * n, list(range(n))), mpi.INT], [got, ([1] * n, list(range(n))), mpi.INT])
    keep(got)
    parts, own = np.arange(2.0 * n) + r, np.zeros(2)
    comm.Reduce_scatter_block(parts, own, op=mpi.SUM)
    keep(own)
    comm.Reduce_scatter(parts, own, [2] * n, op=mpi.SUM)
    comm.Scan(own, out[:2])
    keep(own, out)
    comm.Exscan(own, out[:2])
    keep(out if r > 0 else own)
    after, before = (r + 1) % n, (r - 1) % n
    request = comm.Irecv(got, source=before, tag=2)
    comm.Send(ring, dest=after, tag=2)
    request.Wait()
    keep(got)
    request = comm.Isend(part, dest=after, tag=3)
    comm.Recv(whole[:2], source=before, tag=3)
    request.Wait()
    comm.Sendrecv(ring, after, 0, got, before, 0)
    keep(whole[:2], got)
    requests = [comm.Iallreduce(mpi.IN_PLACE, out), comm.Ibcast(parts, root=0), comm.Ibarrier(),
                comm.Iallgather(part, whole)]
    for each in requests:
        each.Wait()
    keep(out, parts, whole)
    half = comm.Split(color=r % 2, key=r)
    half.Allreduce(mpi.IN_PLACE, out)
    half.Free()
    assert comm.Split(mpi.UNDEFINED) in (None, getattr(mpi, "COMM_NULL", None))
    copy = comm.Dup()
    copy.Barrier()
    copy.Free()
    keep(out)
    return results


def test_as_mpi4py(comm):
    ours = calls(comm, sinew)
    assert ours[0].tolist() == [comm.size * (i + (comm.size - 1) / 2) for i in range(6)]
    try:
        from mpi4py import MPI
    except ImportError:
        print("mpi4py is not installed (Debian: python3-mpi4py): its results were not compared")
        return
    if MPI.COMM_WORLD.size != comm.size:
        if comm.rank == 0:
            print("this job is not carried by mpi4py's MPI: its results were not compared")
        return
    theirs = calls(MPI.COMM_WORLD, MPI)
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        np.testing.assert_array_equal(a, b, err_msg=f"result {i}")


def test_what_is_refused(comm):
    data = np.ones(4, np.float32)
    with ranks.raises(TypeError, "sinew.DOUBLE"):
        comm.Allreduce(sinew.IN_PLACE, [data, sinew.DOUBLE])
    with ranks.raises(ValueError, "4 elements, fewer than 5"):
        comm.Bcast([data, 5, sinew.FLOAT])
    with ranks.raises(sinew.UsageError, "names no counts"):
        comm.Allgatherv(data, np.ones(4 * comm.size, np.float32))
    with ranks.raises(TypeError, "'f'"):
        comm.Bcast([data, "f"])
    with ranks.raises(sinew.UsageError, "sendtag is 1"):
        comm.Sendrecv(data, 0, 1, data, 0, 2)
    comm.Bcast([data, sinew.BYTE])


ranks.run(globals())
