# SPDX-License-Identifier: Apache-2.0
"""Container output: one thread copies all pipes into log files in the CRI form `time stream F|P text`."""
import os
import selectors
import threading
import time

_PART = 16384


def _stamp():
    t = time.time_ns()
    return (time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(t // 10 ** 9)) + '.%09dZ' % (t % 10 ** 9)).encode()


class _Pipe:
    __slots__ = ('fd', 'stream', 'file', 'rest', 'key')

    def __init__(self, fd, stream, file, key):
        self.fd, self.stream, self.file, self.rest, self.key = fd, stream, file, b'', key


class LogPump(threading.Thread):
    """`add` may be called by any thread; `on_end(key)` is called by this one when both pipes of a container have ended."""

    def __init__(self, on_end):
        super().__init__(name='logs', daemon=True)
        self._sel, self._lock, self._open = selectors.DefaultSelector(), threading.Lock(), {}
        self._wake_r, self._wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._sel.register(self._wake_r, selectors.EVENT_READ)
        self._new, self._on_end = [], on_end

    def add(self, key, path, out_fd, err_fd):
        file = open(path, 'ab', buffering=0)
        with self._lock:
            self._open[key] = 2
            self._new += [_Pipe(out_fd, b'stdout', file, key), _Pipe(err_fd, b'stderr', file, key)]
        os.write(self._wake_w, b'x')

    def run(self):
        while True:
            for k, _ in self._sel.select():
                if k.data is None:
                    os.read(self._wake_r, 4096)
                    with self._lock:
                        fresh, self._new = self._new, []
                    for p in fresh:
                        self._sel.register(p.fd, selectors.EVENT_READ, p)
                else:
                    self._copy(k.data)

    def _copy(self, p):
        d = os.read(p.fd, 65536)
        stamp = _stamp()
        lines = (p.rest + d).split(b'\n')
        p.rest = lines.pop()
        head = stamp + b' ' + p.stream
        out = [head + b' F ' + line + b'\n' for line in lines]
        if len(p.rest) > _PART or (not d and p.rest):
            out.append(head + b' P ' + p.rest + b'\n')
            p.rest = b''
        if out:
            p.file.write(b''.join(out))
        if d:
            return
        self._sel.unregister(p.fd)
        os.close(p.fd)
        with self._lock:
            self._open[p.key] -= 1
            over = self._open[p.key] == 0
            if over:
                del self._open[p.key]
        if over:
            p.file.close()
            self._on_end(p.key)


def plain(line, stamps=False, since=''):
    """A log line as `kubectl logs` shows it; empty when it is older than `since`."""
    stamp, _, tag, text = (line.split(b' ', 3) + [b''] * 3)[:4]
    if stamp.decode() < since:
        return b''
    return (stamp + b' ' if stamps else b'') + text + (b'\n' if tag == b'F' else b'')


def tail(path, limit):
    """The last `limit` bytes of the output, for terminationMessagePolicy FallbackToLogsOnError (80 lines at most)."""
    try:
        with open(path, 'rb') as f:
            lines = f.read().split(b'\n')[:-1]
    except OSError:
        return b''
    return b''.join(plain(line) for line in lines[-80:])[-limit:]
