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
        out = []
        for line in lines:
            while len(line) > _PART:
                out.append(head + b' P ' + line[:_PART] + b'\n')
                line = line[_PART:]
            out.append(head + b' F ' + line + b'\n')
        while len(p.rest) > _PART or (not d and p.rest):
            out.append(head + b' P ' + p.rest[:_PART] + b'\n')
            p.rest = p.rest[_PART:]
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


class Plain:
    """Log lines as `kubectl logs` shows them: those older than `since` are left out, and only the first part of a line
    has a stamp, as by kubelets since 1.26. Like the API server, it takes whole seconds of `since`."""

    def __init__(self, stamps=False, since=''):
        self._stamps, self._since, self._starts = stamps, since[:19].encode(), True

    def __call__(self, line):
        stamp, _, tag, text = (line.split(b' ', 3) + [b''] * 3)[:4]
        starts, self._starts = self._starts, tag == b'F'
        if stamp < self._since:
            return b''
        return (stamp + b' ' if self._stamps and starts else b'') + text + (b'\n' if tag == b'F' else b'')


def tail(path, limit):
    """The last `limit` bytes of the output, for terminationMessagePolicy FallbackToLogsOnError (80 lines at most)."""
    try:
        with open(path, 'rb') as f:
            lines = f.read().split(b'\n')[:-1]
    except OSError:
        return b''
    return b''.join(map(Plain(), lines[-80:]))[-limit:]
