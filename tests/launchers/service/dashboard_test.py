#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dashboard_test.py SINEW [name]...: what `sinew serve --dashboard` tells in /api, /metrics and /events."""
import concurrent.futures
import contextlib
import fcntl
import http.client
import json
import os
import re
import signal
import struct
import urllib.error
import urllib.request

from support import PATIENCE, eventually, expect, run_tests

F_OFD_SETLK = 37


class Page:
    """The dashboard of a server, which prints its address on standard error."""

    def __init__(self, server):
        pattern = r"sinew: dashboard: (http://127\.0\.0\.1:\d+/)#token=(\S+)\n"
        found = eventually(lambda: re.search(pattern, open(server.log).read()), "the address of the page")
        self.address, self.token = found.groups()

    def open(self, path, token=None):
        request = urllib.request.Request(self.address + path)
        request.add_header("Authorization", f"Bearer {self.token if token is None else token}")
        return urllib.request.urlopen(request, timeout=PATIENCE)

    def api(self):
        with self.open("api") as answer:
            return json.load(answer)

    def metrics(self):
        with self.open("metrics") as answer:
            return answer.read().decode()

    def has_event(self, pattern):
        return any(re.search(pattern, event["text"]) for event in self.api()["events"])

    def has_job(self, name, state, part="queue"):
        return next((job for job in self.api()[part] if job["name"] == name and job["state"] == state), None)


@contextlib.contextmanager
def leased_gpu(place, index):
    """Locks a GPU in the file of the leases, as a program outside the service does."""
    with open(f"{place.folder}/leases/leases", "r+b") as file:
        holders_end = 1 << 41
        position = holders_end + (1 << 20) + index
        for byte in (position, holders_end - 1):
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqixxxx", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
        yield


def shows_the_queue_and_the_gpus(place):
    server = place.serve("--dashboard")
    page = Page(server)
    api = page.api()
    expect(api["job"]["kind"] == "server" and api["job"]["id"] == server.at, api["job"])
    expect(api["job"]["state"] == "running" and api["job"]["cause"] == "", api["job"])
    expect(api["ranks"] == [] and api["queue"] == [] and api["leases"] == [], api)
    expect([gpu["holder"] for gpu in api["gpus"]] == [""] * 4, api["gpus"])
    expect(page.has_event("^The server has started$"), api["events"])
    place.submit(server, "first", "--gpu", 2, "--cpu", 1, "--time-limit", "1h", "sleep", 1000)
    first = eventually(lambda: page.has_job("first", "running"), "the first job is shown")
    expect(first["gpus_held"] == "0,1" and first["started"] >= first["submitted"], first)
    expect("@" in first["owner"] and "127.0.0.1" in first["owner"], first)
    with leased_gpu(place, 3):
        place.submit(server, "second", "--gpu", 3, "--priority", 5, "true")
        second = eventually(lambda: page.has_job("second", "waiting"), "the second job waits")
        expect(second["priority"] == 5 and second["gpus"] == 3 and second["started"] is None, second)
        eventually(lambda: [gpu["holder"] for gpu in page.api()["gpus"]] ==
                   ["first", "first", "", "another lease"], "who has the GPUs")
        eventually(lambda: sorted(lease["holder"] for lease in page.api()["leases"]) ==
                   ["another lease", "first"], "leases")
        lease = next(each for each in page.api()["leases"] if each["holder"] == "first")
        expect("2 GPUs, 1 processor" in lease["resources"], lease)
        expect(lease["until"] == first["started"] + 3600, lease, first)
        metrics = page.metrics()
        for line in ('sinew_queue_jobs{state="running"} 1', 'sinew_queue_jobs{state="waiting"} 1',
                     'sinew_queue_jobs{state="starting"} 0', 'sinew_gpus{state="held"} 3',
                     'sinew_gpus{state="free"} 1', "sinew_leases 2"):
            expect(line + "\n" in metrics, line, metrics)
        expect('state="running"' in metrics and "sinew_ranks" not in metrics, metrics)
    place.command("stop", "--at", server.at, "first")
    eventually(lambda: page.has_job("first", "cancelled", "ended"), "the first job has ended")
    ended = eventually(lambda: page.has_job("second", "completed", "ended"), "the second job has ended")
    expect(ended["exit_code"] == 0 and ended["ended"] >= ended["started"], ended)
    eventually(lambda: page.api()["queue"] == [], "an empty queue")
    for pattern in (r"Job 1 \(first\) was submitted by .*@", r"Job 1 \(first\) has started on GPU 0,1",
                    r"Job 1 \(first\) is cancelled by .*@", r"Job 1 \(first\) has ended: cancelled",
                    r"Job 2 \(second\) has ended: completed, exit code 0"):
        expect(page.has_event(pattern), pattern, page.api()["events"])
    eventually(lambda: [gpu["holder"] for gpu in page.api()["gpus"]] == [""] * 4, "free GPUs")


def shows_output_to_readers_of_the_stream(place):
    server = place.serve("--dashboard")
    page = Page(server)
    script = "echo before; sleep 3; i=0; while :; do echo line $i; echo error $i >&2; i=$((i+1)); sleep 0.2; done"
    place.submit(server, "talker", "sh", "-c", script)
    eventually(lambda: page.has_job("talker", "running"), "the job runs")
    expect(page.api()["log"] == [], "nobody looks, nothing is read")
    found = set()
    with page.open("events") as stream:
        for line in stream:
            if not line.startswith(b"data: "):
                continue
            for entry in json.loads(line[6:]).get("log", []):
                expect(entry["job"] == "talker" and entry["rank"] is None, entry)
                found.add((entry["stream"], entry["text"]))
            if {("stdout", "before"), ("stdout", "line 3"), ("stderr", "error 3")} <= found:
                break
    place.command("stop", "--at", server.at, "talker")


def tells_of_strangers_and_of_an_earlier_server(place):
    token = "t" * 40
    with open(f"{place.folder}/token", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(token)
    place.environment["SINEW_DASHBOARD_TOKEN_FILE"] = f"{place.folder}/token"
    server = place.serve("--dashboard")
    page = Page(server)
    expect(page.token == token, "the token of the file")
    for wrong in ("", "x" * 40):
        try:
            page.open("api", wrong).close()
            expect(False, "it was answered without the token")
        except urllib.error.HTTPError as refusal:
            expect(refusal.code == 401, refusal)
            refusal.close()
    place.command("serve", "--new-key", f"{place.folder}/other")
    place.command("ps", "--at", server.at, "--key", f"{place.folder}/other", code=125)
    eventually(lambda: page.has_event(r"refused, the last one of 127\.0\.0\.1"), "the refusal is shown")
    place.submit(server, "survivor", "--gpu", 1, "sleep", 1000)
    eventually(lambda: page.has_job("survivor", "running"), "the job runs")
    server.send_signal(signal.SIGKILL)
    server.wait()
    port = page.address.rsplit(":", 1)[1].rstrip("/")
    again = place.serve(f"--dashboard={port}", address=server.at)
    page = Page(again)
    expect(page.has_event("has started again, with 1 job of before"), page.api()["events"])
    survivor = eventually(lambda: page.has_job("survivor", "running"), "the job is there")
    expect(survivor["gpus_held"] == "0", survivor)
    place.command("stop", "--at", again.at, "survivor")
    eventually(lambda: page.has_job("survivor", "cancelled", "ended"), "its end")


def tells_that_the_registry_is_lost(place):
    registry = place.serve(verb="registry")
    server = place.serve("--dashboard", "--registry", registry.at, "--name", "box")
    page = Page(server)
    expect(page.api()["job"]["name"] == "box", page.api()["job"])
    registry.terminate()
    registry.wait()
    eventually(lambda: page.has_event("registry does not know this server"), "the loss is shown")
    expect("registry" in page.api()["job"]["cause"], page.api()["job"])
    place.serve(address=registry.at, verb="registry")
    eventually(lambda: page.has_event("registry knows this server again"), "its return is shown")
    expect(page.api()["job"]["cause"] == "", page.api()["job"])


def bounds_a_long_queue(place):
    server = place.serve("--dashboard", "--max-running", 1)
    page = Page(server)
    place.submit(server, "runs", "sleep", 1000)
    eventually(lambda: page.has_job("runs", "running"), "a job runs")
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda i: place.submit(server, f"wait-{i}", "true"), range(205)))
    eventually(lambda: page.api()["queue_counts"] == {"running": 1, "starting": 0, "waiting": 205}, "all are counted")
    queue = page.api()["queue"]
    expect(len(queue) == 200 and queue[0]["name"] == "runs", len(queue), queue[0])
    numbers = [int(job["id"]) for job in queue]
    expect(numbers == sorted(numbers), numbers)
    expect('sinew_queue_jobs{state="waiting"} 205\n' in page.metrics(), "metrics count all")
    place.command("stop", "--at", server.at, "--all")
    eventually(lambda: page.api()["queue"] == [], "all have ended")
    expect(len(page.api()["ended"]) == 20, "the last that have ended")


def shows_memory_that_nvml_tells(place):
    place.environment |= {"SINEW_NVML_LIBRARY": os.environ["FAKE_NVML_LIBRARY"], "FAKE_NVML": "gpus 2"}
    del place.environment["SINEW_GPUS"]
    server = place.serve("--dashboard")
    page = Page(server)
    expect([gpu["memory_total"] for gpu in page.api()["gpus"]] == [0, 0], "nobody looks, NVML is not asked")
    place.submit(server, "holder", "--gpu", 2, "sleep", 1000)
    with page.open("events") as stream:
        for line in stream:
            gpus = json.loads(line[6:]).get("gpus", []) if line.startswith(b"data: ") else []
            if [gpu["memory_used"] >> 30 for gpu in gpus] == [1, 2] and all(gpu["holder"] == "holder" for gpu in gpus):
                break
    expect([gpu["memory_total"] >> 30 for gpu in gpus] == [80, 80], gpus)
    place.command("stop", "--at", server.at, "holder")


def refuses_bad_ports(place):
    for word in ("70000", "0", "x", "-1"):
        place.command("serve", "--key", place.key, f"--dashboard={word}", code=2)
        expect(f"--dashboard={word}" in place.errors and "65535" in place.errors, place.errors)
    server = place.serve("--dashboard")
    port = Page(server).address.rsplit(":", 1)[1].rstrip("/")
    place.command("serve", "--key", place.key, f"--dashboard={port}", "--state", f"{place.folder}/other", "--address", "127.0.0.1:0",
                  code=125)
    expect(f"cannot listen at port {port}" in place.errors, place.errors)


def ends_the_page_with_the_server(place):
    server = place.serve("--dashboard")
    page = Page(server)
    with page.open("events") as stream:
        stream.readline()
        server.terminate()
        rest = stream.read().decode()
    expect('"state":"ended"' in rest and "event: end" in rest, rest[-500:])
    expect(server.wait(PATIENCE) == 0, server.returncode)
    try:
        page.api()
        expect(False, "it still answers")
    except (urllib.error.URLError, http.client.HTTPException, ConnectionError):
        pass


run_tests([shows_the_queue_and_the_gpus, shows_output_to_readers_of_the_stream,
           tells_of_strangers_and_of_an_earlier_server, tells_that_the_registry_is_lost, bounds_a_long_queue,
           shows_memory_that_nvml_tells, refuses_bad_ports, ends_the_page_with_the_server])
