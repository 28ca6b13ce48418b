# SPDX-License-Identifier: Apache-2.0
"""Server side of WebSockets: of exec (v5.channel.k8s.io and v4.channel.k8s.io), and as tunnels of port-forward."""
import base64
import hashlib
import select
import struct
import threading

PROTOCOLS = ('v5.channel.k8s.io', 'v4.channel.k8s.io')
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
OP_BINARY, OP_CLOSE, OP_PING, OP_PONG = 2, 8, 9, 10
_MAX_MESSAGE = 16 << 20
_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'


def accept_headers(headers, protocols=PROTOCOLS):
    """The answer's headers for an upgrade request, and the protocol; None when no protocol is common."""
    offered = [p.strip() for p in headers.get('Sec-WebSocket-Protocol', '').split(',')]
    protocol = next((p for p in protocols if p in offered), None)
    if protocol is None or not headers.get('Sec-WebSocket-Key'):
        return None, None
    digest = hashlib.sha1((headers['Sec-WebSocket-Key'] + _GUID).encode()).digest()
    return {'Upgrade': 'websocket', 'Connection': 'Upgrade', 'Sec-WebSocket-Accept': base64.b64encode(digest).decode(),
            'Sec-WebSocket-Protocol': protocol}, protocol


def frame(op, d):
    """A message or control frame, as a server sends it."""
    n = len(d)
    size = bytes([n]) if n < 126 else b'\x7e' + struct.pack('>H', n) if n < 65536 else b'\x7f' + struct.pack('>Q', n)
    return bytes([128 | op]) + size + d


class Parser:
    """Cuts what a client sends into messages and control frames, without I/O."""

    def __init__(self):
        self._buf, self._message = bytearray(), b''

    def feed(self, d):
        """Yields (op, bytes) of all that is complete now; EOFError for a message that is too long."""
        self._buf += d
        at = 0
        while True:
            head = self._head(at)
            if head is None or len(self._buf) < head[2] + head[1]:
                break
            first, n, begin, mask = head
            payload = bytes(self._buf[begin:begin + n])
            at = begin + n
            if mask:
                payload = (int.from_bytes(payload, 'little') ^ int.from_bytes((mask * (n // 4 + 1))[:n], 'little')).to_bytes(n, 'little')
            op = first & 15
            if op > 2:
                yield op, payload
                continue
            self._message += payload
            if first & 128:
                message, self._message = self._message, b''
                yield OP_BINARY, message
        del self._buf[:at]

    def _head(self, at):
        """The first byte, the length, where the payload begins, and its mask; None while they are not there."""
        buf = self._buf
        if len(buf) < at + 2:
            return None
        n, begin = buf[at + 1] & 127, at + 2
        if n > 125:
            width = 2 if n == 126 else 8
            if len(buf) < begin + width:
                return None
            n, begin = int.from_bytes(buf[begin:begin + width], 'big'), begin + width
        if n + len(self._message) > _MAX_MESSAGE:
            raise EOFError('message of %d bytes' % n)
        size = 4 if buf[at + 1] & 128 else 0
        if len(buf) < begin + size:
            return None
        return buf[at], n, begin + size, bytes(buf[begin:begin + size])


class WebSocket:
    """Messages over a TLS connection.  One thread reads; any thread sends."""

    def __init__(self, conn):
        self._conn, self._parser, self._lock = conn, Parser(), threading.Lock()

    def _receive(self):
        if not self._conn.pending():
            select.select([self._conn], [], [])
        with self._lock:                            # an SSL object serves one thread at a time
            d = self._conn.recv(65536)
        if not d:
            raise EOFError
        return d

    def messages(self):
        """Yields (channel, bytes) until the client closes."""
        while True:
            for op, d in self._parser.feed(self._receive()):
                if op == OP_CLOSE:
                    return
                if op == OP_PING:
                    self._frame(OP_PONG, d)
                elif op == OP_BINARY and d:
                    yield d[0], d[1:]

    def _frame(self, op, d):
        with self._lock:
            self._conn.sendall(frame(op, d))

    def send(self, channel, d):
        self._frame(OP_BINARY, bytes([channel]) + d)

    def close(self):
        self._frame(OP_CLOSE, struct.pack('>H', 1000))
