#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strangers_test.py SINEW [name]...: connections to `sinew serve` without the key, and too many."""
import os
import socket
import threading
import time

from support import eventually, expect, run_tests


def address_of(server):
    host, port = server.at.rsplit(":", 1)
    return host, int(port)


def connect(server):
    connection = socket.create_connection(address_of(server), timeout=60)
    return connection


def is_closed(connection):
    """Whether the server closes it: after an alert of TLS at most."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def refusals(place):
    return place.rows("SELECT address, detail FROM audit WHERE action = 'refuse'")


def wrong_key_is_refused_and_audited(place):
    server = place.serve()
    place.command("serve", "--new-key", f"{place.folder}/other")
    place.command("run", "--at", server.at, "--key", f"{place.folder}/other", "true", code=125)
    expect("does not know" in place.errors or "secret" in place.errors, place.errors)
    place.command("ps", "--at", server.at, "--key", f"{place.folder}/other", code=125)
    eventually(lambda: refusals(place), "an entry")
    expect(refusals(place)[0][0] == "127.0.0.1", refusals(place))
    expect(place.rows("SELECT count(*) FROM job") == [(0,)], "no job")
    place.command("run", "--at", server.at, "true")
    audit = place.rows("SELECT name, address, action, detail FROM audit WHERE action != 'refuse' ORDER BY rowid")
    expect([each[2] for each in audit] == ["submit", "start", "end"], audit)
    expect("@" in audit[0][0] and audit[0][1] == "127.0.0.1" and "true" in audit[0][3], audit)


def garbage_is_refused(place):
    server = place.serve()
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\x16\x03\x01\x00\x05hello", b"\0" * 70000,
                    b"\x16\x03\x03\xff\xff" + os.urandom(70000)):
        with connect(server) as connection:
            try:
                connection.sendall(garbage)
            except ConnectionError:
                continue  # closed already
            expect(is_closed(connection), garbage[:20])
    place.command("run", "--at", server.at, "true")


def silent_and_slow_connections_are_closed(place):
    server = place.serve()
    silent, slow = connect(server), connect(server)
    began = time.monotonic()

    def send_slowly():
        try:
            for byte in b"\x16\x03\x01\x02\x00" + b"\x01" * 500:
                slow.sendall(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            pass

    sender = threading.Thread(target=send_slowly)
    sender.start()
    expect(is_closed(silent) and is_closed(slow), "closed")
    expect(time.monotonic() - began < 40, "not after minutes")
    sender.join()
    silent.close()
    slow.close()
    place.command("run", "--at", server.at, "true")


def thousand_idle_connections_do_no_harm(place):
    server = place.serve()
    idle = []
    try:
        for _ in range(1000):
            idle.append(connect(server))
        for i in range(5):
            out = place.command("run", "--at", server.at, "--gpu", 1, "echo", i)
            expect(out == f"{i}\n", out)
        place.command("ps", "--at", server.at)
        expect(server.poll() is None, "it lives")
    finally:
        for connection in idle:
            connection.close()
    # Each is one of a count, not an entry of its own.
    eventually(lambda: refusals(place), "an entry")
    time.sleep(1.2)
    expect(len(refusals(place)) < 100, len(refusals(place)))


def few_descriptors_are_enough(place):
    import resource

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    server = place.serve(preexec_fn=few)
    idle = [connect(server) for _ in range(100)]
    try:
        out = place.command("run", "--at", server.at, "echo", "there")
        expect(out == "there\n", out)
    finally:
        for connection in idle:
            connection.close()


def registry_finds_servers_by_name(place):
    # Longer than a loaded machine may keep the server from announcing itself.
    registry = place.serve("--expiry", "30s", verb="registry")
    server = place.serve("--registry", registry.at, "--name", "TensorFlow", "--alias", "tensorflow-2.1")
    where = ["--registry", registry.at]

    def known():
        return place.command("registry", "--list", "--key", place.key, "--address", registry.at)

    eventually(lambda: "tensorflow-2.1" in known(), "it is announced")
    expect(known() == f"{server.at} tensorflow tensorflow-2.1\n", known())
    for name in ("tensorflow", "TENSORFLOW-2.1"):
        out = place.command("run", *where, "--at", name, "echo", name)
        expect(out == f"{name}\n", out)
    place.command("run", *where, "--at", "pytorch", "true", code=125)
    expect("tensorflow, tensorflow-2.1" in place.errors, place.errors)
    registry.kill()
    registry.wait()
    place.serve("--expiry", "1500ms", verb="registry", address=registry.at)
    eventually(lambda: known(), "it announces itself to the next registry")
    server.kill()
    server.wait()
    eventually(lambda: known() == "", "it is forgotten")
    place.command("ps", *where, "--at", "tensorflow", code=125)
    place.command("registry", "--list", "--key", place.key, "--address", "127.0.0.1:1", code=125)
    place.command("serve", "--new-key", f"{place.folder}/other")
    place.command("registry", "--list", "--key", f"{place.folder}/other", "--address", registry.at, code=125)


def file_of_services_has_names(place):
    server = place.serve()
    services = f"{place.folder}/services"
    with open(services, "w") as file:
        file.write(f"# ours\n{server.at} box Box-2  # the old one\n")
    for name in ("box", "BOX-2"):
        place.command("run", "--services", services, "--at", name, "true")
    place.command("ps", "--services", services, "--at", "box")
    os.makedirs(f"{place.folder}/config/sinew")
    os.rename(services, f"{place.folder}/config/sinew/services")
    place.command("run", "--at", "box", "true")
    with open(f"{place.folder}/config/sinew/services", "a") as file:
        file.write("nowhere box\n")
    place.command("run", "--at", "box", "true", code=2)
    expect("services:3: " in place.errors, place.errors)


if __name__ == "__main__":
    os.umask(0o077)
    run_tests([
        wrong_key_is_refused_and_audited, garbage_is_refused, silent_and_slow_connections_are_closed,
        thousand_idle_connections_do_no_harm, few_descriptors_are_enough, registry_finds_servers_by_name,
        file_of_services_has_names])
