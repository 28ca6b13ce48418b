# SPDX-License-Identifier: Apache-2.0
"""Server side of the WebSocket protocols of exec: v5.channel.k8s.io and v4.channel.k8s.io."""
import base64
import hashlib
import select
import struct
import threading

PROTOCOLS = ('v5.channel.k8s.io', 'v4.channel.k8s.io')
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_MAX_MESSAGE = 16 << 20
_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'


def accept_headers(headers):
    """The answer's headers for an upgrade request, and the protocol; None when no protocol is common."""
    offered = [p.strip() for p in headers.get('Sec-WebSocket-Protocol', '').split(',')]
    protocol = next((p for p in PROTOCOLS if p in offered), None)
    if protocol is None or not headers.get('Sec-WebSocket-Key'):
        return None, None
    digest = hashlib.sha1((headers['Sec-WebSocket-Key'] + _GUID).encode()).digest()
    return {'Upgrade': 'websocket', 'Connection': 'Upgrade', 'Sec-WebSocket-Accept': base64.b64encode(digest).decode(),
            'Sec-WebSocket-Protocol': protocol}, protocol


class WebSocket:
    """Messages over a TLS connection.  One thread reads; any thread sends."""

    def __init__(self, conn, rest=b''):
        self._conn, self._buf, self._lock = conn, rest, threading.Lock()

    def _need(self, n):
        while len(self._buf) < n:
            if not self._conn.pending():
                select.select([self._conn], [], [])
            with self._lock:                        # an SSL object serves one thread at a time
                d = self._conn.recv(65536)
            if not d:
                raise EOFError
            self._buf += d
        out, self._buf = self._buf[:n], self._buf[n:]
        return out

    def messages(self):
        """Yields (channel, bytes) until the client closes."""
        message = b''
        while True:
            a, b = self._need(2)
            n = b & 127
            if n > 125:
                n = int.from_bytes(self._need(2 if n == 126 else 8), 'big')
            if n + len(message) > _MAX_MESSAGE:
                raise EOFError('message of %d bytes' % n)
            mask = self._need(4) if b & 128 else b''
            d = self._need(n)
            if mask:
                d = (int.from_bytes(d, 'little') ^ int.from_bytes((mask * (n // 4 + 1))[:n], 'little')).to_bytes(n, 'little')
            op = a & 15
            if op == 8:
                return
            if op == 9:
                self._frame(10, d)
            elif op < 3:
                message += d
                if a & 128:
                    if message:
                        yield message[0], message[1:]
                    message = b''

    def _frame(self, op, d):
        n = len(d)
        head = bytes([128 | op]) + (bytes([n]) if n < 126 else b'\x7e' + struct.pack('>H', n) if n < 65536 else b'\x7f' + struct.pack('>Q', n))
        with self._lock:
            self._conn.sendall(head + d)

    def send(self, channel, d):
        self._frame(2, bytes([channel]) + d)

    def close(self):
        self._frame(8, struct.pack('>H', 1000))
