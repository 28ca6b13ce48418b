# SPDX-License-Identifier: Apache-2.0
"""Allreduce of numpy arrays through python/sinew, beside loops in C++ and C without an interpreter, and mpi4py.

All are called in one process, on the same arrays of f32, in turns. A round times one block of calls of each, in
reverse order every other round; the ranks meet before each block, and the slowest rank's time counts. `more` is the
median over the rounds of the module's time less the other's, `ratio` that of the other's time divided by the module's
(above 1: the module is faster)."""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python_allreduce", description=__doc__.split("\n\n")[0])
    parser.add_argument("--sizes", default="8,1K,64K,1M,64M", help="bytes of an array (8,1K,64K,1M,64M)")
    parser.add_argument("--rounds", type=int, default=21, help="rounds of each size (21)")
    parser.add_argument("--block-ms", type=float, default=2, help="time of a block of calls, at least one call (2)")
    parser.add_argument("--mpi-thread", default="single", choices=("single", "multiple"),
                        help="thread level at which mpi4py initializes MPI (single)")
    parser.add_argument("--json", help="file for the results")
    return parser.parse_args()


def contestants(comm: Any, mpi: Any, loops: Any, data: np.ndarray,
                out: np.ndarray) -> dict[str, Callable[[int], float]]:
    """For each contestant a function that makes a number of calls and returns their seconds."""
    from sinew._library import library

    def python(call: Callable[[], Any]) -> Callable[[int], float]:
        def timed(calls: int) -> float:
            turns = range(calls)
            began = time.perf_counter()
            for _ in turns:
                call()
            return time.perf_counter() - began
        return timed

    count = data.size
    addresses = data.ctypes.data, out.ctypes.data
    world = mpi.COMM_WORLD
    found = {
        "sinew (Python)": python(lambda: comm.allreduce(data, "sum", out)),
        "sinew, MPI's name": python(lambda: comm.Allreduce(data, out)),
        "C": lambda calls: loops.loop_c(library.sinew_allreduce, comm._handle, *addresses, count, calls),
        "mpi4py": python(lambda: world.Allreduce(data, out)),
    }
    if loops.has_cpp:
        found["C++"] = lambda calls: loops.loop_cpp(*addresses, count, calls)
    return found


def measure(comm: Any, each: dict[str, Callable[[int], float]], rounds: int, block: float) -> dict[str, list[float]]:
    """Microseconds per call, of the slowest rank, by round."""
    calls = {}
    for name, timed in each.items():
        comm.barrier()
        seconds = min(timed(5) / 5 for _ in range(3))
        calls[name] = max(1, int(comm.allreduce_value(int(block / max(seconds, 1e-8)), "min")))
    times = np.zeros((rounds, len(each)))
    for turn in range(rounds):
        order = list(enumerate(each.items()))
        for i, (name, timed) in order if turn % 2 else reversed(order):
            comm.barrier()
            timed(max(1, calls[name] // 4))  # uncounted
            comm.barrier()
            times[turn, i] = timed(calls[name]) / calls[name] * 1e6
    comm.allreduce(times, "max")
    return {name: times[:, i].tolist() for i, name in enumerate(each)}


def main() -> int:
    options = parse()
    import mpi4py
    mpi4py.rc.thread_level = options.mpi_thread
    from mpi4py import MPI
    import sinew

    loops: Any = ctypes.CDLL(os.environ["SINEW_ALLREDUCE_LOOPS"])
    loops.loop_cpp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    loops.loop_c.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *loops.loop_cpp.argtypes]
    loops.loop_cpp.restype = loops.loop_c.restype = ctypes.c_double
    results = []
    with sinew.World() as world:
        comm = world.communicator
        if MPI.COMM_WORLD.size != comm.size:
            raise sinew.Unavailable("MPI has another number of ranks than this job. Start it by ./dev bench "
                                    "python_allreduce")
        loops.has_cpp = loops.loop_open()
        if comm.rank == 0:
            print(f"{comm.size} ranks on {comm.nodes} node(s), numpy {np.__version__}, mpi4py {mpi4py.__version__}, "
                  f"MPI_THREAD_{options.mpi_thread.upper()}; median us per call of the slowest rank; more, ratio: "
                  "see --help")
        for bytes_ in map(size, options.sizes.split(",")):
            data, out = np.full(bytes_ // 4, comm.rank + 1, np.float32), np.zeros(bytes_ // 4, np.float32)
            each = contestants(comm, MPI, loops, data, out)
            for name, timed in each.items():
                out[:] = 0
                if timed(1) < 0 or not (out == comm.size * (comm.size + 1) / 2).all():
                    raise sinew.Error(f"{name}: the sum of {bytes_} bytes is wrong")
            times = measure(comm, each, options.rounds, options.block_ms / 1e3)
            ours = times["sinew (Python)"]
            for name, theirs in times.items():
                row = {"bytes": bytes_, "contestant": name, "us": statistics.median(theirs),
                       "more_us": statistics.median(a - b for a, b in zip(ours, theirs)),
                       "ratio": statistics.median(b / a for a, b in zip(ours, theirs))}
                results.append(row)
                if comm.rank == 0:
                    print(f"{bytes_:>10} B  {name:<18} {row['us']:>11.2f} us   more {row['more_us']:>9.2f} us   "
                          f"ratio {row['ratio']:.3f}", flush=True)
        if options.json and comm.rank == 0:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({"ranks": comm.size, "mpi_thread": options.mpi_thread, "rounds": options.rounds,
                           "results": results}, file, indent=1)
        loops.loop_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
