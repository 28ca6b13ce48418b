#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Distributed stochastic gradient descent with numpy: examples/sgd_digits in Python.

    sinew run -n 4 python3 train_digits.py                      synthetic digits
    sinew run -n 4 python3 train_digits.py --data DIR           DIR has train.csv and test.csv

Data, order of the batches and initial weights have the same bits as those of the C++ program for the same options, and
each rank takes the same part of each batch. Only sums within a rank are rounded in another order (numpy's matrix
products), so the loss of each epoch is the same but for rounding, and all ranks have the same weights, bit for bit.
"""
from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import sinew
from synthetic_digits import Random, synthetic_digits

CLASSES = 10


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a classifier of handwritten digits on all ranks.")
    parser.add_argument("--data", help="folder with train.csv and test.csv (features, then the label); else "
                        "synthetic digits")
    parser.add_argument("--hidden", type=int, default=64, help="hidden values; 0: a linear classifier (64)")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64, help="examples per step, of all ranks together (64)")
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--algorithm", help="of the allreduce; else the library chooses")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser.parse_args()


def read_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = np.loadtxt(path, delimiter=",", dtype=np.float32, ndmin=2)
    return rows[:, :-1], rows[:, -1].astype(np.int64)


def load(folder: str | None) -> list[np.ndarray]:
    """Pixels and labels to train with, then to test with."""
    if folder is None:
        return [*synthetic_digits(1, 1, 4000), *synthetic_digits(1, 2, 1000)]
    train, test = read_csv(Path(folder) / "train.csv"), read_csv(Path(folder) / "test.csv")
    low, high = float(train[0].min()), float(train[0].max())
    return [((part - low) / (high - low if high > low else 1)).astype(np.float32) if part.ndim == 2 else part
            for part in (*train, *test)]


def share(comm: sinew.Communicator, data: list[np.ndarray]) -> list[np.ndarray]:
    """Rank 0's arrays on every rank."""
    shapes = np.zeros((4, 2), np.int64)
    if comm.rank == 0:
        for row, array in zip(shapes, data):
            row[: array.ndim] = array.shape
    comm.broadcast(shapes)
    if comm.rank != 0:
        data = [np.empty(rows[: 1 if i % 2 else 2], np.int64 if i % 2 else np.float32) for i, rows in enumerate(shapes)]
    return [comm.broadcast(np.ascontiguousarray(array)) for array in data]


class Model:
    """Layers of weights and biases, which are views of one vector, as their gradients are of another."""

    def __init__(self, features: int, hidden: int) -> None:
        sizes = [features, hidden, CLASSES] if hidden else [features, CLASSES]
        self.shapes = list(zip(sizes, sizes[1:]))
        count = sum(i * o + o for i, o in self.shapes)
        self.parameters, self.gradient = np.zeros(count, np.float32), np.zeros(count, np.float32)
        self.layers, self.slopes = self._views(self.parameters), self._views(self.gradient)

    def _views(self, vector: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        views, at = [], 0
        for inputs, outputs in self.shapes:
            views.append((vector[at: at + inputs * outputs].reshape(inputs, outputs),
                          vector[at + inputs * outputs: at + inputs * outputs + outputs]))
            at += inputs * outputs + outputs
        return views

    def initialise(self, seed: int) -> None:
        random = Random(seed, 0)
        for (weights, _), (inputs, outputs) in zip(self.layers, self.shapes):
            limit = np.sqrt(np.float32(6) / np.float32(inputs + outputs))
            weights[...] = limit * random.symmetric(weights.size).reshape(weights.shape)

    def forward(self, pixels: np.ndarray) -> list[np.ndarray]:
        values = [pixels]
        for weights, biases in self.layers:
            values.append(values[-1] @ weights + biases)
            if len(values) <= len(self.layers):
                np.maximum(values[-1], 0, out=values[-1])
        return values

    def set_gradient(self, pixels: np.ndarray, labels: np.ndarray) -> float:
        """The gradient of the summed loss of these examples, and that loss."""
        values = self.forward(pixels)
        scores = values[-1] - values[-1].max(axis=1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(scores)
        totals = exponentials.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = float((np.log(totals[:, 0].astype(np.float64)) - scores[rows, labels]).sum())
        slopes = exponentials / totals
        slopes[rows, labels] -= 1
        for layer in reversed(range(len(self.layers))):
            weight_slopes, bias_slopes = self.slopes[layer]
            weight_slopes[...] = values[layer].T @ slopes
            bias_slopes[...] = slopes.sum(axis=0)
            if layer > 0:
                slopes = (slopes @ self.layers[layer][0].T) * (values[layer] > 0)
        return loss


def part_of(count: int, comm: sinew.Communicator) -> slice:
    return slice(count * comm.rank // comm.size, count * (comm.rank + 1) // comm.size)


def hash_of(vector: np.ndarray) -> int:
    """FNV-1a over the bytes."""
    value = 0xCBF29CE484222325
    for byte in vector.tobytes():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def train(comm: sinew.Communicator, options: argparse.Namespace) -> dict[str, object]:
    pixels, labels, test_pixels, test_labels = share(comm, load(options.data) if comm.rank == 0 else [])
    model = Model(pixels.shape[1], options.hidden)
    if comm.rank == 0:
        model.initialise(options.seed)
    comm.broadcast(model.parameters)
    velocity = np.zeros_like(model.parameters)
    rate, momentum = np.float32(options.rate), np.float32(options.momentum)
    seconds, loss, accuracy = 0.0, math.nan, 0.0
    for epoch in range(1, options.epochs + 1):
        began = time.perf_counter()
        order = Random(options.seed, epoch).shuffled(len(labels))
        loss = 0.0
        for first in range(0, len(order), options.batch):
            batch = order[first: first + options.batch]
            mine = batch[part_of(len(batch), comm)]
            loss += model.set_gradient(pixels[mine], labels[mine])
            comm.allreduce(model.gradient, "sum", algorithm=options.algorithm)
            velocity *= momentum
            velocity += np.float32(1) / np.float32(len(batch)) * model.gradient
            model.parameters -= rate * velocity
        loss = comm.allreduce_value(loss) / len(order)
        seconds += time.perf_counter() - began
        if not math.isfinite(loss):
            raise ArithmeticError(f"the loss became {loss} in epoch {epoch} (--rate {options.rate}). "
                                  "Try a smaller --rate")
        mine = part_of(len(test_labels), comm)
        right = int((model.forward(test_pixels[mine])[-1].argmax(axis=1) == test_labels[mine]).sum())
        accuracy = comm.allreduce_value(right) / len(test_labels)
        if comm.rank == 0:
            print(f"epoch {epoch:2}/{options.epochs}  loss {loss:.4f}  test accuracy {100 * accuracy:.2f} %",
                  flush=True)
    weights = np.array([hash_of(model.parameters)], np.uint64)
    least, most = comm.allreduce(weights.copy(), "min"), comm.allreduce(weights.copy(), "max")
    if least != most:
        raise RuntimeError(f"rank {comm.rank} of {comm.size}: weights differ between ranks. Are they the same kind of "
                           "processor?")
    return {"ranks": comm.size, "epochs": options.epochs, "loss": loss, "test_accuracy": accuracy, "seed": options.seed,
            "seconds": comm.allreduce_value(seconds, "average"), "weights_hash": f"0x{int(weights[0]):016x}",
            "version": sinew.__version__}


def main() -> None:
    options = parse()
    with sinew.World() as world:
        result = train(world.communicator, options)
        if world.rank == 0 and options.json:
            print(json.dumps(result, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    sys.exit(main())
