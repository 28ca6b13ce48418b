# SPDX-License-Identifier: Apache-2.0
"""Gradient buckets, optimisers, checkpoints and persistent calls."""
from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading

import numpy as np
import ranks
import sinew


def mean(comm):
    return (comm.size - 1) / 2


def test_persistent(comm):
    part, total = np.zeros(3), np.zeros(3)
    gathered = np.zeros(comm.size, np.int32)
    both = [comm.persistent("allreduce", part, "sum", total),
            comm.persistent("allgather", np.full(1, comm.rank, np.int32), out=gathered)]
    for turn in range(1, 4):
        part[:] = comm.rank * turn
        for each in both:
            each.start()
        with ranks.raises(sinew.UsageError, "in progress"):
            both[0].start()
        both[1].wait()
        while not both[0].test():
            pass
        assert (total == turn * comm.size * mean(comm)).all() and gathered.tolist() == list(range(comm.size))
    assert both[0].wait_for(0)
    barrier = comm.persistent("barrier")
    barrier.start()
    barrier.wait()
    data = np.full(2, comm.rank)
    root = comm.persistent("broadcast", data, root=comm.size - 1)
    root.start()
    root.wait()
    assert data[1] == comm.size - 1
    with ranks.raises(sinew.UsageError, "there is no collective 'sum'"):
        comm.persistent("sum", data)
    root.close()
    with ranks.raises(sinew.UsageError, "is NULL"):
        root.start()


def test_buckets(comm):
    weights, bias = np.zeros((10, 10), np.float32), np.zeros(1)
    buckets = sinew.GradientBuckets(comm, {"weights": weights, "bias": bias, "own": ((2, 3), "f4")},
                                    bucket_bytes=256, first_bucket_bytes=256, clip_norm=1e9)
    assert len(buckets) == 3 and buckets.buckets >= 2
    own = buckets["own"]
    for turn in range(3):
        weights[:], bias[:], own[:] = comm.rank, turn, comm.rank * turn
        threads = [threading.Thread(target=buckets.ready, args=[name]) for name in ("own", "bias", "weights")]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        step = buckets.finish()
        assert (weights == mean(comm)).all() and bias[0] == turn and (own == mean(comm) * turn).all()
        expected = np.sqrt((weights ** 2).sum() + turn ** 2 + (own ** 2).sum())
        assert step.active_ranks == comm.size and abs(step.norm - expected) < 1e-4 * (1 + expected)
    parameters = [np.full(5, comm.rank, np.float32), np.full(3, comm.rank)]
    buckets.broadcast_parameters(parameters, comm.size - 1)
    assert all((each == comm.size - 1).all() for each in parameters)
    assert buckets.average([comm.rank, 2]) == [mean(comm), 2]
    assert buckets.residuals() == b""
    with ranks.raises(sinew.UsageError, "no tensor 'other'"):
        buckets.ready("other")
    with ranks.raises(sinew.UsageError, "'weights'"):
        buckets["weights"]
    assert 0 <= buckets.join() < comm.size
    buckets.close()
    with ranks.raises(sinew.UsageError, "closed"):
        buckets.finish()
    own[:] = 7  # it outlives the buckets
    del buckets
    gc.collect()
    assert own.sum() == 42


def test_uneven_inputs(comm):
    """Ranks have different numbers of batches."""
    gradient = np.zeros(4, np.float32)
    buckets = sinew.GradientBuckets(comm, [gradient])
    for _ in range(comm.rank + 1):
        gradient[:] = 5
        buckets.ready(0)
        step = buckets.finish()
        assert gradient[0] == 5 and 1 <= step.active_ranks <= comm.size
    assert buckets.join() == comm.size - 1


def test_wire_formats(comm):
    source = np.linspace(-1, 1, 1000, dtype=np.float32)
    for wire in ("bf16", "f16", "fp8", "int8"):
        gradient = source + comm.rank
        buckets = sinew.GradientBuckets(comm, [("g", gradient)], wire=wire)
        buckets.ready("g")
        buckets.finish()
        assert abs(gradient - source - mean(comm)).max() < 0.1 * (comm.size + 1), wire
        residuals = buckets.residuals()
        assert (len(residuals) > 0) == (wire in ("fp8", "int8"))
        buckets.restore_residuals(residuals)
        assert buckets.residuals() == residuals
    with ranks.raises(sinew.UsageError, "'f8'", "int8"):
        sinew.GradientBuckets(comm, [], wire="f8")


def test_not_finite_names_the_tensor(comm):
    first, second = np.zeros(3, np.float32), np.zeros(3, np.float32)
    buckets = sinew.GradientBuckets(comm, {"first": first, "second": second}, check_finite=True)
    if comm.rank == comm.size - 1:
        second[1] = np.nan
    buckets.ready(0)
    buckets.ready(1)
    with ranks.raises(sinew.NotFinite, "second", f"rank {comm.size - 1}"):
        buckets.finish()
    buckets.ready("first")
    with ranks.raises(sinew.UsageError, "second"):  # it was not ready
        buckets.finish()


def folder_of(comm):
    """A new folder, the same on all ranks."""
    name = np.zeros(200, np.uint8)
    if comm.rank == 0:
        path = os.fsencode(tempfile.mkdtemp(prefix="sinew_python_"))
        name[:len(path)] = np.frombuffer(path, np.uint8)
    comm.broadcast(name)
    return bytes(name).rstrip(b"\0").decode()


def test_state(comm):
    folder = folder_of(comm)
    shared, own, position = np.arange(4.0), np.full(2, comm.rank, np.int32), [comm.rank + 100]
    state = sinew.TrainingState(comm, folder, copies=1)
    state.add_shared("shared", shared)
    state.add_own("own", own)
    state.add_own("position", save=lambda: str(position[0]).encode(), load=lambda text: position.append(int(text)))
    assert state.restore() is None
    state.commit(7)
    shared[:], own[:] = 0, 0
    assert state.restore() == 7
    assert shared.tolist() == [0, 1, 2, 3] and (own == comm.rank).all() and position[-1] == comm.rank + 100
    shared[:] = comm.rank
    state.sync(comm.size - 1)
    assert (shared == comm.size - 1).all()
    with ranks.raises(sinew.UsageError, "-1"):
        state.commit(-1)
    with ranks.raises(sinew.UsageError, "neither"):
        state.add_own("nothing")
    state.close()
    broken = sinew.TrainingState(comm, folder, copies=1)
    broken.add_own("broken", save=lambda: 1 // 0, load=print)
    with ranks.raises(sinew.Error, "broken") as caught:
        broken.commit(8)
    del caught
    broken.close()
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(folder)


def test_powersgd(comm):
    weights, bias = np.zeros((20, 30), np.float32), np.zeros(3, np.float32)
    buckets = sinew.GradientBuckets(comm, {"weights": weights, "bias": bias}, powersgd_rank=1)
    assert len(buckets.residuals()) == 4 * (20 * 30 + 30)
    matrix = np.outer(np.arange(1, 21), np.arange(1, 31))
    for _ in range(3):
        weights[:], bias[:] = matrix * (comm.rank + 1), comm.rank
        buckets.ready("bias")
        buckets.ready("weights")
        buckets.finish()
        assert np.allclose(weights, matrix * (comm.size + 1) / 2, rtol=1e-3) and np.allclose(bias, mean(comm))
    assert buckets.tuning.done and buckets.tuning.measured == []
    buckets.close()
    with ranks.raises(sinew.UsageError, "must be native"):
        sinew.GradientBuckets(comm, {"weights": weights}, powersgd_rank=1, wire="int8")


def test_tuned_buckets(comm):
    gradient = np.zeros(600, np.float32)
    buckets = sinew.GradientBuckets(comm, [gradient], bucket_bytes=512, tune_bucket_bytes=True)
    while not buckets.tuning.done:
        buckets.ready(0)
        buckets.finish()
    first = buckets.tuning.measured[0]
    assert first.bucket_bytes == 512 and first.seconds > 0
    assert buckets.tuning.bucket_bytes in [each.bucket_bytes for each in buckets.tuning.measured]
    buckets.close()


def folder_of_all(comm):
    name = np.zeros(128, np.uint8)
    if comm.rank == 0:
        path = tempfile.mkdtemp(prefix="sinew_python_").encode()
        name[:len(path)] = np.frombuffer(path, np.uint8)
    comm.broadcast(name)
    return name.tobytes().rstrip(b"\0").decode()


def test_sharded_optimizer(comm):
    weights, gradient = np.full(600, comm.rank, np.float32), np.zeros(600, np.float32)
    folder = folder_of_all(comm)
    optimizer = sinew.ShardedOptimizer(comm, {"weights": (weights, gradient)},
                                       sinew.Sgd(learning_rate=1.0, momentum=0.5), bucket_bytes=512)
    optimizer.broadcast_parameters(comm.size - 1)
    assert len(optimizer) == 1 and 600 <= optimizer.state_elements * comm.size
    state = sinew.TrainingState(comm, folder)
    state.add_shared("weights", weights)
    optimizer.add_to(state)
    slope, begin = (comm.size + 1) / 2, comm.size - 1

    def step():
        gradient[:] = comm.rank + 1
        optimizer.ready("weights")
        return optimizer.step()

    assert step().active_ranks == comm.size and (weights == begin - slope).all()
    state.commit(1)
    for _ in range(2):
        step()  # from the velocity that was stored
        assert (weights == begin - 2.5 * slope).all()
        assert state.restore() == 1
    optimizer.set_learning_rate(0)
    before = weights.copy()
    step()
    assert (weights == before).all()
    assert np.allclose(optimizer.average([comm.rank]), mean(comm))
    optimizer.join()
    optimizer.close()
    state.commit(2)  # of what the optimiser had
    state.close()
    with ranks.raises(sinew.UsageError, "closed"):
        optimizer.step()
    with ranks.raises(sinew.UsageError, "no tensor 'bias'"):
        sinew.ShardedOptimizer(comm, {"weights": (weights, gradient)}, sinew.Adam()).ready("bias")
    with ranks.raises(sinew.UsageError, "its gradient 3"):
        sinew.ShardedOptimizer(comm, {"weights": (weights, gradient[:3])}, sinew.Adam())
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(folder)


def test_local_sgd(comm):
    weights, bias = np.full(10, comm.rank + 3.0), np.zeros(2, np.float32)
    local = sinew.LocalSgd(comm, {"weights": weights, "bias": bias}, period=2)
    assert (weights == 3).all()
    averaged = []
    for _ in range(4):
        weights += comm.rank
        averaged.append(local.step())
    assert averaged == [False, True, False, True] and local.steps == 4
    assert np.allclose(weights, 3 + 4 * mean(comm))
    weights[0] = comm.rank
    local.synchronise()
    assert np.allclose(weights[0], mean(comm))
    local.close()
    with ranks.raises(sinew.UsageError, "period is 0"):
        sinew.LocalSgd(comm, {"weights": weights}, period=0)


ranks.run(globals())
