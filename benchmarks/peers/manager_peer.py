#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `bench/manager` compares with: objects in managers of multiprocessing.

Reads lines "case managers step_us size", runs the case once and prints the seconds it took, or
"error: why". Ends, with all it started, when its input does. Managers listen on Unix sockets, the
default on Linux, in a private folder that goes with them.
"""
import concurrent.futures
import math
import random
import sys
import time
from multiprocessing.managers import BaseManager


class Counter:
    def __init__(self):
        self.sum = 0

    def add(self, number):
        self.sum += number
        return self.sum


class CartPole:
    """As examples/cartpole.cpp has it."""

    def __init__(self, seed, busy, waits):
        self.random = random.Random(seed)
        self.busy = busy
        self.waits = waits
        self.reset()

    def reset(self):
        self.state = tuple(self.random.uniform(-0.05, 0.05) for _ in range(4))
        self.steps = 0
        return self.shown()

    def shown(self):
        x, _, angle, _ = self.state
        over = self.steps == 500 or abs(x) > 2.4 or abs(angle) > 12 * math.pi / 180
        return (*self.state, 1.0, over)

    def step(self, action):
        if self.busy > 0:
            until = time.thread_time() + self.busy
            while time.thread_time() < until:
                pass
        if self.waits > 0:
            time.sleep(self.waits)
        x, velocity, angle, turning = self.state
        cosine, sine = math.cos(angle), math.sin(angle)
        push = ((10.0 if action else -10.0) + 0.05 * turning * turning * sine) / 1.1
        angular = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
        linear = push - 0.05 * angular * cosine / 1.1
        self.state = (x + 0.02 * velocity, velocity + 0.02 * linear,
                      angle + 0.02 * turning, turning + 0.02 * angular)
        self.steps += 1
        return self.shown()


class Objects(BaseManager):
    pass


Objects.register("Counter", Counter)
Objects.register("CartPole", CartPole)


class Peer:
    def __init__(self, managers, busy, waits):
        self.managers = [Objects() for _ in range(managers)]
        for each in self.managers:
            each.start()
        self.counter = self.managers[0].Counter()
        self.worlds = [each.CartPole(i, busy, waits) for i, each in enumerate(self.managers)]
        self.threads = concurrent.futures.ThreadPoolExecutor(managers)

    def calls(self, size):
        add = self.counter.add
        before = add(0)
        begin = time.perf_counter()
        for i in range(size):
            if add(1) != before + i + 1:
                raise ValueError("a sum is wrong")
        return time.perf_counter() - begin

    def demo(self, size):
        seen = [world.reset() for world in self.worlds]
        begin = time.perf_counter()
        for _ in range(size):
            seen = list(self.threads.map(one_step, self.worlds, seen))
        return time.perf_counter() - begin

    def close(self):
        self.threads.shutdown()
        for each in self.managers:
            each.shutdown()


def one_step(world, seen):
    x, velocity, angle, turning, _, over = seen
    if over:
        return world.reset()
    return world.step(angle + 0.5 * turning + 0.02 * x + 0.05 * velocity > 0)


def serve():
    peer, made_for = None, None
    try:
        for line in iter(sys.stdin.readline, ""):
            case, managers, step_us, size = line.split()
            try:
                step = 1e-6 * int(step_us)
                times = (0, step) if case == "device" else (step, 0)
                if made_for != (managers, times):
                    if peer is not None:
                        peer.close()
                    peer, made_for = Peer(int(managers), *times), (managers, times)
                run = peer.demo if case in ("demo", "device") else peer.calls
                print(repr(run(int(size))), flush=True)
            except Exception as problem:  # told to whoever asked
                print(f"error: {type(problem).__name__}: {problem}".replace("\n", " "), flush=True)
    finally:
        if peer is not None:
            peer.close()


if __name__ == "__main__":
    serve()
