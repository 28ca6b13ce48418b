# SPDX-License-Identifier: Apache-2.0
"""Calls on arrays in the memory of a (fake) GPU: what is taken and refused, and that they keep the order of streams."""
from __future__ import annotations

import gc
import os
import signal
import threading
import time

import fake_gpu
import numpy as np
import ranks
import sinew
from fake_gpu import InterfaceArray, OldTensor, Stream, Tensor
from sinew import _cuda

KINDS = (Tensor, OldTensor, InterfaceArray)


def use(comm):
    fake_gpu.use_device(comm.rank)


def later(array, value, stream, seconds=0.1):
    """Gives a stream work that takes its time, and then computes the array."""
    def work():
        time.sleep(seconds)
        array.shadow()[...] = value

    array.current = stream
    fake_gpu.enqueue(stream, work)


def test_collectives(comm):
    use(comm)
    n, r = comm.size, comm.rank
    total = n * (n - 1) // 2
    for kind in KINDS:
        for dtype in ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "c8"):
            array = kind(np.full((3, 5), r), dtype)
            assert comm.allreduce(array) is array
            assert (array.values() == total).all(), (kind, dtype)
        out = kind(np.zeros(5, "f4"))
        assert comm.allreduce(kind(np.full(5, r, "f4")), "max", out) is out
        assert (out.values() == n - 1).all()
        whole = kind(np.zeros((n, 2), "i4"))
        comm.allgather(kind([r, r + 1], "i4"), whole)
        assert whole.values().tolist() == [[each, each + 1] for each in range(n)]
        array = kind(np.full(4, r, "f4"))
        comm.broadcast(array, n - 1)
        assert (array.values() == n - 1).all()
        array = kind(np.full(4, r, "f4"))
        assert comm.reduce(array, "sum", root=0) is (array if r == 0 else None)
        assert r != 0 or (array.values() == total).all()
        got = kind(np.zeros(n, "i8")) if r == 0 else None
        comm.gather(kind([r], "i8"), got)
        assert r != 0 or got.values().tolist() == list(range(n))
        part = kind(np.zeros(1, "i8"))
        comm.scatter(got, part)
        assert part.values()[0] == r
        out = kind(np.zeros(n, "i4"))
        comm.alltoall(kind(np.arange(n) * 10 + r, "i4"), out)
        assert out.values().tolist() == [10 * r + each for each in range(n)]
        out = kind(np.zeros(2, "f4"))
        comm.reduce_scatter_block(kind(np.full(2 * n, r, "f4")), "average", out)
        assert (out.values() == total / n).all()
        array = kind([r + 1], "f8")
        comm.scan(array)
        assert array.values()[0] == (r + 1) * (r + 2) / 2
    assert fake_gpu.exports() == 0
    comm.barrier()
    assert comm.algorithm_for("allreduce", Tensor(np.ones(10, "f4")))


def test_bfloat16(comm):
    use(comm)
    array = Tensor((np.full(3, comm.rank + 1, "f4").view("u4") >> 16).astype("u2"))
    array.bfloat16 = True
    comm.allreduce(array, "max")
    assert ((array.values().astype("u4") << 16).view("f4") == comm.size).all()


def test_parts_may_be_empty(comm):
    """Of a rank without elements nobody could tell where they are: the array says so."""
    use(comm)
    n, r = comm.size, comm.rank
    counts = [2 * each for each in range(n)]
    for kind in KINDS:
        out = kind(np.zeros(sum(counts), "f4"))
        comm.allgatherv(kind(np.full(counts[r], r, "f4")), counts, out)
        assert out.values().tolist() == [each for each in range(n) for _ in range(counts[each])]
        part = kind(np.zeros(counts[r], "f4"))
        comm.scatterv(out if r == 0 else None, counts, part)
        assert (part.values() == r).all()


def test_a_call_comes_after_what_was_enqueued(comm):
    """Also on a stream of the program's own, and the result is there when the call returns."""
    use(comm)
    stream = Stream()
    for on in (fake_gpu.DEFAULT_STREAM, stream):
        for kind in KINDS:
            array, out = kind(np.zeros(1000, "f4")), kind(np.zeros(1000, "f4"))
            later(array, comm.rank + 1, on)
            comm.allreduce(array, "max", out)
            assert (out.values() == comm.size).all(), (on, kind)
            later(array, comm.rank, on)
            request = comm.iallreduce(array, "max")
            request.wait()
            assert (array.values() == comm.size - 1).all(), (on, kind)


def test_two_streams_before_a_call(comm):
    use(comm)
    first, second = Stream(), Stream()
    array, out = InterfaceArray(np.zeros(10, "f4")), InterfaceArray(np.zeros(10, "f4"))
    later(array, comm.rank, first, 0.05)
    later(out, 77, second, 0.15)
    comm.allreduce(array, "max", out)
    assert (out.values() == comm.size - 1).all()


def test_streams(comm):
    """A call on a stream returns at once, and has its place among the stream's work."""
    use(comm)
    comm.allreduce(Tensor(np.zeros(1, "f4")))  # the ranks agree on the way
    stream, other = Stream(), Stream()
    through_host = comm_passes_host()
    for kind in KINDS:
        for given in (stream, stream.cuda_stream, Handle(stream), Protocol(stream), ProtocolOfOld(stream)):
            array, copy = kind(np.zeros(100, "f4")), np.zeros(100, "f4")
            later(array, comm.rank + 1, stream)
            start = time.monotonic()
            assert comm.allreduce(array, "max", stream=given) is array
            assert through_host or time.monotonic() - start < 0.09
            fake_gpu.enqueue(stream, lambda: copy.__setitem__(slice(None), array.values()))
            fake_gpu.synchronise(stream)
            assert (copy == comm.size).all(), (kind, given)
    for kind in KINDS:  # the work is on another stream than the call
        array = kind(np.zeros(100, "f4"))
        later(array, comm.rank + 1, other)
        comm.allreduce(array, "max", stream=stream)
        fake_gpu.synchronise(stream)
        assert (array.values() == comm.size).all(), kind
    array = Tensor(np.zeros(100, "f4"))
    later(array, comm.rank + 1, fake_gpu.DEFAULT_STREAM)
    comm.allreduce(array, "max", stream=0)  # as torch names the default stream
    fake_gpu.synchronise(fake_gpu.DEFAULT_STREAM)
    assert (array.values() == comm.size).all() and array.exported_on == [1]
    array = Tensor(np.zeros(100, "f4"))
    later(array, comm.rank + 1, stream)
    request = comm.iallreduce(array, "max", stream=stream)
    request.wait()
    assert (array.values() == comm.size).all()


def comm_passes_host():
    import os

    return os.environ.get("SINEW_NCCL") == "0"


class Handle:
    """A stream as CuPy's."""

    def __init__(self, stream):
        self.ptr = stream.cuda_stream


class Protocol:
    def __init__(self, stream):
        self.handle = stream.cuda_stream

    def __cuda_stream__(self):
        return 0, self.handle


class ProtocolOfOld:
    def __init__(self, stream):
        self.__cuda_stream__ = 0, stream.cuda_stream


def test_requests_keep_their_tensors(comm):
    use(comm)
    array = Tensor(np.full(100_000, 1, "f4"))
    request = comm.iallreduce(array)
    del array
    gc.collect()
    assert fake_gpu.exports() == 1
    request.wait()
    gc.collect()
    assert fake_gpu.exports() == 0
    comm.iallreduce(Tensor(np.ones(1000, "f4")))  # dropped altogether: it waits
    gc.collect()
    assert fake_gpu.exports() == 0


def test_messages(comm):
    use(comm)
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    stream = Stream()
    for kind in KINDS:
        sent, got = kind(np.zeros(10, "f4")), kind(np.zeros(20, "f4"))
        later(sent, comm.rank, stream)
        assert comm.sendrecv(sent, after, got, before) == (before, 0, 10)
        assert got.values().tolist() == [before] * 10 + [0] * 10
        later(sent, comm.rank + 5, stream)
        request = comm.irecv(got, before, 3)
        comm.isend(sent, after, 3).wait()
        assert request.wait() == (before, 3, 10)
        assert (got.values()[:10] == before + 5).all()
        host = np.zeros(10, "f4")  # from a GPU to the host, and both at once
        comm.sendrecv(sent, after, host, before)
        assert (host == before + 5).all()
        later(sent, comm.rank + 7, stream)
        equal = kind(np.zeros(10, "f4"))
        comm.sendrecv(sent, after, equal, before, stream=stream)
        fake_gpu.synchronise(stream)
        assert (equal.values() == before + 7).all()
    with ranks.raises(sinew.UsageError, "a stream is given, but an array is in the memory of the host"):
        comm.send(np.ones(3), after, stream=stream)


class stuck:
    """`with stuck(stream):` gives a stream work that does not end in the block."""

    def __init__(self, stream):
        self.stream = stream
        self.released = threading.Event()

    def __enter__(self):
        fake_gpu.enqueue(self.stream, lambda: self.released.wait(60))

    def __exit__(self, *_error):
        self.released.set()
        fake_gpu.synchronise(self.stream)


def test_waiting_for_a_stream(comm):
    use(comm)
    stream = Stream()
    for on in (stream.cuda_stream, fake_gpu.DEFAULT_STREAM):
        _cuda.wait_for_stream(on)  # has nothing to do
        done = []
        fake_gpu.enqueue(on, lambda: (time.sleep(0.1), done.append(on)))
        _cuda.wait_for_stream(on)
        assert done == [on]
    with ranks.raises(sinew.Error, "cuStreamQuery of stream 0xdead: CUDA error 1"):
        _cuda.wait_for_stream(0xdead)


def test_a_stuck_stream_is_named(comm):
    use(comm)
    stream, usual = Stream(), _cuda.WAIT_SECONDS
    _cuda.WAIT_SECONDS = 0.2
    try:
        start = time.monotonic()
        with stuck(stream), ranks.raises(sinew.Error, f"stream {stream.cuda_stream:#x} has not done its work after 0.",
                                         "a kernel that does not end"):
            _cuda.wait_for_stream(stream.cuda_stream)
        assert time.monotonic() - start >= 0.2
    finally:
        _cuda.WAIT_SECONDS = usual
    _cuda.wait_for_stream(stream.cuda_stream)


def test_an_interrupt_ends_the_wait_for_a_stream(comm):
    use(comm)
    stream = Stream()
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background may ignore it
    try:
        with stuck(stream), ranks.raises(KeyboardInterrupt):
            threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
            _cuda.wait_for_stream(stream.cuda_stream)
    finally:
        signal.signal(signal.SIGINT, usual)


def test_without_a_driver(comm):
    usual = _cuda._LIBRARY
    _cuda._LIBRARY = "libcuda-of-nobody.so.1"
    _cuda._driver.cache_clear()
    try:
        with ranks.raises(sinew.Unavailable, "the NVIDIA driver cannot be loaded", "libcuda-of-nobody.so.1"):
            _cuda.wait_for_stream(fake_gpu.DEFAULT_STREAM)
    finally:
        _cuda._LIBRARY = usual
    _cuda.wait_for_stream(fake_gpu.DEFAULT_STREAM)
    assert _cuda._driver() is _cuda._driver()


def test_operations_of_the_program(comm):
    use(comm)
    larger = sinew.Op.create(lambda a, b: np.maximum(a, b), "f4")
    array = Tensor(np.full(10, comm.rank, "f4"))
    comm.allreduce(array, larger)
    assert (array.values() == comm.size - 1).all()


def test_names_of_mpi4py(comm):
    use(comm)
    array, out = Tensor(np.full(10, comm.rank, "f4")), Tensor(np.zeros(10, "f4"))
    comm.Allreduce(array, out, op=sinew.MAX)
    assert (out.values() == comm.size - 1).all()
    comm.Allreduce(sinew.IN_PLACE, [array, 10, sinew.FLOAT], op=sinew.MAX)
    assert (array.values() == comm.size - 1).all()
    with ranks.raises(TypeError, "bytes and parts"):
        comm.Bcast([array, 5])
    with ranks.raises(TypeError, "bytes and parts"):
        comm.Bcast([array, sinew.BYTE])


def test_refused(comm):
    """In Python, before the other ranks are asked: the communicator stays usable."""
    use(comm)
    stream = Stream()
    for kind in KINDS:
        array, host = kind(np.ones((2, 4), "f4")), np.ones((2, 4), "f4")
        with ranks.raises(ValueError, f"array is in the memory of GPU {comm.rank}, but out in the memory of the host"):
            comm.allreduce(array, out=host)
        with ranks.raises(ValueError, "array is in the memory of the host, but out in the memory of GPU"):
            comm.allreduce(host, out=array)
        with ranks.raises(TypeError, "array has elements of float32, but out of int32"):
            comm.allreduce(array, out=kind(np.zeros((2, 4), "i4")))
        with ranks.raises(TypeError, "array is not in the memory of the CPU (DLPack device 2)"):
            comm.persistent("allreduce", array)
        with ranks.raises(TypeError, "w is not in the memory of the CPU (DLPack device 2)"):
            sinew.ShardedOptimizer(comm, {"w": (array, array)}, sinew.Sgd())
        step = 1 if kind is not InterfaceArray else 4
        array.strides = (8 * step, 2 * step)
        with ranks.raises(ValueError, "array is not contiguous in memory"):
            comm.allreduce(array)
        array.strides = (4 * step, step)
        comm.allreduce(array)
        if kind is OldTensor:  # that protocol could not say so
            continue
        array.read_only = True
        with ranks.raises(ValueError, "array is read-only"):
            comm.allreduce(array)
        comm.allreduce(array, out=kind(np.zeros((2, 4), "f4")))
    with ranks.raises(sinew.UsageError, "a stream is given, but an array is in the memory of the host"):
        comm.allreduce(np.ones(3), stream=stream)
    with ranks.raises(TypeError, "stream is a str", "__cuda_stream__"):
        comm.allreduce(np.ones(3), stream="main")
    masked, strange = InterfaceArray([1], "f4"), InterfaceArray(["a"], "U1")
    masked.mask = [True]
    with ranks.raises(TypeError, "array has a mask"):
        comm.allreduce(masked)
    with ranks.raises(TypeError, "array has elements that cannot be sent (typestr '<U1')"):
        comm.allreduce(strange)
    zero = InterfaceArray([1], "f4")
    zero.current = 0
    zero_interface = type("Zero", (), {"__cuda_array_interface__": {**zero.__cuda_array_interface__, "stream": 0}})()
    with ranks.raises(ValueError, "names stream 0"):
        comm.allreduce(zero_interface)
    other = Tensor([1], "f4")
    other.device = 10
    with ranks.raises(TypeError, "array is not in the memory of the CPU (DLPack device 10)"):
        comm.allreduce(other)
    gc.collect()
    assert fake_gpu.exports() == 0


def with_kernels(make):
    """Makes an object that needs kernels; None if the library was built without."""
    fake_gpu.use_kernels()
    try:
        return make()
    except sinew.Unavailable as error:
        print(f"not tried: {error}")
        return None


def test_buckets(comm):
    use(comm)
    stream = Stream()
    for kind in KINDS:
        for options in ({}, {"stream": stream}, {"wire": "bf16", "stream": stream.cuda_stream}, {"wire": "int8"}):
            names = ("weights", "bias")
            tensors = {"weights": kind(np.zeros((40, 10), "f4")), "bias": kind(np.zeros(7, "f4"))}
            copies = {name: np.zeros(each.shape, "f4") for name, each in tensors.items()}
            buckets = with_kernels(lambda: sinew.GradientBuckets(comm, tensors, bucket_bytes=512, **options))
            if buckets is None:
                return
            reference = sinew.GradientBuckets(comm, copies, bucket_bytes=512, wire=options.get("wire", "native"))
            for turn in range(3):
                for name in names:
                    copies[name][...] = np.random.default_rng([comm.rank, turn, len(name)]).random(copies[name].shape)
                    # Of the default stream, or the one that was named: `ready` does not wait for it.
                    later(tensors[name], copies[name].copy(), options.get("stream", fake_gpu.DEFAULT_STREAM), 0.02)
                threads = [threading.Thread(target=buckets.ready, args=[name]) for name in names]
                for each in threads:
                    each.start()
                for each in threads:
                    each.join()
                assert buckets.finish().active_ranks == comm.size
                for name in names:
                    reference.ready(name)
                reference.finish()
                for name in names:
                    got = tensors[name].values()
                    if options.get("wire") == "bf16" and os.environ.get("SINEW_NCCL") == "1":
                        # NCCL rounds after each rank, the host once.
                        assert np.allclose(got, copies[name], rtol=0.02), (kind, options, turn, name)
                    else:
                        assert got.tobytes() == copies[name].tobytes(), (kind, options, turn, name)
            parameters = [kind(np.full(5, comm.rank, "f4")), np.full(3, comm.rank, "f4")]
            buckets.broadcast_parameters(parameters, comm.size - 1)
            assert (parameters[0].values() == comm.size - 1).all() and (parameters[1] == comm.size - 1).all()
            buckets.close()
    with ranks.raises(sinew.UsageError, "no tensor is in the memory of a GPU"):
        sinew.GradientBuckets(comm, [np.ones(3, "f4")], stream=stream)


def test_device_sgd(comm):
    use(comm)
    weights, gradient = Tensor(np.ones((5, 4), "f4")), Tensor(np.zeros((5, 4), "f4"))
    rule = sinew.Sgd(learning_rate=0.5, momentum=0.5)
    optimizer = with_kernels(lambda: sinew.DeviceSgd(comm, {"weights": (weights, gradient)}, rule))
    if optimizer is None:
        return
    expected, velocity = np.ones((5, 4), "f4"), 0
    for turn in range(3):
        later(gradient, comm.rank + turn, fake_gpu.DEFAULT_STREAM, 0.02)
        optimizer.ready("weights")
        assert optimizer.step().active_ranks == comm.size
        velocity = np.float32(0.5 * velocity + (comm.size - 1) / 2 + turn)
        expected -= np.float32(0.5) * velocity
        assert np.allclose(weights.values(), expected)
    assert len(optimizer) == 1 and optimizer.average([comm.rank]) == [(comm.size - 1) / 2]
    optimizer.set_learning_rate(0.25)
    assert 0 <= optimizer.join() < comm.size
    optimizer.close()
    with ranks.raises(sinew.UsageError, "closed"):
        optimizer.step()
    with ranks.raises(sinew.UsageError, "Adam"):
        sinew.DeviceSgd(comm, {"weights": (weights, gradient)}, sinew.Adam())


ranks.run(globals())
