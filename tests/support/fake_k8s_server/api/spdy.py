# SPDX-License-Identifier: Apache-2.0
"""SPDY/3.1 frames, as far as port forwarding uses them: one side's reader and writer, without I/O."""
import struct
import zlib

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
FIN = 1
_VERSION = 3
_MAX_HEADERS = 1 << 16
_WORDS = ('options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization '
          'cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range '
          'content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified '
          'location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade '
          'user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin').split()
_TEXT = ('100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content'
         '301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented'
         '503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT'
         'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,'
         'publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.')
# The dictionary of the protocol's section 2.6.10.1: words that headers often have, each after its length, then a text.
DICTIONARY = b''.join(struct.pack('>I', len(w)) + w.replace('_', ' ').encode() for w in _WORDS) + _TEXT.encode()


class Malformed(Exception):
    """What the other side sent is no SPDY/3.1."""


class Frame:
    """`kind` 0 is data; `headers` are those of SYN_STREAM, `data` is the payload of all others."""

    def __init__(self, kind, stream, flags, data=b'', headers=None):
        self.kind, self.stream, self.flags, self.data, self.headers = kind, stream, flags, data, headers

    @property
    def fin(self):
        return bool(self.flags & FIN)


class Reader:
    """Cuts the bytes of a connection into frames.  One zlib context serves all headers of a connection."""

    def __init__(self):
        self._buf, self._inflate = bytearray(), zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, d):
        """Yields the frames that are complete now; Malformed."""
        self._buf += d
        at = 0
        while len(self._buf) - at >= 8:
            first, second = struct.unpack_from('>II', self._buf, at)
            n = second & 0xffffff
            if len(self._buf) - at - 8 < n:
                break
            body = bytes(self._buf[at + 8:at + 8 + n])
            at += 8 + n
            yield self._control(first, second >> 24, body) if first >> 31 else Frame(0, first, second >> 24, body)
        del self._buf[:at]

    def _control(self, first, flags, body):
        kind = first & 0xffff
        if first >> 16 != 0x8000 | _VERSION:
            raise Malformed('version %d' % (first >> 16 & 0x7fff))
        if kind == SYN_STREAM and len(body) >= 10:
            return Frame(kind, struct.unpack_from('>I', body)[0] & 0x7fffffff, flags, headers=self._headers(body[10:]))
        if kind == RST_STREAM and len(body) == 8:
            return Frame(kind, struct.unpack_from('>I', body)[0] & 0x7fffffff, flags, body)
        if kind in (SYN_STREAM, RST_STREAM, SYN_REPLY, HEADERS):
            raise Malformed('frame of type %d and %d bytes' % (kind, len(body)))
        return Frame(kind, 0, flags, body)

    def _headers(self, block):
        try:
            raw = self._inflate.decompress(block, _MAX_HEADERS)
            if self._inflate.unconsumed_tail:
                raise Malformed('headers of more than %d bytes' % _MAX_HEADERS)
            count, at, out = struct.unpack_from('>I', raw)[0], 4, {}
            for _ in range(count):
                pair = []
                for _ in range(2):
                    n = struct.unpack_from('>I', raw, at)[0]
                    pair.append(raw[at + 4:at + 4 + n].decode())
                    at += 4 + n
                out[pair[0].lower()] = pair[1]
        except (zlib.error, struct.error, UnicodeDecodeError) as e:
            raise Malformed(str(e)) from None
        return out


class Writer:
    """Makes the frames that a server sends; the headers' zlib context makes their order matter."""

    def __init__(self):
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    @staticmethod
    def _control(kind, body, flags=0):
        return struct.pack('>HHI', 0x8000 | _VERSION, kind, flags << 24 | len(body)) + body

    def reply(self, stream):
        """The stream is accepted; no headers."""
        block = self._deflate.compress(struct.pack('>I', 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return self._control(SYN_REPLY, struct.pack('>I', stream) + block)

    def reset(self, stream, status):
        return self._control(RST_STREAM, struct.pack('>II', stream, status))

    def pong(self, body):
        return self._control(PING, body)

    @staticmethod
    def data(stream, d, fin=False):
        return struct.pack('>II', stream, (FIN if fin else 0) << 24 | len(d)) + d
