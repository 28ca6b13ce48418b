# SPDX-License-Identifier: Apache-2.0
"""Messages, non-blocking calls, and signals while one waits."""
from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import ranks
import sinew


def ring(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def test_messages(comm):
    after, before = ring(comm)
    got = np.zeros(5)
    assert comm.sendrecv(np.full(3, comm.rank), after, np.zeros(3, np.int64), before) == (before, 0, 3)
    request = comm.irecv(got, before, 3)
    comm.send(np.full(4, float(comm.rank)), after, 3)
    assert request.wait() == sinew.Received(before, 3, 4)
    assert got.tolist() == [before] * 4 + [0]
    sent = comm.isend(np.ones(2), after, tag=4)
    assert comm.recv(got, tag=4).source == before
    sent.wait()
    with ranks.raises(sinew.UsageError, "tag -1"):
        comm.send(got, 0, -1)
    assert comm.max_tag >= 32764


def test_requests_keep_their_buffers(comm):
    """The arrays of a request are not freed before it has completed, though the program has dropped them."""
    class Array(np.ndarray):
        pass

    out = np.zeros(100_000).view(Array)
    out[:] = 1
    dropped = weakref.ref(out)
    request = comm.iallreduce(out)
    del out
    gc.collect()
    assert dropped() is not None
    request.wait()
    gc.collect()
    assert dropped() is None
    comm.iallreduce(np.ones(1000))  # dropped altogether: it waits, and nothing is left behind
    gc.collect()
    assert comm.allreduce_value(1) == comm.size


def test_many_at_once(comm):
    arrays = [np.full(i, comm.rank + 1.0) for i in range(1, 30)]
    requests = [comm.iallreduce(a) for a in arrays]
    requests.append(comm.ibarrier())
    sinew.Request.Waitall(requests)
    for each in arrays:
        assert (each == comm.size * (comm.size + 1) / 2).all()
    assert all(request.test() and request.wait_for(0) for request in requests)


def test_test_and_wait_for(comm):
    after, before = ring(comm)
    got = np.zeros(1)
    request = comm.irecv(got, before)
    assert not request.test() and not request.wait_for(0.01)
    comm.barrier()  # nobody sends before all have looked
    comm.send(np.ones(1), after)
    while not request.wait_for(0.05):
        pass
    assert request.wait() == (before, 0, 1) and got[0] == 1
    request = comm.irecv(got, before, 9)
    assert request.cancel() and not request.cancel() and request.test()


def test_threads_run_while_a_call_waits(comm):
    """A call releases the interpreter lock: a thread counts while all but rank 0 wait for it."""
    counted = []

    def count():
        for _ in range(20):
            time.sleep(0.005)
            counted.append(1)
        if comm.rank == 0:
            ready.set()

    ready = threading.Event()
    thread = threading.Thread(target=count)
    thread.start()
    if comm.rank == 0:
        ready.wait()
    comm.barrier()
    thread.join()
    assert len(counted) == 20


def test_signals_end_a_wait_for_a_request(comm):
    """A handler runs during the wait. If it raises, the wait ends, and the request goes on."""
    after, before = ring(comm)
    got = np.zeros(1)
    request = comm.irecv(got, before, 11)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with ranks.raises(KeyboardInterrupt):
        request.wait()
    assert time.monotonic() - began < 30
    timer.join()
    comm.barrier()  # nobody sends before all were interrupted
    comm.send(np.full(1, 5.0), after, 11)
    received = request.wait()
    assert received == (before, 11, 1), received
    assert got[0] == 5, got


def test_handlers_that_do_not_raise_end_nothing(comm):
    after, before = ring(comm)
    seen = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
    got = np.zeros(1)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    request = comm.irecv(got, before, 12)
    timer.start()

    def send():  # the other thread has its own communicator, so that this one's is used by one
        time.sleep(0.6)
        copy.send(np.ones(1), after, 12)

    copy = comm.dup()
    other = copy.irecv(np.zeros(1), before, 12)
    thread = threading.Thread(target=send)
    thread.start()
    other.wait()
    ended = time.monotonic()
    thread.join()
    timer.join()
    assert seen and seen[0] < ended
    comm.send(np.ones(1), after, 12)
    request.wait()
    signal.signal(signal.SIGUSR1, previous)


ranks.run(globals())
