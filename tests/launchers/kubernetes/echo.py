# SPDX-License-Identifier: Apache-2.0
"""echo.py serve PORT: a rank that says its number to who connects to 127.0.0.1:PORT, and then what it hears.
echo.py ask PORT RANK CONNECTIONS BYTES: connects so often at the same time, and fails unless that rank says all bytes back."""
import os
import socket
import sys
import threading

SECONDS = 20


def echo(c):
    c.sendall(b'rank %s\n' % os.environ['SINEW_RANK'].encode())
    while True:
        d = c.recv(1 << 16)
        if not d:
            break
        c.sendall(d)
    c.close()


def serve(port):
    s = socket.create_server(('127.0.0.1', port), backlog=64)
    print('serves', flush=True)
    while True:
        threading.Thread(target=echo, args=(s.accept()[0],), daemon=True).start()


def ask(port, rank, count, failures):
    try:
        sent, want = os.urandom(count), b'rank %d\n' % rank
        with socket.create_connection(('127.0.0.1', port), SECONDS) as s:
            got = bytearray()
            writer = None
            while len(got) < len(want) + count:
                d = s.recv(1 << 16)
                if not d:
                    break
                if writer is None:                     # the connection has reached the rank
                    writer = threading.Thread(target=s.sendall, args=(sent,))
                    writer.start()
                got += d
            if writer is not None:
                writer.join()
        if bytes(got) != want + sent:
            failures.append('%d bytes of %d, the first %r' % (len(got), len(want) + count, bytes(got[:20])))
    except OSError as e:
        failures.append(str(e))


def main():
    port = int(sys.argv[2])
    if sys.argv[1] == 'serve':
        return serve(port)
    rank, connections, count = (int(a) for a in sys.argv[3:6])
    failures = []
    threads = [threading.Thread(target=ask, args=(port, rank, count, failures)) for _ in range(connections)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for f in failures[:3]:
        print('port %d: %s' % (port, f), file=sys.stderr)
    return 1 if failures else 0


sys.exit(main())
