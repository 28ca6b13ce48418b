#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions that a program calls on `sinew serve`: calls_test.py SINEW [test]..."""
import os
import shutil
import signal
import subprocess
import time

from support import FINAL, PATIENCE, eventually, expect, run_tests

PROGRAM = os.environ["SINEW_TEST_CALLS_PROGRAM"]


def start(place, what, at, program=PROGRAM, **environment):
    """Starts the program that calls, with its output in a pipe."""
    return subprocess.Popen(
        [program, what, at, f"{place.folder}/work"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=place.environment | {"SINEW_COMMAND": place.sinew, **environment},
        cwd=f"{place.folder}/work")


def output(program):
    words, _ = program.communicate(timeout=2 * PATIENCE)
    return words


def call(place, what, at, **options):
    return output(start(place, what, at, **options))


def pid_of_call(place):
    path = f"{place.folder}/work/pid"
    eventually(lambda: os.path.exists(path), "the call has begun")
    return int(open(path).read())


def gpus_are_free(place, server):
    """All jobs have ended, and all GPUs can be had."""
    eventually(lambda: all(job["state"] in FINAL for job in place.jobs(server)), "the jobs end")
    place.command("run", "--at", server.at, "--gpu", 2, "true")


def calls_return_and_throw(place):
    server = place.serve()
    words = call(place, "values", server.at)
    expect(words.endswith("right\n"), words)
    gpus_are_free(place, server)
    states = [state for (state,) in place.rows("SELECT state FROM job")]
    expect(len(states) == 5 and "completed" in states, states)


def each_call_has_a_gpu_of_its_own(place):
    server = place.serve()
    words = call(place, "many", server.at)
    expect(words.endswith("right\n"), words)
    gpus_are_free(place, server)


def cancelled_call_frees_its_gpus(place):
    server = place.serve()
    words = call(place, "cancelled", server.at)
    expect(words.endswith("right\n"), words)
    gpus_are_free(place, server)


def killed_worker_is_reported(place):
    server = place.serve()
    program = start(place, "lingers", server.at)
    os.kill(pid_of_call(place), signal.SIGKILL)
    words = output(program)
    expect("WorkerDied: " in words and "signal 9" in words, words)
    gpus_are_free(place, server)


def killed_caller_ends_its_call(place):
    server = place.serve()
    program = start(place, "lingers", server.at)
    pid = pid_of_call(place)
    program.kill()
    output(program)
    gpus_are_free(place, server)
    expect(not os.path.exists(f"/proc/{pid}"), "the process of the call has ended")


def ended_job_is_reported(place):
    server = place.serve()
    words = call(place, "limited", server.at)
    expect("Unavailable: " in words and "time limit" in words, words)
    os.remove(f"{place.folder}/work/pid")
    program = start(place, "lingers", server.at)
    pid_of_call(place)
    place.command("stop", "--at", server.at, "--all")
    words = output(program)
    expect("Unavailable: " in words and "was cancelled" in words, words)
    gpus_are_free(place, server)


def call_that_cannot_begin_is_explained(place):
    server = place.serve()
    words = call(place, "five_gpus", server.at)
    expect("Unavailable: " in words and "needs 5 GPUs, but this server has 2" in words, words)
    words = call(place, "lingers", "pytorch.invalid")
    expect("Unavailable: " in words and "there is no service and no host pytorch.invalid" in words, words)
    words = call(place, "lingers", "no/host")
    expect("UsageError: " in words and "no/host" in words, words)
    words = call(place, "wrong_address", server.at)
    expect("UsageError: " in words and "192.0.2.7" in words, words)
    words = call(place, "lingers", server.at, SINEW_RUN_KEY=f"{place.folder}/none")
    expect("Unavailable: " in words and f"{place.folder}/none" in words, words)
    other = f"{place.folder}/other"
    place.command("serve", "--new-key", other)
    words = call(place, "lingers", server.at, SINEW_RUN_KEY=other)
    expect("Unavailable: " in words and "key" in words, words)


def queue_limit_ends_the_wait(place):
    server = place.serve()
    place.submit(server, "other", "--gpu", 2, "sleep", 600)
    words = call(place, "impatient", server.at)
    expect("Unavailable: " in words and "within 1 s" in words, words)
    place.command("stop", "--at", server.at, "--all")
    gpus_are_free(place, server)


def other_programs_are_refused(place):
    server = place.serve()
    copy = f"{place.folder}/work/program"
    shutil.copy(PROGRAM, copy)
    place.submit(server, "other", "--gpu", 2, "sleep", 600)
    program = start(place, "lingers", server.at, program=copy)
    eventually(lambda: len(place.jobs(server)) == 2, "the call waits")
    os.rename(copy, f"{copy}.old")
    place.command("stop", "--at", server.at, "other")
    words = output(program)
    expect("Unavailable: " in words and copy in words, words)
    gpus_are_free(place, server)


def example_uses_both_gpus(place):
    example = os.environ.get("SINEW_TEST_CALLS_EXAMPLE")
    if not example:
        return
    server = place.serve()
    done = subprocess.run(
        [example, server.at, "0.1", "0.2", "0.5"], text=True, capture_output=True, timeout=2 * PATIENCE,
        stdin=subprocess.DEVNULL, check=False,
        env=place.environment | {"SINEW_COMMAND": place.sinew, "OWN_ADDRESS": "127.0.0.1"})
    lines = done.stdout.splitlines()
    expect(len(lines) == 3 and lines[2].startswith("rate 0.5: loss 0 on GPU "), done.stdout, done.stderr)
    gpus_are_free(place, server)


def pools_have_nodes_and_lost_ones_are_replaced(place):
    server = place.serve()
    program = start(place, "pools", server.at)
    expect(program.stdout.readline() == "two nodes\n", "two nodes")
    first = place.jobs(server)[0]
    place.command("stop", "--at", server.at, first["name"], "--now")
    words = output(program)
    expect(words.endswith("right\n"), words)
    gpus_are_free(place, server)


def call_survives_the_server(place):
    server = place.serve()
    program = start(place, "restarted", server.at)
    eventually(lambda: os.path.exists(f"{place.folder}/work/begun"), "the call has begun")
    server.kill()
    server.wait()
    time.sleep(0.2)
    server = place.serve_again(server)
    with open(f"{place.folder}/work/go", "w"):
        pass
    words = output(program)
    expect(words.endswith("right\n"), words)
    gpus_are_free(place, server)


if __name__ == "__main__":
    os.umask(0o077)
    run_tests([
        calls_return_and_throw, each_call_has_a_gpu_of_its_own, cancelled_call_frees_its_gpus, killed_worker_is_reported,
        killed_caller_ends_its_call, ended_job_is_reported, call_that_cannot_begin_is_explained, queue_limit_ends_the_wait,
        other_programs_are_refused, example_uses_both_gpus, pools_have_nodes_and_lost_ones_are_replaced, call_survives_the_server], gpus=2)
