# SPDX-License-Identifier: Apache-2.0
"""pods/portforward: SPDY/3.1 on an upgraded connection, plain or in the messages of a WebSocket.

A connection to a port is a pair of streams with the same requestID: `data`, and `error` for the text of a failure.  One
thread serves all pairs of a client.  As in a kubelet, a lost pod does not end the client's connection; only new pairs fail.
"""
import errno
import os
import select
import socket
import ssl
import time

from ..api import errors, spdy, websocket
from .runtime import Refused

_PROTOCOL = 'portforward.k8s.io'
_TUNNEL = 'SPDY/3.1+' + _PROTOCOL
_MOST_WAITING = 1 << 20                                # bytes for the client; beyond that no pod is read
_MOST_FOR_POD = 4 << 20                                # bytes for one port; beyond that the client is not read
_LAST_OUTPUT = 1.0                                     # seconds after the client's end, as containerd has it
_POLL_MS = 100
_PROTOCOL_ERROR = 1


class Plain:
    """The bytes of the connection are SPDY's."""

    def incoming(self, d):
        return d, b'', False

    def outgoing(self, d):
        return d


class Tunnel:
    """SPDY's bytes are the payload of binary messages."""

    def __init__(self):
        self._parser = websocket.Parser()

    def incoming(self, d):
        """SPDY's bytes, what is to be answered, and whether the client has closed."""
        out, answer, closed = b'', b'', False
        for op, payload in self._parser.feed(d):
            if op == websocket.OP_BINARY:
                out += payload
            elif op == websocket.OP_PING:
                answer += websocket.frame(websocket.OP_PONG, payload)
            closed = closed or op == websocket.OP_CLOSE
        return out, answer, closed

    def outgoing(self, d):
        return websocket.frame(websocket.OP_BINARY, d)


def negotiate(h):
    """The headers of the answer 101, and how SPDY's bytes travel; ApiError for a client that wants something else."""
    upgrade = h.headers.get('Upgrade', '').lower()
    if upgrade == 'websocket':
        head, _ = websocket.accept_headers(h.headers, (_TUNNEL,))
        if head is None:
            raise errors.bad_request('unable to upgrade: no WebSocket protocol of %r is known' % h.headers.get('Sec-WebSocket-Protocol', ''))
        return head, Tunnel()
    offered = [p.strip() for v in h.headers.get_all('X-Stream-Protocol-Version', []) for p in v.split(',')]
    if upgrade != 'spdy/3.1' or _PROTOCOL not in offered:
        raise errors.bad_request('Upgrade request required')
    return {'Connection': 'Upgrade', 'Upgrade': 'SPDY/3.1', 'X-Stream-Protocol-Version': _PROTOCOL}, Plain()


class Pair:
    """One connection to a port of the pod."""

    def __init__(self):
        self.streams, self.port = {}, 0               # by type: error, data
        self.sock, self.connecting, self.to_pod = None, False, bytearray()
        self.client_ended = None                       # since when


class PortForward:
    """`over()` says that the server ends, or that connections are to be cut."""

    def __init__(self, kubelet, pod, conn, link, over):
        self.kubelet, self.pod, self.conn, self.link, self.over = kubelet, pod, conn, link, over
        self.reader, self.writer = spdy.Reader(), spdy.Writer()
        self.out, self.pairs, self.by_stream, self.closed = bytearray(), {}, {}, False

    def run(self):
        self.conn.setblocking(False)
        try:
            self._flush()
            self._receive()                            # what came with the request
            while not self.closed and not self.over():
                self._turn()
        except (OSError, EOFError, spdy.Malformed):
            pass                                       # the client has gone, or is none
        finally:
            for p in self.pairs.values():
                if p.sock is not None:
                    p.sock.close()

    def _turn(self):
        poll, by_fd = select.poll(), {}
        full = any(len(p.to_pod) > _MOST_FOR_POD for p in self.pairs.values())
        poll.register(self.conn, (0 if full else select.POLLIN) | (select.POLLOUT if self.out else 0))
        for p in self.pairs.values():
            if p.sock is None:
                continue
            wants = select.POLLOUT if p.connecting or p.to_pod else 0
            if not p.connecting and len(self.out) < _MOST_WAITING:
                wants |= select.POLLIN
            if wants:
                by_fd[p.sock.fileno()] = p
                poll.register(p.sock, wants)
        ready = dict(poll.poll(_POLL_MS))
        for fd, p in by_fd.items():
            if fd in ready:
                self._serve_pod(p)
        if self.conn.fileno() in ready:
            self._flush()
            self._receive()
        now = time.monotonic()
        for p in [p for p in self.pairs.values() if p.client_ended and not p.to_pod and now - p.client_ended > _LAST_OUTPUT]:
            self._end(p)
        self._flush()

    # ------------------------------------------------------------ the client
    def _receive(self):
        while True:
            try:
                d = self.conn.recv(65536)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not d:
                raise EOFError
            d, answer, closed = self.link.incoming(d)
            self.out += answer
            self.closed = self.closed or closed
            for f in self.reader.feed(d):
                self._on_frame(f)
            if self.conn.pending() == 0:
                return

    def _flush(self):
        while self.out:
            try:
                n = self.conn.send(memoryview(self.out)[:65536].tobytes())
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            del self.out[:n]

    def _send(self, d):
        self.out += self.link.outgoing(d)

    def _on_frame(self, f):
        if f.kind == spdy.SYN_STREAM:
            self._on_stream(f)
        elif f.kind == spdy.PING:
            self._send(self.writer.pong(f.data))
        elif f.kind == spdy.GOAWAY:
            self.closed = True
        elif f.stream in self.by_stream:
            kind, p = self.by_stream[f.stream]
            if f.kind == spdy.RST_STREAM and kind == 'data':
                self._end(p)
            elif f.kind == 0 and kind == 'data':
                p.to_pod += f.data
                if f.fin:
                    p.client_ended = time.monotonic()

    def _on_stream(self, f):
        kind, number, port = (f.headers.get(k, '') for k in ('streamtype', 'requestid', 'port'))
        if kind not in ('error', 'data') or not number or not port.isdigit() or not 0 < int(port) < 65536:
            self._send(self.writer.reset(f.stream, _PROTOCOL_ERROR))
            return
        p = self.pairs.setdefault(number, Pair())
        p.streams[kind], p.port = f.stream, int(port)
        self.by_stream[f.stream] = (kind, p)
        self._send(self.writer.reply(f.stream))
        if len(p.streams) == 2:
            self._connect(p)

    # ------------------------------------------------------------ the pod
    def _address(self, p):
        # Pods of a light cluster share the host's loopback interface; what they serve is at their own address there.
        return (self.pod.ip if self.kubelet.network.light else '127.0.0.1', p.port)

    def _connect(self, p):
        try:
            _, fds = self.kubelet.runtime.request('socket', sandbox=self.pod.uid)
        except Refused as e:
            self._fail(p, str(e))
            return
        p.sock = socket.socket(fileno=fds[0])
        p.sock.setblocking(False)
        error = p.sock.connect_ex(self._address(p))
        if error in (0, errno.EINPROGRESS):
            p.connecting = error != 0
        else:
            self._refuse(p, error)

    def _refuse(self, p, error):
        where = '%s:%d' % self._address(p)
        self._fail(p, 'failed to execute portforward in network namespace "/var/run/netns/cni-%s": failed to connect to localhost:%d inside namespace "%s", '
                   'IPv4: dial tcp4 %s: connect: %s IPv6 dial tcp6: address localhost: no suitable address found'
                   % (self.pod.uid, p.port, self.pod.uid, where, os.strerror(error).lower()))

    def _serve_pod(self, p):
        if p.connecting:
            error = p.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self._refuse(p, error)
                return
            p.connecting = False
        try:
            if p.to_pod:
                del p.to_pod[:p.sock.send(p.to_pod)]
        except BlockingIOError:
            pass
        except OSError:
            self._end(p)
            return
        try:
            d = p.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            d = b''
        if d:
            self._send(self.writer.data(p.streams['data'], d))
        else:
            self._end(p)

    def _fail(self, p, text):
        name = self.pod.uid.replace('-', '')
        self._send(self.writer.data(p.streams['error'], ('error forwarding port %d to pod %s, uid : %s' % (p.port, name, text)).encode()))
        self._end(p)

    def _end(self, p):
        """Both streams end, and the connection with them."""
        if p.sock is not None:
            p.sock.close()
        for stream in p.streams.values():
            self._send(self.writer.data(stream, b'', fin=True))
            del self.by_stream[stream]
        self.pairs = {k: v for k, v in self.pairs.items() if v is not p}
