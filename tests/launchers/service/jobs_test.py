#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jobs_test.py SINEW [name]...: what jobs of `sinew serve` get, give back, and how they end."""
import os
import signal
import subprocess
import time

from support import eventually, expect, run_tests


def shows_output_and_exit_code(place):
    server = place.serve()
    script = 'echo out; echo err >&2; echo "$CUDA_VISIBLE_DEVICES $WORD $PWD"; exit 7'
    out = place.command("run", "--at", server.at, "--gpu", 2, "-x", "WORD=w", "sh", "-c", script, code=7)
    expect(out == f"out\n0,1 w {place.folder}/work\n", out)
    expect("err\n" in place.errors, place.errors)
    expect(place.command("run", "--at", server.at, "true") == "", "output of true")
    out = place.command("run", "--at", server.at, "-n", 2, "--gpu", 1, "sh", "-c",
                        "echo $SINEW_RANK-$CUDA_VISIBLE_DEVICES")
    expect(sorted(out.split()) == ["0-0", "1-1"], out)
    place.command("run", "--at", server.at, "sh", "-c", "kill -9 $$", code=137)
    place.command("run", "--at", server.at, "./missing", code=127)
    states = place.rows("SELECT state, exit_code FROM job ORDER BY id")
    expect(states == [("failed", 7), ("completed", 0), ("completed", 0), ("failed", 137),
                      ("failed", 127)], states)


def passes_long_output_on(place):
    server = place.serve()
    count = 300_000
    out = place.command("run", "--at", server.at, "seq", count)
    expect(out == "".join(f"{i}\n" for i in range(1, count + 1)), len(out))


def refuses_what_can_never_run(place):
    server = place.serve()
    place.command("run", "--at", server.at, "--gpu", 5, "true", code=2)
    expect("needs 5 GPUs, but this server has 4" in place.errors, place.errors)
    place.command("run", "--at", server.at, "--memory", "999Ti", "true", code=2)
    expect("bytes of memory" in place.errors, place.errors)
    place.command("run", "--at", server.at, "--wdir", "/missing", "true", code=125)
    expect("/missing does not exist" in place.errors, place.errors)
    place.command("run", "--at", server.at, "--image", "i", "true", code=2)
    expect("--image" in place.errors, place.errors)
    place.command("run", "--priority", 3, "true", code=2)
    expect("--at" in place.errors, place.errors)
    place.command("run", "--at", "127.0.0.1:1", "true", code=125)
    expect("127.0.0.1:1" in place.errors, place.errors)
    place.submit(server, "twin", "sleep", 30)
    place.command("run", "--at", server.at, "--name", "twin", "true", code=2)
    expect("waits or runs already" in place.errors, place.errors)
    place.command("stop", "--at", server.at, "--now", "twin")


def verbs_see_jobs(place):
    server = place.serve()
    job = place.submit(server, "sgd", "--gpu", 3, "sh", "-c", "seq 5; sleep 60")
    eventually(lambda: place.state_of(job) == "running", "the job runs")
    place.submit(server, "next", "--gpu", 2, "--priority", 5, "true")
    sgd, after = sorted(place.jobs(server), key=lambda each: each["state"])
    expect(sgd["name"] == "sgd" and sgd["state"] == "running", sgd)
    expect(sgd["service"]["gpus"] == "0,1,2", sgd)
    expect("@" in sgd["service"]["owner"] and "127.0.0.1" in sgd["service"]["owner"], sgd)
    expect(after["state"] == "waiting" and after["service"]["priority"] == 5, after)
    table = place.command("ps", "--at", server.at)
    expect("GPUS" in table and "2 wanted" in table, table)
    eventually(lambda: place.jobs(server)[0]["service"]["memory"] > 0, "memory in use")
    eventually(lambda: place.command("logs", "--at", server.at, "sgd") == "1\n2\n3\n4\n5\n", "logs")
    expect(place.command("logs", "--at", server.at, str(job), "--tail", 2) == "4\n5\n", "tail")
    following = place.start("attach", "--at", server.at, "sgd", "--tail", 1)
    expect(following.stdout.readline() == "5\n", "attach")
    expect("sgd stopped" in place.command("stop", "--at", server.at, "sgd"), "stop")
    out, err = following.communicate(timeout=60)
    expect(following.returncode == 143 and out == "", following.returncode, out, err)
    eventually(lambda: place.state_of(job + 1) == "completed", "the next one runs")
    expect(place.state_of(job) == "cancelled", place.state_of(job))
    # The output of a job that has ended is kept.
    expect(place.command("logs", "--at", server.at, "sgd", "--tail", 1) == "5\n", "later logs")
    place.command("stop", "--at", server.at, "sgd", code=125)
    place.command("logs", "--at", server.at, "nobody", code=1)


def ctrl_c_cancels(place):
    server = place.serve()
    client = place.start("run", "--at", server.at, "--name", "slow", "sh", "-c",
                         'trap "echo told; exit 3" TERM; echo ready; while :; do sleep 0.1; done')
    expect(client.stdout.readline() == "ready\n", "it starts")
    client.send_signal(signal.SIGINT)
    out, _ = client.communicate(timeout=60)
    expect(out == "told\n" and client.returncode == 130, client.returncode, out)
    expect(place.state_of(1) == "cancelled", place.state_of(1))
    client = place.start("run", "--at", server.at, "--grace", "10min", "sh", "-c",
                         'trap "" TERM; echo ready; while :; do sleep 0.1; done')
    expect(client.stdout.readline() == "ready\n", "it starts")
    client.send_signal(signal.SIGTERM)
    expect("again: at once" in client.stderr.readline(), "notice")
    client.send_signal(signal.SIGTERM)
    client.communicate(timeout=60)
    expect(client.returncode == 143, client.returncode)
    waiting = place.start("run", "--at", server.at, "--gpu", 4, "sleep", 60)
    eventually(lambda: place.state_of(3) == "running", "it runs")
    second = place.start("run", "--at", server.at, "--gpu", 1, "true")
    eventually(lambda: place.state_of(4) == "waiting", "it waits")
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=60)
    expect(second.returncode == 130, second.returncode)
    expect(place.state_of(4) == "cancelled", place.state_of(4))
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=60)


def job_ends_without_its_client(place):
    server = place.serve("--client-timeout", "200ms")
    client = place.start("run", "--at", server.at, "--gpu", 4, "sleep", 100)
    eventually(lambda: place.state_of(1) == "running", "it runs")
    kept = place.start("run", "--keep", "--at", server.at, "sleep", 100)
    eventually(lambda: place.state_of(2) == "running", "it runs")
    client.kill()
    kept.kill()
    client.communicate()
    kept.communicate()
    eventually(lambda: place.state_of(1) == "cancelled", "the end of the first")
    time.sleep(0.5)
    expect(place.state_of(2) == "running", place.state_of(2))
    # All GPUs are free again.
    place.command("run", "--at", server.at, "--gpu", 4, "true")
    place.command("stop", "--at", server.at, "--now", "--all")


def leaves_no_process_of_a_job(place):
    server = place.serve()
    place.command("run", "--at", server.at, "--gpu", 1, "sh", "-c",
                  "setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; true")
    eventually(lambda: not [each for each in place.processes() if "sleep" in each[1]], "their end")


def time_limit_ends_jobs(place):
    server = place.serve()
    place.command("run", "--at", server.at, "--time-limit", "500ms", "sleep", 60, code=124)
    place.command("run", "--at", server.at, "--time-limit", "500ms", "--grace", "300ms", "sh", "-c",
                  'trap "" TERM; while :; do sleep 0.1; done', code=124)
    expect(place.rows("SELECT state FROM job") == [("timeout",)] * 2, place.rows("SELECT * FROM job"))


def begins_by_priority_then_by_order(place):
    server = place.serve()
    order = f"{place.folder}/order"
    first = place.submit(server, "first", "--gpu", 4, "sh", "-c", f"until [ -e {order} ]; do sleep 0.05; done")
    jobs = [("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1), ("f", 0)]
    for name, priority in jobs:
        place.submit(server, name, "--priority", priority, "--gpu", 3, "sh", "-c", f"echo {name} >>{order}")
    expect(place.state_of(first) == "running", place.state_of(first))
    open(order, "w").close()
    eventually(lambda: open(order).read().split() == ["b", "d", "a", "c", "f", "e"],
               lambda: open(order).read())


def backfill_overtakes_only_within_the_limit(place):
    server = place.serve("--backfill")
    go = f"{place.folder}/go"
    hold = ["sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done"]
    place.submit(server, "two", "--gpu", 2, "--time-limit", "100s", *hold)
    place.submit(server, "all", "--gpu", 4, "true")
    place.submit(server, "long", "--gpu", 1, "--time-limit", "200s", "true")
    place.submit(server, "unlimited", "--gpu", 1, "true")
    place.submit(server, "short", "--gpu", 2, "--time-limit", "10s", "true")
    eventually(lambda: place.state_of(5) == "completed", "the short job overtakes")
    expect([place.state_of(job) for job in (2, 3, 4)] == ["waiting"] * 3, place.jobs(server))
    open(go, "w").close()
    eventually(lambda: place.state_of(4) == "completed", "the end of all")
    starts = [row[0] for row in place.rows("SELECT started FROM job WHERE id IN (2, 3, 4) ORDER BY id")]
    expect(starts == sorted(starts), starts)


def respects_leases_of_others(place):
    server = place.serve()
    lease = f"{place.folder}/leases/leases"
    place.command("run", "--at", server.at, "--gpu", 4, "true")
    # Another program of the host has all GPUs: a lock of the whole file, as leases are locks.
    code = (f"import fcntl, sys; f = open({lease!r}, 'r+'); fcntl.lockf(f, fcntl.LOCK_EX);"
            "print('has', flush=True); sys.stdin.read()")
    other = subprocess.Popen(["python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        expect(other.stdout.readline() == b"has\n", "the other has it")
        job = place.submit(server, "waits", "--gpu", 1, "true")
        eventually(lambda: place.state_of(job) == "starting", "it waits for its lease")
        time.sleep(0.3)
        expect(place.state_of(job) == "starting", place.state_of(job))
        cancelled = place.submit(server, "cancelled", "--gpu", 1, "true")
        place.command("stop", "--at", server.at, "cancelled")
        expect(place.state_of(cancelled) == "cancelled", place.state_of(cancelled))
    finally:
        other.communicate()
    eventually(lambda: place.state_of(job) == "completed", "it runs")


def chooses_the_server_that_is_free(place):
    first = place.serve()
    place.submit(first, "busy", "--gpu", 4, "sleep", 100)
    state, place.state = place.state, f"{place.folder}/state2"
    # The other machine.
    os.mkdir(f"{place.folder}/other")
    second = place.serve(environment=place.environment | {
        "SINEW_LEASE_DIR": f"{place.folder}/leases2", "SINEW_TMPDIR": f"{place.folder}/other"})
    place.command("run", "--at", f"{first.at},{second.at},127.0.0.1:1", "--gpu", 2, "true")
    expect(place.rows("SELECT state FROM job") == [("completed",)], place.rows("SELECT * FROM job"))
    place.command("run", "--at", f"{first.at},{second.at}", "--gpu", 9, "true", code=125)
    expect("needs 9" in place.errors, place.errors)
    place.state = state
    place.command("stop", "--at", first.at, "--now", "busy")


if __name__ == "__main__":
    os.umask(0o077)
    run_tests([
        shows_output_and_exit_code, passes_long_output_on, refuses_what_can_never_run, verbs_see_jobs,
        ctrl_c_cancels, job_ends_without_its_client, leaves_no_process_of_a_job, time_limit_ends_jobs,
        begins_by_priority_then_by_order, backfill_overtakes_only_within_the_limit,
        respects_leases_of_others, chooses_the_server_that_is_free])
