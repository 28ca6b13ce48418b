# SPDX-License-Identifier: Apache-2.0
"""Runs in a pod of no job: forwards connections to a job's root, whose address it waits for in a file, and records what its
agents send.  Then it attacks the root: bytes that mean nothing, silence, and what the agents have sent, again.

tap.py TARGET_FILE STATE_FILE: the state becomes "listens", "attacks" (once "attack" is in the target file), "done: COUNTS"."""
import os
import random
import socket
import sys
import threading
import time

target_file, state_file = sys.argv[1:]
records = []


def target():
    while True:
        try:
            words = open(target_file).read().split()
        except OSError:
            words = []
        if words:
            return words
        time.sleep(0.05)


def say(words):
    with open(state_file + '.new', 'w') as f:
        f.write(words + '\n')
    os.rename(state_file + '.new', state_file)


def dial():
    host, port = target()[0].rsplit(':', 1)
    while True:
        try:
            return socket.create_connection((host, int(port)), 5)
        except OSError:
            time.sleep(0.1)


def copy(a, b, record):
    try:
        while data := a.recv(65536):
            if record is not None:
                record.append(data)
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(server):
    while True:
        conn, _ = server.accept()
        out = dial()
        out.settimeout(None)
        record = []
        records.append(record)
        threading.Thread(target=copy, args=(conn, out, record), daemon=True).start()
        threading.Thread(target=copy, args=(out, conn, None), daemon=True).start()


def attack(data, pieces=1):
    """Sends the bytes; whether the root ends the connection within 15 s."""
    s = dial()
    s.settimeout(15)
    try:
        step = max(1, -(-len(data) // pieces))
        for i in range(0, len(data), step):
            s.sendall(data[i:i + step])
        while s.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass                                           # a reset is an end, too
    return True


def main():
    server = socket.create_server(('', 7077))
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    say('listens')
    while 'attack' not in target():
        time.sleep(0.05)
    say('attacks')
    rng = random.Random(1)
    recorded = [b''.join(r) for r in records if r]
    cases = [rng.randbytes(n) for n in (1, 100, 70000)] + [b'GET / HTTP/1.1\r\n\r\n', b'\0' * 1000, b'\xff' * 1000]
    cases += [r for r in recorded] + [r[:200] + rng.randbytes(200) for r in recorded]
    ended = []
    threads = [threading.Thread(target=lambda c=c: ended.append(attack(c))) for c in cases]
    idle = [dial() for _ in range(20)]                 # say nothing
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in idle:
        s.close()
    say('done: %d recorded, %d of %d ended' % (len(recorded), sum(ended), len(cases)))
    time.sleep(1000)


main()
