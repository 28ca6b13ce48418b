# SPDX-License-Identifier: Apache-2.0
"""The server's side of the container runtime."""
import json
import os
import queue
import socket
import threading

from . import runtime_process

_REPLY_SECONDS = 60.0
_SO_SNDBUFFORCE = 32
_BUFFER = 8 << 20


class Refused(Exception):
    """The runtime refused; the text says why."""


class Runtime:
    """Starts the runtime process in its constructor: make it before any thread exists.

    `request` may be called by any thread; `on_exit(key, code, signal, at, cpu)` is called by the reader thread.
    """

    def __init__(self, config):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for s in (ours, theirs):
            s.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER)
        r, w = os.pipe2(os.O_CLOEXEC)
        self.child = os.fork()
        if self.child == 0:
            ours.close()
            os.close(r)
            runtime_process.main(theirs, config, w)
        theirs.close()
        os.close(w)
        self.pid = int(os.read(r, 32) or 0)
        os.close(r)
        self.sock, self.on_exit = ours, None
        self._lock, self._replies, self._next = threading.Lock(), {}, 0
        ours.settimeout(30)
        first = json.loads(ours.recv(65536) or b'{}')
        if first.get('event') != 'started':
            raise Refused('the container runtime did not start: %s; it needs root, overlayfs and the right to make namespaces'
                                % first.get('error', 'it ended'))
        ours.settimeout(None)

    def start(self):
        threading.Thread(target=self._read, name='runtime', daemon=True).start()

    def _read(self):
        while True:
            try:
                raw, fds, _, _ = socket.recv_fds(self.sock, 1 << 20, 8)
            except OSError:
                raw = b''
            if not raw:
                with self._lock:
                    for q in self._replies.values():
                        q.put(({'error': 'the container runtime has ended'}, []))
                return
            o = json.loads(raw)
            if o.get('event') == 'exit':
                self.on_exit(o['key'], o['code'], o['signal'], o['at'], o['cpu'])
                continue
            with self._lock:
                q = self._replies.pop(o['id'], None)
            if q:
                q.put((o, fds))

    def request(self, op, fds=(), **args):
        """The reply and its descriptors; Refused when the runtime says no or does not answer in time."""
        q = queue.SimpleQueue()
        with self._lock:
            self._next += 1
            number = self._next
            self._replies[number] = q
            try:
                socket.send_fds(self.sock, [json.dumps(dict(args, op=op, id=number)).encode()], list(fds))
            except OSError as e:
                raise Refused('the container runtime has ended: %s' % e) from None
        try:
            reply, back = q.get(timeout=_REPLY_SECONDS)
        except queue.Empty:
            raise Refused('the container runtime did not answer %s within %d s' % (op, _REPLY_SECONDS)) from None
        if reply.get('error'):
            raise Refused(reply['error'])
        return reply, back

    def stop(self):
        """Ends the runtime and, with its pid namespace, all that it started."""
        import signal
        try:
            os.kill(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        try:
            os.waitpid(self.child, 0)
        except ChildProcessError:
            pass
        self.sock.close()
