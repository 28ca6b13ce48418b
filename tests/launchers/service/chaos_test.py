#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chaos_test.py SINEW CLIENTS JOBS: clients submit jobs over 4 fake GPUs, while clients, jobs and the
server are killed at random. No GPU is ever held twice, jobs begin in the order of the queue, each ends
in exactly one state, and nothing remains."""
import collections
import os
import random
import signal
import sys
import threading
import time

from support import FINAL, Failed, Place, eventually, expect

GPUS = 4
SUPERVISOR_STARTS = 1000  # ms at most from the choice of a job to its beginning, on a busy machine
# Each job makes one file for each of its GPUs, exclusively, and removes it at its end. What was killed
# cannot: the file names its process, which must be gone then.
JOB = r"""
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
    until ( set -C; echo $$ >"$PLACE/gpu/$gpu" ) 2>/dev/null; do
        holder=$(cat "$PLACE/gpu/$gpu" 2>/dev/null)
        if [ -n "$holder" ] && kill -0 "$holder" 2>/dev/null; then
            echo "GPU $gpu is held by $holder and by $$ (job $1)" >>"$PLACE/twice"
            exit 99
        fi
        rm -f "$PLACE/gpu/$gpu"
    done
done
sleep "$2"
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do rm -f "$PLACE/gpu/$gpu"; done
exit "$3"
"""


class Chaos:
    def __init__(self, place, clients, jobs, seed):
        self.place, self.clients, self.left = place, clients, jobs
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.running = set()
        self.problems = []
        self.codes = collections.Counter()
        self.kills = collections.Counter()
        self.done = threading.Event()
        self.server = place.serve("--client-timeout", "2s")
        self.at = self.server.at

    def next_job(self):
        with self.lock:
            if self.left == 0:
                return None
            self.left -= 1
            return (self.left, self.random.randint(1, GPUS), self.random.uniform(0, 0.05),
                    self.random.choice([0, 0, 0, 3]), self.random.choice([0, 0, 1]),
                    self.random.random() < 0.3)

    def client(self):
        while job := self.next_job():
            number, gpus, seconds, code, priority, keep = job
            words = ["--keep"] if keep else []
            process = self.place.start(
                "run", "--at", self.at, "--name", f"job-{number}", "--gpu", gpus, "--priority", priority,
                *words, "sh", "-c", JOB, "sh", number, f"{seconds:.3f}", code)
            with self.lock:
                self.running.add(process)
            out, err = process.communicate()
            with self.lock:
                self.running.discard(process)
            self.codes[process.returncode] += 1
            # Killed, killed with its job, or what the job has returned.
            if process.returncode not in (0, 3, -9, 125, 137, 143):
                self.problems.append((process.returncode, out, err))

    def kill_something(self):
        kind = self.random.choice(["client", "client", "program", "program", "run", "supervisor", "server"])
        if kind == "client":
            with self.lock:
                if self.running:
                    self.random.choice(sorted(self.running, key=id)).kill()
        elif kind == "server":
            self.server.kill()
            self.server.wait()
            time.sleep(self.random.uniform(0, 0.2))
            self.server = self.place.serve("--client-timeout", "2s", address=self.at)
        else:
            marks = {"program": "sh -c", "run": " run --backend local ", "supervisor": " supervise "}
            found = [pid for pid, words in self.place.processes()
                     if marks[kind] in words and not words.startswith("python")
                     and (kind != "program" or words.startswith("sh "))]
            if not found:
                return
            try:
                os.kill(self.random.choice(found), signal.SIGKILL)
            except ProcessLookupError:
                return
        self.kills[kind] += 1

    def run(self):
        os.mkdir(f"{self.place.folder}/gpu")
        threads = [threading.Thread(target=self.client) for _ in range(self.clients)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(self.random.uniform(0.05, 0.5))
            self.kill_something()
        for thread in threads:
            thread.join()

    def check(self):
        place = self.place
        eventually(lambda: place.rows("SELECT count(*) FROM job WHERE ended IS NULL") == [(0,)],
                   lambda: place.rows("SELECT id, state FROM job WHERE ended IS NULL"))
        expect(not self.problems, "clients ended so:", self.problems[:5])
        expect(not os.path.exists(f"{place.folder}/twice"), "held twice:",
               os.path.exists(f"{place.folder}/twice") and open(f"{place.folder}/twice").read())
        states = place.rows("SELECT id, state FROM job")
        expect(all(state in FINAL for _, state in states), states)
        ends = collections.Counter(
            row[0].split()[1] for row in place.rows("SELECT detail FROM audit WHERE action = 'end'"))
        expect(len(ends) == len(states) and set(ends.values()) == {1}, "ends", len(ends), len(states))
        self.check_order()
        # No lease is lost: all GPUs can be had at once.
        place.command("run", "--at", self.at, "--gpu", GPUS, "true")
        counts = collections.Counter(state for _, state in states)
        print(f"{len(states)} jobs {dict(counts)}, killed {dict(self.kills)}, clients ended with {dict(self.codes)}")
        expect(counts["completed"] > 0, counts)

    def check_order(self):
        """A job begins before all that were in the queue behind it: one starts at a time."""
        jobs = self.place.rows("SELECT id, json_extract(request, '$.priority'), submitted, started, "
                               "coalesce(ended, 0), state FROM job")
        begun = sorted((job for job in jobs if job[3] is not None), key=lambda job: (job[3], job[0]))
        wrong = 0
        for i, later in enumerate(begun):
            for earlier in begun[:i]:
                # `earlier` began first; was `later` before it in the queue at that time?
                before = (-later[1], later[0]) < (-earlier[1], earlier[0])
                if not before or later[3] <= earlier[3]:
                    continue
                # Not if `later` came when `earlier` was chosen already, and its supervisor had not yet told that it began.
                if later[2] < earlier[2]:
                    wrong += 1
                elif later[2] + SUPERVISOR_STARTS < earlier[3] and later[1] > earlier[1]:
                    wrong += 1
        expect(wrong == 0, wrong, "pairs of jobs began in the wrong order")


def main():
    sinew, clients, jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"SEED={seed}", flush=True)
    place = Place(sinew, GPUS)
    began = time.monotonic()
    try:
        chaos = Chaos(place, clients, jobs, seed)
        chaos.run()
        chaos.check()
    except Exception:
        print("logs:", *[open(server.log).read()[-2000:] for server in place.servers[-2:]], sep="\n")
        raise
    finally:
        place.close(folders_may_stay=True)
    print(f"all right ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    os.umask(0o077)
    try:
        main()
    except Failed as problem:
        print("FAILED:", problem)
        sys.exit(1)
