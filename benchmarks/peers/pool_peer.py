#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `bench/pool` compares with: pool_peer.py multiprocessing|mpi4py|dask.

Reads lines "case workers size", runs the case once and prints the seconds it took, or
"error: why". Ends, with all it started, when its input does. mpi4py is to be started under
mpirun -n WORKERS+1 python3 -m mpi4py.futures.
"""
import collections
import sys
import time

BLOCK = 65536
BLOCKS_AT_ONCE = 256  # 16 MiB of arguments


def noop(x):
    return x


def nap(seconds):
    time.sleep(seconds)
    return 0


def drain(results):
    collections.deque(results, maxlen=0)


def put_messages(orders, messages):
    while (count := orders.get()) > 0:
        for _ in range(count):
            messages.put("MESSAGE_")


def echo(connection):
    while True:
        message = connection.recv()
        if message is None:
            return
        connection.send(message)


class Multiprocessing:
    def __init__(self, workers):
        import multiprocessing
        self.library = multiprocessing
        self.pool = multiprocessing.Pool(workers)
        self.child = None

    def map(self, function, items):
        return self.pool.map(function, items)  # chunks of n/(4 workers), its default

    def single(self, function, items):
        drain(self.pool.imap_unordered(function, items, chunksize=1))

    def submit(self, function, item):
        return self.pool.apply_async(function, (item,))

    def result(self, handle):
        return handle.get()

    def apply(self, function, item):
        return self.pool.apply(function, (item,))

    def queue(self, count):
        if self.child is None:
            self.orders = self.library.SimpleQueue()
            self.messages = self.library.SimpleQueue()
            self.child = self.library.Process(
                target=put_messages, args=(self.orders, self.messages), daemon=True)
            self.child.start()
        begin = time.perf_counter()
        self.orders.put(count)
        for _ in range(count):
            self.messages.get()
        return time.perf_counter() - begin

    def pipe(self, count):
        if self.child is None:
            self.end, other = self.library.Pipe()
            self.child = self.library.Process(target=echo, args=(other,), daemon=True)
            self.child.start()
        begin = time.perf_counter()
        for _ in range(count):
            self.end.send("MESSAGE_")
            self.end.recv()
        return time.perf_counter() - begin

    def close(self):
        if self.child is not None:
            self.child.kill()
            self.child.join()
        self.pool.close()
        self.pool.join()


class Mpi4py:
    def __init__(self, workers):
        from mpi4py import MPI
        from mpi4py.futures import MPIPoolExecutor
        self.workers = MPI.COMM_WORLD.Get_size() - 1
        if self.workers != workers:
            raise ValueError(f"started with {self.workers} workers, asked for {workers}")
        self.pool = MPIPoolExecutor()

    def map(self, function, items):
        # Its default is one task per message; with multiprocessing's chunks it is far better.
        chunk = max(1, len(items) // (4 * self.workers))
        return list(self.pool.map(function, items, chunksize=chunk))

    def single(self, function, items):
        drain(self.pool.map(function, items, chunksize=1, unordered=True))

    def submit(self, function, item):
        return self.pool.submit(function, item)

    def result(self, handle):
        return handle.result()

    def apply(self, function, item):
        return self.pool.submit(function, item).result()

    def close(self):
        self.pool.shutdown()


class Dask:
    def __init__(self, workers):
        from distributed import Client, LocalCluster
        self.cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True,
                                    dashboard_address=None, silence_logs=50)
        self.client = Client(self.cluster)

    def map(self, function, items):
        return self.client.gather(self.client.map(function, items, pure=False))

    single = map

    def submit(self, function, item):
        return self.client.submit(function, item, pure=False)

    def result(self, handle):
        return handle.result()

    def apply(self, function, item):
        return self.submit(function, item).result()

    def close(self):
        self.client.close()
        self.cluster.close()


PEERS = {"multiprocessing": Multiprocessing, "mpi4py": Mpi4py, "dask": Dask}


def lockstep(pool, workers, size):
    for _ in range(size // workers):
        for handle in [pool.submit(nap, 0.001) for _ in range(workers)]:
            pool.result(handle)


def blocks(pool, size):
    # Objects of their own: pickle sends one object only once per chunk.
    arguments = [bytes(bytearray(BLOCK)) for _ in range(min(size, BLOCKS_AT_ONCE))]
    begin = time.perf_counter()
    for first in range(0, size, BLOCKS_AT_ONCE):
        pool.map(len, arguments[:size - first])
    return time.perf_counter() - begin


def seconds(pool, case, workers, size):
    if case == "args-64k":
        return blocks(pool, size)
    if case in ("queue", "pipe"):
        return getattr(pool, case)(size)
    naps = [0.1 if case == "skew" and i == size // 2 else 0.001 for i in range(size)]
    begin = time.perf_counter()
    if case == "noop-map":
        pool.map(noop, range(size))
    elif case == "noop-single":
        pool.single(noop, range(size))
    elif case == "apply":
        for i in range(size):
            pool.apply(noop, i)
    elif case == "fiber-lockstep":
        lockstep(pool, workers, size)
    elif case in ("fiber-batch", "sleep-1ms", "skew"):
        pool.map(nap, naps)
    else:
        raise ValueError(f"no such case ({case})")
    return time.perf_counter() - begin


def serve(make):
    pool, pool_workers = None, 0
    try:
        for line in iter(sys.stdin.readline, ""):
            case, workers, size = line.split()
            try:
                if pool_workers != int(workers):
                    if pool is not None:
                        pool.close()
                    pool, pool_workers = make(int(workers)), int(workers)
                    pool.map(noop, range(4 * pool_workers))  # all workers are up
                print(repr(seconds(pool, case, int(workers), int(size))), flush=True)
            except Exception as problem:  # told to whoever asked
                print(f"error: {type(problem).__name__}: {problem}".replace("\n", " "), flush=True)
    finally:
        if pool is not None:
            pool.close()


if __name__ == "__main__":
    serve(PEERS[sys.argv[1]])
