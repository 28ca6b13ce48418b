# SPDX-License-Identifier: Apache-2.0
"""What the tests of `sinew serve` share: a server with fake GPUs, clients, and what may not remain."""
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

FINAL = ("completed", "failed", "cancelled", "timeout")
# Sanitizers make processes many times as slow.
PATIENCE = 60 * (4 if os.environ.get("SLOW_TEST") else 1)


class Failed(AssertionError):
    pass


def expect(holds, *about):
    if not holds:
        raise Failed(" ".join(str(part) for part in about))


def eventually(holds, about, limit=None):
    """Waits until holds() is true, and returns its value."""
    end = time.monotonic() + (limit or PATIENCE)
    while time.monotonic() < end:
        if value := holds():
            return value
        time.sleep(0.02)
    raise Failed(f"not within the limit: {about}")


class Place:
    """A folder with a key, in which all of a test's processes live; the server is a child of ours."""

    def __init__(self, sinew, gpus=4):
        self.sinew = os.path.realpath(sinew)
        self.folder = tempfile.mkdtemp(prefix="sinew-service-")
        self.key = f"{self.folder}/key"
        self.state = f"{self.folder}/state"
        os.mkdir(f"{self.folder}/work")
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("SINEW_RUN_")}
        self.environment |= {
            "SINEW_GPUS": str(gpus), "SINEW_LEASE_DIR": f"{self.folder}/leases",
            "SINEW_TMPDIR": self.folder, "XDG_CONFIG_HOME": f"{self.folder}/config",
            "SINEW_NVML_LIBRARY": "none", "SINEW_RUN_KEY": self.key, "PLACE": self.folder}
        for name in ("CUDA_VISIBLE_DEVICES", "SINEW_LEASED_GPUS"):
            self.environment.pop(name, None)
        self.servers = []
        self.command("serve", "--new-key", self.key)

    def command(self, *words, code=0, **options):
        """Runs sinew to its end, and returns its standard output."""
        done = subprocess.run([self.sinew, *map(str, words)], env=self.environment, text=True,
                              cwd=f"{self.folder}/work", capture_output=True, timeout=4 * PATIENCE,
                              stdin=subprocess.DEVNULL, **options)
        self.errors = done.stderr
        expect(code is None or done.returncode == code, words, "ended with", done.returncode,
               done.stdout[-2000:], done.stderr[-2000:])
        self.code = done.returncode
        return done.stdout

    def start(self, *words, **options):
        """Starts sinew, with its output in pipes."""
        return subprocess.Popen([self.sinew, *map(str, words)], env=self.environment, text=True,
                                cwd=f"{self.folder}/work", stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def serve(self, *flags, address="127.0.0.1:0", verb="serve", environment=None, **options):
        """Starts a server (or registry), and returns it with its address as .at."""
        log = open(f"{self.folder}/{verb}-{len(self.servers)}.log", "w+")
        where = ["--state", self.state] if verb == "serve" else []
        server = subprocess.Popen(
            [self.sinew, verb, "--key", self.key, "--address", address, *where, *map(str, flags)],
            env=environment or self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=log, text=True, **options)
        self.servers.append(server)
        server.log = log.name
        line = server.stdout.readline()
        expect(line.startswith("listening on "), line, open(log.name).read())
        server.at = line.split()[2]
        return server

    def serve_again(self, server, *flags):
        """A server in the place of one that has ended, at its address."""
        return self.serve(*flags, address=server.at)

    def jobs(self, server):
        return json.loads(self.command("ps", "--at", server.at, "--json"))

    def rows(self, query, *values):
        """Of the server's database."""
        with contextlib.closing(sqlite3.connect(f"file:{self.state}/jobs.sqlite?mode=ro", uri=True,
                                                timeout=20)) as database:
            return database.execute(query, values).fetchall()

    def state_of(self, job):
        rows = self.rows("SELECT state FROM job WHERE id = ?", job)
        return rows[0][0] if rows else None

    def id_of(self, name):
        rows = self.rows("SELECT id FROM job WHERE request LIKE ?", f'%"name":"{name}"%')
        return rows[0][0] if rows else None

    def submit(self, server, name, *words):
        """Submits a job that goes on by itself, and returns its number."""
        self.command("run", "--at", server.at, "-d", "--name", name, *words)
        return self.id_of(name)

    def stop_servers(self):
        for server in self.servers:
            if server.poll() is None:
                server.terminate()
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
            server.stdout.close()

    def processes(self):
        """Those of this place, by their environment: of jobs, servers and clients."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"PLACE={self.folder}\0".encode() not in file.read():
                        continue
                with open(f"/proc/{pid}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found.append((int(pid), file.read().replace(b"\0", b" ").decode()))
            except OSError:
                continue
        return found

    def close(self, folders_may_stay=False):
        """Ends all servers, and expects that nothing remains. Folders of jobs may if their processes were
        killed while they made or removed one: a later `sinew run` removes them."""
        self.stop_servers()
        with contextlib.suppress(Failed):
            eventually(lambda: not self.processes(), "the end of all processes", 20)
        left = self.processes()
        for pid, _ in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        folders = [each for each in os.listdir(self.folder) if each.startswith("sinew-")]
        for server in self.servers:
            text = open(server.log).read()
            expect("Sanitizer" not in text and "terminate called" not in text, text[-4000:])
        shutil.rmtree(self.folder, ignore_errors=True)
        expect(not left, "processes remain:", left)
        expect(folders_may_stay or not folders, "folders of jobs remain:", folders)


def run_tests(tests, gpus=4):
    """Runs the functions in places of their own; the command's arguments are SINEW [name]..."""
    if not hasattr(os, "pidfd_open"):
        print("skipped: Python is too old")
        sys.exit(77)
    failures = 0
    for test in tests:
        if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
            continue
        began = time.monotonic()
        place = Place(sys.argv[1], gpus)
        try:
            try:
                test(place)
            finally:
                place.close()
            print(f"{test.__name__}: all right ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception as problem:  # pylint: disable=broad-except
            failures += 1
            while problem is not None:
                print(f"{test.__name__}: FAILED: {type(problem).__name__}: {problem}", flush=True)
                problem = problem.__context__
    sys.exit(1 if failures else 0)
