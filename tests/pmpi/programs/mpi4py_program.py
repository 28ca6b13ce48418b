# SPDX-License-Identifier: Apache-2.0
"""Python loads MPI late and keeps its names to itself. Prints "right" on rank 0."""
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()

array = bytearray(range(8))
comm.Bcast([array, MPI.BYTE], root=0)
values = memoryview(bytearray(8 * 1000)).cast("d")
for i in range(1000):
    values[i] = rank + i
sums = memoryview(bytearray(8 * 1000)).cast("d")
comm.Allreduce([values, MPI.DOUBLE], [sums, MPI.DOUBLE], op=MPI.SUM)
right = all(sums[i] == ranks * (ranks - 1) // 2 + ranks * i for i in range(1000))
# Objects travel pickled: their sizes by one collective, their bytes by another.
right = right and comm.allgather({"rank": rank}) == [{"rank": r} for r in range(ranks)]
right = right and comm.bcast("x" * 100000 if rank == 0 else None) == "x" * 100000
right = right and comm.alltoall([(rank, r) for r in range(ranks)]) == [(r, rank) for r in range(ranks)]
right = right and comm.allreduce(rank, op=MPI.MAX) == ranks - 1
half = comm.Split(rank % 2, rank)
right = right and half.allreduce(1) == half.Get_size()
half.Free()
requests = [comm.Iallreduce([values[:4], MPI.DOUBLE], [sums[:4], MPI.DOUBLE]), comm.Ibcast([array, MPI.BYTE], root=0)]
MPI.Request.Waitall(requests)
right = right and list(sums[:4]) == [ranks * (ranks - 1) // 2 + ranks * i for i in range(4)]
comm.Ibarrier().Wait()
comm.Barrier()
if comm.reduce(right, op=MPI.LAND, root=0) and rank == 0:
    print("right")
