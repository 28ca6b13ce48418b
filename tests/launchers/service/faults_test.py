#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults_test.py SINEW [name]...: what of `sinew serve` survives kill -9, full disks and wrong files."""
import os
import resource
import signal
import time

from support import eventually, expect, run_tests


def kill(server):
    server.kill()
    server.wait()


def restarted_server_has_queue_and_jobs(place):
    server = place.serve()
    go = f"{place.folder}/go"
    hold = f"until [ -e {go} ]; do sleep 0.05; done"
    running = place.submit(server, "running", "--gpu", 3, "sh", "-c", f"echo begun; {hold}; exit 5")
    eventually(lambda: place.state_of(running) == "running", "it runs")
    names = [f"waiting-{i}" for i in range(5)]
    for name in names:
        place.submit(server, name, "--gpu", 3, "sh", "-c", f"echo {name} >>order")
    following = place.start("run", "--at", server.at, "--gpu", 2, "sh", "-c", "echo last; exit 9")
    eventually(lambda: place.state_of(7) == "waiting", "all wait")
    kill(server)
    time.sleep(0.3)
    expect(any("until" in each[1] for each in place.processes()), "the running job goes on")
    server = place.serve_again(server)
    expect([place.state_of(job) for job in range(1, 8)] == ["running"] + ["waiting"] * 6,
           place.rows("SELECT id, state FROM job"))
    expect(place.command("logs", "--at", server.at, "running") == "begun\n", "its output")
    open(go, "w").close()
    out, err = following.communicate(timeout=60)
    expect(out == "last\n" and following.returncode == 9, following.returncode, out, err)
    expect(place.rows("SELECT state, exit_code FROM job WHERE id = 1") == [("failed", 5)], "its end")
    expect(open(f"{place.folder}/work/order").read().split() == names, "the order")


def job_that_ends_without_the_server_is_recorded(place):
    server = place.serve()
    go = f"{place.folder}/go"
    job = place.submit(server, "job", "sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done; exit 4")
    lost = place.submit(server, "lost", "--gpu", 4, "sleep", 100)
    eventually(lambda: place.state_of(lost) == "running", "they run")
    kill(server)
    open(go, "w").close()
    supervisors = [pid for pid, words in place.processes() if " supervise " in words]
    expect(len(supervisors) == 2, place.processes())
    eventually(lambda: len([1 for _, words in place.processes() if " supervise " in words]) == 1, "its end")
    for pid, words in place.processes():
        if " supervise " in words:
            os.kill(pid, signal.SIGKILL)
    server = place.serve_again(server)
    eventually(lambda: place.state_of(lost) == "failed", "the other's end is noticed")
    expect(place.rows("SELECT state, exit_code FROM job WHERE id = ?", job) == [("failed", 4)], "job")
    expect("supervisor was killed" in place.rows("SELECT cause FROM job WHERE id = 2")[0][0], "cause")
    place.command("run", "--at", server.at, "--gpu", 4, "true")


def gpus_are_free_only_when_all_processes_are_gone(place):
    server = place.serve()
    job = place.submit(server, "stubborn", "--gpu", 4, "--grace", "1s", "sh", "-c",
                       'trap "" TERM; while :; do date +%s%N >>last; sleep 0.02; done')
    written = f"{place.folder}/work/last"
    eventually(lambda: os.path.exists(written) and open(written).read(), "it runs")
    for pid, words in place.processes():
        if " supervise " in words:
            os.kill(pid, signal.SIGKILL)
    place.command("run", "--at", server.at, "--gpu", 4, "sh", "-c", "date +%s%N >first")
    last, first = (int(open(f"{place.folder}/work/{name}").read().split()[-1]) for name in ("last", "first"))
    expect(last < first, last, first)
    expect(place.state_of(job) == "failed", place.state_of(job))


def client_comes_back_to_a_restarted_server(place):
    server = place.serve()
    client = place.start("run", "--at", server.at, "sh", "-c",
                         "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.2; done; exit 6")
    expect(client.stdout.readline() == "1\n", "it starts")
    kill(server)
    time.sleep(0.5)
    place.serve_again(server)
    out, err = client.communicate(timeout=60)
    expect(client.returncode == 6 and out.split() == [str(i) for i in range(2, 11)], out, err)


def job_without_its_client_ends_after_a_restart(place):
    server = place.serve()
    client = place.start("run", "--at", server.at, "sleep", 100)
    eventually(lambda: place.state_of(1) == "running", "it runs")
    kill(server)
    client.kill()
    client.communicate()
    place.serve_again(server, "--client-timeout", "100ms")
    eventually(lambda: place.state_of(1) == "cancelled", "its end")


def full_disk_refuses_jobs_and_loses_none(place):
    limit = 300_000

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    server = place.serve(preexec_fn=small_files)
    accepted = 0
    for i in range(200):
        place.command("run", "--at", server.at, "-d", "--name", f"job-{i}", "-x", "A=" + 9000 * "a", "true",
                      code=None)
        if place.code != 0:
            expect("cannot be" in place.errors, place.errors)
            break
        accepted += 1
    expect(0 < accepted < 200, accepted, place.errors)
    expect(server.poll() is None, "the server lives")
    kill(server)
    server = place.serve_again(server)
    eventually(lambda: place.rows("SELECT count(*) FROM job WHERE state = 'completed'") == [(accepted,)],
               lambda: place.rows("SELECT id, state, cause FROM job"))
    folders = os.listdir(f"{place.state}/jobs")
    expect(len(folders) == accepted, folders)


def wrong_files_are_explained(place):
    place.serve()
    place.command("serve", "--address", "127.0.0.1:0", "--state", place.state, "--key", place.key, code=2)
    expect("another process" in place.errors, place.errors)
    os.chmod(place.key, 0o640)
    place.command("serve", "--address", "127.0.0.1:0", "--state", f"{place.folder}/s2", "--key", place.key, code=2)
    expect("chmod 600" in place.errors, place.errors)
    place.command("run", "--at", "127.0.0.1:1", "true", code=2)
    expect("chmod 600" in place.errors, place.errors)
    os.chmod(place.key, 0o600)
    for content in ("", "00" * 32, "abc", "0123456789abcdef" * 4 + "00"):
        path = f"{place.folder}/weak"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(content)
        place.command("serve", "--address", "127.0.0.1:0", "--state", f"{place.folder}/s2", "--key", path, code=2)
        expect("not usable" in place.errors and (not content or content not in place.errors), place.errors)
    place.command("serve", "--new-key", place.key, code=2)
    expect("exists" in place.errors, place.errors)
    place.command("run", "--key", f"{place.folder}/missing", "--at", "127.0.0.1", "true", code=2)
    expect("--new-key" in place.errors, place.errors)
    with open(f"{place.state}/jobs.sqlite", "rb") as file:
        expect(file.read(15) == b"SQLite format 3", "a database")
    expect(os.stat(f"{place.state}/jobs.sqlite").st_mode & 0o077 == 0, "its mode")
    with open(place.key) as file:
        secret = file.read().strip()
    for folder, _, files in os.walk(place.folder):
        for name in files:
            if (path := os.path.join(folder, name)) != place.key:
                with open(path, "rb") as file:
                    expect(secret.encode() not in file.read(), "the key is in", path)


if __name__ == "__main__":
    os.umask(0o077)
    run_tests([
        restarted_server_has_queue_and_jobs, job_that_ends_without_the_server_is_recorded,
        gpus_are_free_only_when_all_processes_are_gone, client_comes_back_to_a_restarted_server, job_without_its_client_ends_after_a_restart,
        full_disk_refuses_jobs_and_loses_none, wrong_files_are_explained])
