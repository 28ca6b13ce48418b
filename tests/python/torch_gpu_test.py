# SPDX-License-Identifier: Apache-2.0
"""Calls on PyTorch's tensors in the memory of a GPU, which all ranks may share: SINEW_NCCL=0 then. Without PyTorch or a GPU
it is skipped; with SINEW_REQUIRE_GPU=1 it fails instead."""
from __future__ import annotations

import os
import statistics
import time

import ranks
import sinew

try:
    import torch
except ImportError as error:
    ranks.skip(f"PyTorch cannot be imported ({error})")
if not torch.cuda.is_available():
    ranks.skip("PyTorch finds no GPU")

GPU = f"cuda:{int(os.environ.get('SINEW_LOCAL_RANK', '0')) % torch.cuda.device_count()}"
A_WHILE = 200_000_000  # cycles of the GPU: some 0.1 s


def tensor_of(value, shape, dtype=torch.float32):
    return torch.full(shape if isinstance(shape, tuple) else (shape,), value, dtype=dtype, device=GPU)


def later(tensor, value):
    """Gives the current stream work that takes a while, and then sets the tensor."""
    torch.cuda._sleep(A_WHILE)
    tensor.fill_(value)


def all_are(tensor, value):
    return bool((tensor == value).all())


class InterfaceOf:
    """A tensor as an array that has __cuda_array_interface__ alone, and names the current stream."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.stream = torch.cuda.current_stream().cuda_stream or 1

    @property
    def __cuda_array_interface__(self):
        return {**self.tensor.__cuda_array_interface__, "version": 3, "stream": self.stream}


def test_types(comm):
    n, r = comm.size, comm.rank
    total = n * (n + 1) // 2
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int32, torch.int64,
                  torch.uint8, torch.complex64):
        for shape in ((1,), (3, 5), (1000, 333)):
            tensor = tensor_of(r + 1, shape, dtype)
            assert comm.allreduce(tensor) is tensor
            assert all_are(tensor, total), dtype
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert all_are(comm.allreduce(tensor_of(r + 1, 77, dtype), "average"), total / n), dtype
    flags = torch.tensor([r == 0, True], device=GPU)
    comm.allreduce(flags, "logical_and")
    assert flags.tolist() == [n == 1, True]


def test_collectives(comm):
    n, r = comm.size, comm.rank
    out = tensor_of(0, (n, 3))
    comm.allgather(tensor_of(r, 3), out)
    assert out.tolist() == [[each] * 3 for each in range(n)]
    assert all_are(comm.broadcast(tensor_of(r, 5), n - 1), n - 1)
    part = tensor_of(0, 4)
    comm.reduce_scatter_block(tensor_of(r, 4 * n), "max", part)
    assert all_are(part, n - 1)
    got = tensor_of(0, n, torch.int64)
    comm.alltoall(torch.arange(n, device=GPU) * 10 + r, got)
    assert got.tolist() == [10 * r + each for each in range(n)]
    counts = [2 * each for each in range(n)]  # rank 0's tensor is empty
    whole = tensor_of(9, sum(counts))
    comm.allgatherv(tensor_of(r, counts[r]), counts, whole)
    assert whole.tolist() == [each for each in range(n) for _ in range(counts[each])]
    assert comm.reduce(tensor_of(1, 3), root=0) is None or r == 0
    assert all_are(comm.scan(tensor_of(1, 3)), r + 1)


def test_long(comm):
    """Of several chunks, not all of the same length; bits as on the host."""
    for count in (1_000_003, 9_000_001):
        generator = torch.Generator().manual_seed(comm.rank)
        host = torch.rand(count, generator=generator)
        tensor = host.to(GPU)
        comm.allreduce(tensor)
        comm.allreduce(host)
        assert torch.allclose(tensor.cpu(), host, rtol=1e-6)


def test_views(comm):
    tensor = tensor_of(1, (10, 10))
    comm.allreduce(tensor[2:4])
    assert all_are(tensor[2:4], comm.size) and all_are(tensor[:2], 1) and all_are(tensor[4:], 1)
    with ranks.raises(ValueError, "array is not contiguous"):
        comm.allreduce(tensor.t())
    with ranks.raises(ValueError, "array is in the memory of GPU", "out in the memory of the host"):
        comm.allreduce(tensor, out=torch.ones(10, 10))
    with ranks.raises(Exception, "grad"):
        comm.allreduce(torch.ones(3, device=GPU, requires_grad=True))
    with ranks.raises(sinew.UsageError, "memory of the host"):
        comm.allreduce(torch.ones(3), stream=torch.cuda.current_stream())
    pinned = torch.ones(100).pin_memory()
    comm.allreduce(pinned)
    assert all_are(pinned, comm.size)


def test_follow_the_current_stream(comm):
    """The call begins after the work that the current stream has, and its result is there for all streams."""
    side, other = torch.cuda.Stream(), torch.cuda.Stream()
    for stream in (torch.cuda.default_stream(), side):
        for export in (lambda each: each, InterfaceOf):
            tensor = tensor_of(0, 100_000)
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                later(tensor, comm.rank + 1)
                comm.allreduce(export(tensor), "max")
            with torch.cuda.stream(other):
                assert all_are(tensor, comm.size), (stream, export)


def test_non_blocking(comm):
    side = torch.cuda.Stream()
    tensors = [tensor_of(0, 50_000) for _ in range(3)]
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for i, each in enumerate(tensors):
            later(each, comm.rank + i)
    with torch.cuda.stream(side):
        start = time.monotonic()
        requests = [comm.iallreduce(each, "max") for each in tensors]
        took = time.monotonic() - start
    assert took < 0.2, f"iallreduce waited for the GPU: {took:.3f} s"
    for request in requests:
        request.wait()
    for i, each in enumerate(tensors):
        assert all_are(each, comm.size - 1 + i)
    dropped = comm.iallreduce(tensor_of(1, 1_000_000))
    del dropped  # it keeps its tensor, and waits
    torch.cuda.synchronize()


def test_in_the_order_of_a_stream(comm):
    side = torch.cuda.Stream()
    for stream in (side, side.cuda_stream, torch.cuda.default_stream(), 0):
        on = side if stream is side or stream == side.cuda_stream else torch.cuda.default_stream()
        tensor, double = tensor_of(0, 100_000), tensor_of(0, 100_000)
        torch.cuda.synchronize()
        with torch.cuda.stream(on):
            later(tensor, comm.rank + 1)
            comm.allreduce(tensor, "max", stream=stream)
            torch.mul(tensor, 2, out=double)
        on.synchronize()
        assert all_are(double, 2 * comm.size), stream
    tensor = tensor_of(0, 1000)
    torch.cuda.synchronize()
    later(tensor, comm.rank + 1)  # by the default stream: the export lets `side` wait for it
    comm.allreduce(tensor, "max", stream=side)
    side.synchronize()
    assert all_are(tensor, comm.size)
    tensor = tensor_of(0, 1000)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        later(tensor, comm.rank + 1)
    request = comm.iallreduce(tensor, "max", stream=side)
    request.wait()
    assert all_are(tensor, comm.size)


def test_messages(comm):
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sent, got = tensor_of(0, 1000), tensor_of(0, 1000)
    later(sent, comm.rank)
    assert comm.sendrecv(sent, after, got, before) == (before, 0, 1000)
    assert all_are(got, before)
    request = comm.irecv(got, before, 1)
    comm.isend(tensor_of(comm.rank + 7, 1000), after, 1).wait()
    request.wait()
    assert all_are(got, before + 7)
    host = torch.zeros(1000)
    comm.sendrecv(sent, after, host, before)
    assert all_are(host, before)


def model_and_batch(comm, device):
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(33, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)
    for each in model.parameters():
        each.grad = torch.zeros_like(each)
    batches = torch.rand(4, 16, 33, generator=torch.Generator().manual_seed(comm.rank)).to(device)
    return model, batches


def backward(model, batch):
    model.zero_grad(set_to_none=False)
    (model(batch) ** 2).mean().backward()


def needs_kernels(make):
    """Makes an object that needs sinew's kernels; None if the library was built without them."""
    try:
        return make()
    except sinew.Unavailable as error:
        if ranks.requires_gpu():
            raise
        print(f"not tried: {error}")
        return None


def test_buckets(comm):
    """Gradients of a model on the GPU: averages have the bits of those of the host, and are near those of a model on
    the host."""
    for options in ({}, {"wire": "bf16"}, {"wire": "int8"}, {"clip_norm": 0.01}, {"op": "sum"}):
        for stream in (None, torch.cuda.Stream()):
            model, batches = model_and_batch(comm, GPU)
            on_host, host_batches = model_and_batch(comm, "cpu")
            torch.cuda.synchronize()
            named = dict(model.named_parameters())
            grads = {name: each.grad for name, each in named.items()}
            buckets = needs_kernels(lambda: sinew.GradientBuckets(comm, grads, bucket_bytes=4096, stream=stream, **options))
            if buckets is None:
                return
            buckets.broadcast_parameters([each.detach() for each in named.values()])
            copies = {name: torch.zeros(each.shape) for name, each in grads.items()}
            reference = sinew.GradientBuckets(comm, copies, bucket_bytes=4096, **options)
            averages = {name: each.grad for name, each in on_host.named_parameters()}
            alone = sinew.GradientBuckets(comm, averages, **options)
            with torch.cuda.stream(stream or torch.cuda.default_stream()):
                for batch, host_batch in zip(batches, host_batches):
                    torch.cuda._sleep(A_WHILE // 10)
                    backward(model, batch)
                    computed = {name: each.clone() for name, each in grads.items()}
                    for name in reversed(list(grads)):
                        buckets.ready(name)
                    buckets.finish()
                    for name, each in computed.items():
                        copies[name].copy_(each)
                        reference.ready(name)
                    reference.finish()
                    for name, each in grads.items():
                        assert torch.equal(each.cpu(), copies[name]), (options, name)
                    backward(on_host, host_batch)
                    for name in averages:
                        alone.ready(name)
                    alone.finish()
                    if "wire" not in options:
                        for name, each in grads.items():
                            assert torch.allclose(each.cpu(), averages[name], rtol=1e-3, atol=1e-5), (options, name)
            for each in (buckets, reference, alone):
                each.close()


def test_buckets_in_hooks(comm):
    """`ready` is called by the thread of the backward pass, as soon as a gradient has been enqueued."""
    model, batches = model_and_batch(comm, GPU)
    grads = {name: each.grad for name, each in model.named_parameters()}
    buckets = needs_kernels(lambda: sinew.GradientBuckets(comm, grads, bucket_bytes=4096))
    if buckets is None:
        return
    for batch in batches:
        backward(model, batch)
        expected = {name: comm.allreduce(each.clone(), "average") for name, each in grads.items()}
        hooks = [each.register_post_accumulate_grad_hook(lambda _parameter, name=name: buckets.ready(name))
                 for name, each in model.named_parameters()]
        backward(model, batch)
        assert buckets.finish().active_ranks == comm.size
        for each in hooks:
            each.remove()
        for name, each in grads.items():
            assert torch.allclose(each, expected[name], rtol=1e-5, atol=1e-7), name


def test_device_sgd(comm):
    """The same parameters as torch.optim.SGD on averaged gradients."""
    model, batches = model_and_batch(comm, GPU)
    twin, _ = model_and_batch(comm, GPU)
    pairs = {name: (each.detach(), each.grad) for name, each in model.named_parameters()}
    rule = sinew.Sgd(learning_rate=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
    optimizer = needs_kernels(lambda: sinew.DeviceSgd(comm, pairs, rule))
    if optimizer is None:
        return
    reference = torch.optim.SGD(twin.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
    for batch in batches:
        backward(model, batch)
        for name in pairs:
            optimizer.ready(name)
        optimizer.step()
        backward(twin, batch)
        for each in twin.parameters():
            comm.allreduce(each.grad, "average")
        reference.step()
        for one, other in zip(model.parameters(), twin.parameters()):
            assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)
    optimizer.close()


def test_speed(comm):
    """Prints what calls cost, for whoever reads the output; checks nothing."""
    lines = []
    for count in (2, 262_144, 16_777_216):
        tensor, times = tensor_of(1.0, count), []
        for _ in range(20):
            torch.cuda.synchronize()
            comm.barrier()
            start = time.perf_counter()
            comm.allreduce(tensor, "average")
            times.append(time.perf_counter() - start)
        lines.append(f"{4 * count} bytes: {statistics.median(times) * 1e6:.0f} us")
    if comm.rank == 0:
        print(f"allreduce of float32 on {torch.cuda.get_device_name(GPU)}, {comm.size} ranks: " + ", ".join(lines))


torch.cuda.set_device(GPU)
ranks.run(globals(), needs_numpy=False)
