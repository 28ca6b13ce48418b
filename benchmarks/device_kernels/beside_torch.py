#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels for gradients beside PyTorch's own operations on the same work, on one GPU, in turns:

    beside_torch.py DEVICE_KERNELS [--elements N] [--turns N] [--json FILE]

DEVICE_KERNELS is the benchmark device_kernels. Each turn runs it, and then what PyTorch offers: the times
are medians by CUDA events. `ratio` is PyTorch's time over ours, above 1 if ours is faster. PyTorch's are
eager operations, unless `compiled` says that torch.compile made one kernel of them.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import torch

BLOCK = 128
RUNS = 20


def microseconds(work: Callable[[], object]) -> float:
    """The median time of runs on the GPU."""
    for _ in range(3):
        work()
    times = []
    for _ in range(RUNS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return statistics.median(times)


def tensors_of(memory: torch.Tensor, tensors: int) -> list[torch.Tensor]:
    each = memory.numel() // tensors // 4 * 4
    return [memory[i * each:(i + 1) * each] for i in range(tensors)]


def quantise(gradient: torch.Tensor, residual: torch.Tensor, row: torch.Tensor, scales: torch.Tensor) -> None:
    """fp8 in blocks of 128, with error feedback: what is lost is added to the next gradient."""
    wanted = (gradient + residual).view(-1, BLOCK)
    scale = wanted.abs().amax(dim=1, keepdim=True) / 448
    coded = (wanted / scale).to(torch.float8_e4m3fn)
    row.copy_(coded.view(-1))
    scales.copy_(scale.view(-1))
    residual.copy_((wanted - coded.to(torch.float32) * scale).view(-1))


def peers(elements: int, compiles: bool) -> dict[str, float]:
    """Microseconds of PyTorch's way to do each kernel's work, by the kernel's name."""
    times: dict[str, float] = {}
    source = torch.randn(elements, device="cuda")
    flat = torch.empty_like(source)
    half = torch.empty(elements, device="cuda", dtype=torch.bfloat16)
    for tensors in (1, 300, 10_000):
        parts, places, halves = tensors_of(source, tensors), tensors_of(flat, tensors), tensors_of(half, tensors)
        length = parts[0].numel() * tensors
        if tensors == 1:  # nothing to concatenate: one scaled copy
            ways = {"flatten 1 tensors, f32": lambda: torch.mul(parts[0], 0.5, out=places[0]),
                    "unflatten 1 tensors, f32": lambda: torch.mul(places[0], 0.5, out=parts[0]),
                    "flatten 1 tensors, bf16": lambda: torch.mul(parts[0], 0.5, out=halves[0]),
                    "unflatten 1 tensors, bf16": lambda: parts[0].copy_(halves[0]).mul_(0.5)}
        else:
            ways = {f"flatten {tensors} tensors, f32": lambda: torch.cat(parts, out=flat[:length]).mul_(0.5),
                    f"unflatten {tensors} tensors, f32":
                        lambda: (torch._foreach_copy_(parts, places), torch._foreach_mul_(parts, 0.5)),
                    f"flatten {tensors} tensors, bf16":
                        lambda: torch.mul(torch.cat(parts, out=flat[:length]), 0.5, out=half[:length]),
                    f"unflatten {tensors} tensors, bf16":
                        lambda: (torch._foreach_copy_(parts, halves), torch._foreach_mul_(parts, 0.5))}
        times.update((name, microseconds(way)) for name, way in ways.items())
    del flat, half
    torch.cuda.empty_cache()
    parameters = torch.randn(elements, device="cuda")
    for tensors in (1, 300, 10_000):
        gradients = tensors_of(source, tensors)
        own = [torch.nn.Parameter(part) for part in tensors_of(parameters, tensors)]
        for parameter, gradient in zip(own, gradients):
            parameter.grad = gradient
        optimizer = torch.optim.SGD(own, lr=1e-6, momentum=0.9, fused=True)
        times[f"sgd {tensors} tensors, f32"] = microseconds(optimizer.step)
        bucket = tensors_of(source.to(torch.bfloat16), tensors)
        times[f"sgd {tensors} tensors, bf16"] = microseconds(
            lambda: (torch._foreach_copy_(gradients, bucket), torch._foreach_mul_(gradients, 0.5), optimizer.step()))
        del own, optimizer, bucket, gradients
        torch.cuda.empty_cache()
    result = torch.empty_like(source)
    times["add f32"] = microseconds(lambda: torch.add(source, parameters, out=result))
    a, b = source.to(torch.bfloat16), parameters.to(torch.bfloat16)
    c = torch.empty_like(a)
    times["add bf16"] = microseconds(lambda: torch.add(a, b, out=c))
    del a, b, c, result
    torch.cuda.empty_cache()
    residual = torch.zeros_like(source)
    row = torch.empty(elements, device="cuda", dtype=torch.float8_e4m3fn)
    scales = torch.empty(elements // BLOCK, device="cuda")
    times["quantise fp8, error feedback"] = microseconds(lambda: quantise(source, residual, row, scales))
    if compiles:
        fused = torch.compile(quantise)
        times["quantise fp8, error feedback, compiled"] = microseconds(
            lambda: fused(source, residual, row, scales))
    times["dequantise fp8"] = microseconds(
        lambda: torch.mul(row.view(-1, BLOCK).to(torch.float32), scales.view(-1, 1), out=parameters.view(-1, BLOCK)))
    del residual, row, scales
    torch.cuda.empty_cache()

    def select() -> None:
        _, indices = torch.topk(source.abs(), elements // 100, sorted=False)
        torch.index_select(source, 0, indices)
        source.index_fill_(0, indices, 0)

    times["select 1 %"] = microseconds(select)
    del source, parameters
    torch.cuda.empty_cache()
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--elements", type=int, default=1 << 27)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes a minute")
    parser.add_argument("--json")
    given = parser.parse_args()
    ours: dict[str, list[float]] = {}
    of_copy: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    for turn in range(given.turns):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            done = subprocess.run([given.program, "--elements", str(given.elements), "--json", file.name],
                                  stdout=subprocess.DEVNULL)
            if done.returncode != 0:
                print(f"{given.program} failed with {done.returncode}", file=sys.stderr)
                return 1
            for row in json.load(file)["results"]:
                ours.setdefault(row["kernel"], []).append(row["microseconds"])
                of_copy.setdefault(row["kernel"], []).append(row["of_copy"])
        for name, time in peers(given.elements, not given.no_compile and turn == 0).items():
            theirs.setdefault(name, []).append(time)
    rows = []
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {given.elements} elements")
    print(f"{'kernel':36} {'ours us':>10} {'of a copy':>10} {'PyTorch us':>11} {'ratio':>7}")
    for name, times in ours.items():
        own = statistics.median(times)
        part = statistics.median(of_copy[name])
        row = {"kernel": name, "microseconds": own, "of_copy": part}
        for suffix in ("", ", compiled"):
            if name + suffix not in theirs:
                continue
            other = statistics.median(theirs[name + suffix])
            row["pytorch" + suffix.replace(", ", "_")] = other
            print(f"{name + suffix:36} {own:10.1f} {100 * part:8.1f} % {other:11.1f} {other / own:7.2f}")
        if name not in theirs:
            print(f"{name:36} {own:10.1f} {100 * part:8.1f} % {'-':>11} {'-':>7}")
        rows.append(row)
    if given.json:
        with open(given.json, "w") as out:
            json.dump({"gpu": torch.cuda.get_device_name(), "pytorch": torch.__version__, "results": rows}, out, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
