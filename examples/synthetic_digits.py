# SPDX-License-Identifier: Apache-2.0
"""The random numbers and the synthetic digits of examples/sgd_digits, bit for bit (random.hpp, synthetic.cpp)."""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


class Random:
    """SplitMix64. `draw` gives many numbers at once."""

    def __init__(self, seed: int, stream: int | None = None) -> None:
        self._state = seed & _MASK
        if stream is not None:
            self._state = self.next() ^ stream
            self._state = self.next()

    def next(self) -> int:
        return int(self.draw(1)[0])

    def draw(self, count: int) -> np.ndarray:
        """The next `count` numbers of 64 bits."""
        with np.errstate(over="ignore"):
            z = np.uint64(self._state) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        self._state = (self._state + count * _STEP) & _MASK
        return z ^ (z >> np.uint64(31))

    def below(self, counts: Iterable[int]) -> list[int]:
        """For each of `counts` a number from 0 to that less one."""
        counts = np.asarray(list(counts), np.uint64)
        return [int(x) for x in ((self.draw(len(counts)) >> np.uint64(32)) * counts) >> np.uint64(32)]

    def between(self, low: int, high: int) -> int:
        return low + self.below([high - low + 1])[0]

    def symmetric(self, count: int) -> np.ndarray:
        """Multiples of 2^-23 in [-1, 1)."""
        whole = (self.draw(count) >> np.uint64(40)).astype(np.int64) - (1 << 23)
        return whole.astype(np.float32) * np.float32(2.0**-23)

    def shuffled(self, count: int) -> np.ndarray:
        """0 to count - 1 in random order."""
        values = list(range(count))
        for left, other in zip(range(count, 1, -1), self.below(range(count, 1, -1))):
            values[left - 1], values[other] = values[other], values[left - 1]
        return np.array(values)


SIDE, UNIT, MIDDLE = 16, 256, 50
GLYPHS = [
    [[[(50, 8), (70, 20), (76, 50), (70, 80), (50, 92), (30, 80), (24, 50), (30, 20), (50, 8)]]],
    [[[(34, 26), (52, 10), (52, 90)]], [[(50, 8), (50, 92)]],
     [[(34, 28), (50, 10), (50, 90)], [(32, 90), (68, 90)]]],
    [[[(26, 28), (38, 10), (62, 10), (74, 26), (68, 46), (26, 90), (76, 90)]],
     [[(28, 24), (50, 10), (72, 26), (50, 62), (30, 86), (44, 78), (60, 90), (76, 82)]]],
    [[[(26, 18), (50, 8), (72, 22), (68, 40), (46, 48), (70, 58), (74, 78), (50, 92), (26, 82)]],
     [[(26, 10), (72, 10), (46, 44), (70, 54), (74, 76), (52, 92), (26, 84)]]],
    [[[(62, 92), (62, 8), (22, 64), (82, 64)]],
     [[(30, 10), (26, 54), (74, 54)], [(70, 12), (66, 92)]]],
    [[[(74, 10), (34, 10), (30, 46), (54, 40), (74, 56), (72, 80), (50, 92), (26, 82)]]],
    [[[(66, 12), (42, 26), (28, 54), (32, 82), (52, 92), (72, 80), (70, 60), (50, 50), (30, 62)]]],
    [[[(24, 10), (76, 10), (44, 92)]],
     [[(24, 12), (76, 10), (48, 92)], [(38, 50), (74, 50)]]],
    [[[(50, 48), (32, 36), (32, 18), (50, 8), (68, 18), (68, 36), (50, 48), (72, 64), (70, 82),
       (50, 92), (30, 82), (28, 64), (50, 48)]]],
    [[[(70, 38), (50, 50), (30, 40), (28, 20), (50, 8), (70, 20), (70, 40), (66, 70), (56, 92)]],
     [[(72, 30), (54, 50), (30, 42), (30, 18), (52, 8), (72, 18), (72, 92)]]],
]


def _divide(a, b):
    """Integer division as in C++, towards zero."""
    return np.sign(a) * (np.abs(a) // b)


class _Hand:
    """The style of one writer."""

    def __init__(self, random: Random) -> None:
        self.width = random.between(10, 14) * UNIT
        self.height = random.between(12, 15) * UNIT
        self.slant = random.between(-70, 70)
        self.tilt = random.between(-40, 40)
        self.shift = random.between(-350, 350), random.between(-350, 350)
        self.wobble = random.between(1, 5)
        self.radius = random.between(100, 260)
        self.ink = random.between(150, 255)

    def place(self, points: list[tuple[int, int]], random: Random) -> np.ndarray:
        """The points of a stroke in the picture, each with a wobble in x and in y."""
        wobbles = np.array(random.below([2 * self.wobble + 1] * (2 * len(points)))).reshape(-1, 2) - self.wobble
        x, y = (np.array(points) - MIDDLE + wobbles).T
        x, y = _divide(x * self.width, 100), _divide(y * self.height, 100)
        middle = SIDE * UNIT // 2
        return np.stack([middle + self.shift[0] + x - _divide(self.slant * y, 256),
                         middle + self.shift[1] + y + _divide(self.tilt * x, 256)], axis=1)


_CENTRES = np.stack([np.tile(np.arange(SIDE), SIDE), np.repeat(np.arange(SIDE), SIDE)]) * UNIT + UNIT // 2


def _draw(digit: int, random: Random) -> np.ndarray:
    hand = _Hand(random)
    ways = GLYPHS[digit]
    strokes = [hand.place(stroke, random) for stroke in ways[random.below([len(ways)])[0]]]
    begin = np.concatenate([stroke[:-1] for stroke in strokes])[:, :, None]
    end = np.concatenate([stroke[1:] for stroke in strokes])[:, :, None]
    dx, dy = end[:, 0] - begin[:, 0], end[:, 1] - begin[:, 1]
    px, py = _CENTRES[0] - begin[:, 0], _CENTRES[1] - begin[:, 1]
    length = np.maximum(dx * dx + dy * dy, 1)
    along = np.clip(px * dx + py * dy, 0, length)
    distance = (px - _divide(dx * along, length)) ** 2 + (py - _divide(dy * along, length)) ** 2
    root = np.minimum(np.sqrt(distance.min(axis=0).astype(np.float64)).astype(np.int64), (1 << 11) - 1)
    ink = hand.ink * np.clip(hand.radius + UNIT // 2 - root, 0, UNIT) // UNIT
    noise = np.array(random.below([41] * (2 * SIDE * SIDE))).reshape(-1, 2).sum(axis=1) - 40
    return np.clip(ink + noise, 0, 255).astype(np.float32) / np.float32(255)


def synthetic_digits(seed: int, stream: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of 256 pixels, and their digits. Stream 1 is for training, 2 for the test."""
    random = Random(seed, stream)
    pixels, labels = np.empty((count, SIDE * SIDE), np.float32), np.empty(count, np.int64)
    for i in range(count):
        labels[i] = random.below([10])[0]
        pixels[i] = _draw(int(labels[i]), random)
    return pixels, labels
