# SPDX-License-Identifier: Apache-2.0
"""Whole jobs, as a shell sees them: how the module is found, how a program ends, what the other ranks are told.

jobs_test.py SINEW: SINEW is the command. Each job is a short program in this file."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

try:
    import numpy  # noqa: F401
except ImportError:
    print("SKIP: numpy is not installed (Debian: python3-numpy)")
    sys.exit(77)

SINEW = os.path.abspath(sys.argv.pop(1))
PACKAGE = Path(os.environ["PYTHONPATH"].split(os.pathsep)[0])


class Jobs(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def python(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.command([sys.executable, "-B", *arguments], **variables)

    def command(self, words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120,
                              cwd=self.folder)

    def job(self, ranks: int, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a program that has `comm` and `world` at hand."""
        file = self.folder / "program.py"
        file.write_text("import os, signal, sys, threading, time\nimport numpy as np\nimport sinew\n" +
                        textwrap.dedent(program))
        return self.command([SINEW, "run", "-n", str(ranks), sys.executable, "-B", str(file)], **variables)

    # ---- finding the library -----------------------------------------------------------------

    def test_version(self) -> None:
        result = self.python("-m", "sinew", "--version")
        self.assertRegex(result.stdout, r"^sinew \d+\.\d+\.\d+ \(.*libsinew_c\.so.*\), Python 3\.")
        self.assertEqual(self.python("-m", "sinew").returncode, 2)

    def test_the_package_has_the_version_of_the_library(self) -> None:
        result = self.python("-c", "import sinew; print(sinew.__version__)")
        self.assertEqual(result.stdout, (PACKAGE / "version.txt").read_text())

    def test_a_library_that_is_not_there(self) -> None:
        result = self.python("-c", "import sinew", SINEW_LIBRARY="/nowhere/libsinew_c.so")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere/libsinew_c.so (SINEW_LIBRARY=/nowhere/libsinew_c.so): no such file", result.stderr)
        self.assertIn("cmake --install", result.stderr)

    def test_a_library_that_is_none(self) -> None:
        other = self.folder / "libsinew_c.so.1"
        other.write_text("not a library")
        result = self.python("-c", "import sinew", SINEW_LIBRARY=str(self.folder))
        self.assertIn("LibraryNotFound", result.stderr)
        self.assertIn(str(other), result.stderr)

    def test_where_it_is_looked_for(self) -> None:
        """Beside the package, as installed: PREFIX/lib/python3/dist-packages/sinew and PREFIX/lib."""
        installed = self.folder / "lib/python3/dist-packages"
        shutil.copytree(PACKAGE / "sinew", installed / "sinew", ignore=shutil.ignore_patterns("__pycache__"))
        variables = {"PYTHONPATH": str(installed), "SINEW_LIBRARY": "", "LD_LIBRARY_PATH": ""}
        result = self.python("-m", "sinew", "--version", **variables)
        if result.returncode != 0:  # the system has no library of its own either
            self.assertIn(f"{installed}/sinew/libsinew_c.so.1 (in the package): no such file", result.stderr)
            self.assertIn(f"{self.folder}/lib/libsinew_c.so.1 (beside the package): no such file", result.stderr)
            self.assertIn("LD_LIBRARY_PATH", result.stderr)
        library = Path(os.environ["SINEW_LIBRARY"]) / "libsinew_c.so.1"
        (self.folder / "lib/libsinew_c.so.1").symlink_to(library)
        result = self.python("-m", "sinew", "--version", **variables)
        self.assertIn(f"({self.folder}/lib/libsinew_c.so.1)", result.stdout, result.stderr)

    # ---- how programs end --------------------------------------------------------------------

    def test_alone_and_without_with(self) -> None:
        """The end of the program leaves the world; several worlds one after the other are possible where sockets or
        nothing carries them."""
        result = self.job(2, """
            world = sinew.World()
            comm = world.communicator
            assert world.size == 2 and world.bootstrap == "agent"
            print("sum", comm.allreduce(np.ones(1))[0], flush=True)
            """)
        self.assertEqual((result.returncode, result.stdout.count("sum 2.0")), (0, 2), result.stderr)
        self.assertEqual(result.stderr, "")
        (self.folder / "alone.py").write_text("import sinew\nwith sinew.World() as w: print(w.size, w.bootstrap)\n")
        self.assertEqual(self.python("alone.py").stdout, "1 alone\n")

    def test_an_exception_tells_the_others(self) -> None:
        for body in ("with sinew.World() as world:\n    step(world)", "step(sinew.World())"):
            result = self.job(2, textwrap.dedent("""
                def step(world):
                    if world.rank == 1:
                        raise ValueError("no such file: digits.csv")
                    try:
                        world.communicator.allreduce(np.ones(10))
                    except sinew.PeerLost as error:
                        print("rank 0 was told:", error, flush=True)
                        raise

                """) + body)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stdout, r"rank 0 was told: .*rank 1 of 2 left the world: "
                             "ValueError: no such file: digits.csv", result.stderr)
            self.assertNotIn("Exception ignored", result.stderr)

    def test_system_exit_in_a_with_block(self) -> None:
        result = self.job(2, """
            with sinew.World() as world:
                if world.rank == 1:
                    sys.exit(3)
                try:
                    world.communicator.barrier()
                except sinew.PeerLost:
                    time.sleep(5)
            """)
        self.assertEqual(result.returncode, 3, result.stderr)
        result = self.job(2, "with sinew.World() as world:\n    sys.exit(0)\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_killed_rank(self) -> None:
        result = self.job(3, """
            with sinew.World() as world:
                if world.rank == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    world.communicator.allreduce(np.ones(1_000_000))
                except sinew.PeerLost as error:
                    assert isinstance(error, ConnectionError)
                    print("told:", error, flush=True)
                    raise
            """)
        self.assertEqual(result.returncode, 128 + 9)
        self.assertRegex(result.stdout + result.stderr, r"rank 2 on \S+")

    def test_interrupt_ends_a_blocking_call(self) -> None:
        """SIGINT at a rank that waits in a collective: KeyboardInterrupt there, PeerLost at the others."""
        result = self.job(2, """
            with sinew.World() as world:
                comm = world.communicator
                comm.barrier()
                began = time.monotonic()
                if world.rank == 0:
                    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                    try:
                        comm.allreduce(np.ones(10))
                    except KeyboardInterrupt:
                        print("interrupted", time.monotonic() - began < 20, flush=True)
                    try:
                        comm.barrier()
                    except sinew.Error as error:
                        assert "lost" in str(error)
                        print("lost", flush=True)
                    time.sleep(30)  # the launcher ends it when rank 1 has ended with what it was told
                else:
                    while not comm.irecv(np.ones(1), 0).wait_for(1):  # rank 0 never sends
                        pass
            """)
        self.assertIn("interrupted True", result.stdout, result.stderr)
        self.assertIn("lost", result.stdout)
        self.assertRegex(result.stderr, r"PeerLost: .*rank 0 .* was interrupted by its program")
        self.assertNotIn("Exception ignored", result.stderr)

    def test_timeout_of_one_call(self) -> None:
        result = self.job(2, """
            with sinew.World() as world:
                comm = world.communicator
                comm.barrier()
                try:
                    if world.rank == 0:
                        comm.allreduce(np.ones(10), timeout=0.3)
                    else:
                        comm.recv(np.ones(1), 0)
                except sinew.Timeout as error:
                    assert isinstance(error, TimeoutError) and world.rank == 0
                    print("timeout:", error, flush=True)
                except sinew.PeerLost:
                    pass
            """)
        self.assertRegex(result.stdout, r"timeout: rank 0 of 2 .*not arrived: rank 1", result.stderr)

    def test_buffers_of_calls_that_failed_are_kept(self) -> None:
        """Other ranks may still write to them, so they are not freed before the communicator is."""
        result = self.job(2, """
            import gc, weakref
            class Array(np.ndarray):
                pass
            with sinew.World() as world:
                comm = world.communicator
                comm.barrier()
                if world.rank == 1:
                    raise ValueError("gives up")
                array, other = (np.ones(1000).view(Array) for _ in range(2))
                kept, other_kept = weakref.ref(array), weakref.ref(other)
                request = comm.iallreduce(other)
                try:
                    comm.allreduce(array)
                except sinew.PeerLost:
                    pass
                del array, other
                try:
                    request.wait()
                except sinew.PeerLost:
                    pass
                del request
                gc.collect()
                print("kept", kept() is not None, other_kept() is not None, flush=True)
            """)
        self.assertIn("kept True True", result.stdout, result.stderr)

    def test_handlers_may_raise_what_they_like(self) -> None:
        result = self.job(1, """
            class Preempted(Exception):
                pass
            def handler(*_):
                raise Preempted("30 s left")
            signal.signal(signal.SIGUSR1, handler)
            with sinew.World() as world:
                got = np.zeros(1)
                request = world.communicator.irecv(got, 0)
                threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
                try:
                    request.wait()
                except Preempted as error:
                    print(error, flush=True)
                world.communicator.send(np.ones(1), 0)
                print(request.wait(), got, flush=True)
            """)
        self.assertEqual(result.stdout, "30 s left\nReceived(source=0, tag=0, count=1) [1.]\n", result.stderr)

    def test_requests_and_arrays_left_at_the_end(self) -> None:
        """Communicators, requests and shared arrays that the program still has do not disturb the end."""
        result = self.job(2, """
            world = sinew.World()
            comm = world.communicator
            part, shared = comm.dup(), comm.allocate(1000)
            request = part.iallreduce(shared)
            world.close()
            shared[:] = 1
            assert shared.sum() == 1000 and request.test()
            try:
                part.barrier()
            except sinew.UsageError as error:
                print(error, flush=True)
            world.close()
            """)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("this communicator is closed"), 2)
        self.assertEqual(result.stderr, "")

    def test_the_ranks_that_are_left_go_on(self) -> None:
        result = self.job(3, """
            with sinew.World() as world:
                comm = world.communicator
                comm.barrier()
                if comm.rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    comm.barrier()
                except (sinew.PeerLost, sinew.Timeout):
                    left = comm.shrink(timeout=60)
                    total = left.allreduce_value(world.rank + 1)
                    print(f"{left.rank} of {left.size}: {total}", flush=True)
                    left.barrier()
            """, SINEW_TRANSPORT="socket", SINEW_RUN_NO_KILL="1")
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 of 2: 4", "1 of 2: 4"], result.stderr)

    def test_a_forked_child_leaves_the_rank_alone(self) -> None:
        result = self.job(2, """
            world = sinew.World()
            comm = world.communicator
            part, request = comm.dup(), comm.iallreduce(np.ones(10))
            child = os.fork()
            if child == 0:
                del part, request
                sys.exit(7)  # runs what is registered for the end of a program
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            request.wait()
            assert part.allreduce_value(1) == 2
            """)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_receive_that_never_ends_does_not_keep_the_program(self) -> None:
        result = self.job(2, """
            world = sinew.World()
            request = world.communicator.irecv(np.ones(1), 0, 7)
            """)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_mismatched_calls_are_named(self) -> None:
        result = self.job(2, """
            with sinew.World() as world:
                comm = world.communicator
                try:
                    comm.allreduce(np.ones(10 + world.rank))
                except sinew.UsageError as error:
                    print(error, flush=True)
            """, SINEW_CHECK="1")
        self.assertGreaterEqual(len(re.findall(r"allreduce\(f64 x 1[01]", result.stdout)), 2, result.stderr)


unittest.main()
