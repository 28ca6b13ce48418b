# SPDX-License-Identifier: Apache-2.0
"""System calls that Python lacks, and as much of rtnetlink as pods' networks take."""
import ctypes
import os
import platform
import signal
import socket
import struct

NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_PIVOT_ROOT = {'x86_64': 155, 'aarch64': 41}
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    """A libc function that returns 0; OSError names it otherwise."""
    if getattr(libc, name)(*args) != 0:
        e = ctypes.get_errno()
        raise OSError(e, '%s%r: %s' % (name, args[:3], os.strerror(e)))


def _bytes(s):
    return s.encode() if isinstance(s, str) else s


def mount(source, target, fs=None, flags=0, data=None):
    call('mount', _bytes(source), _bytes(target), _bytes(fs), ctypes.c_ulong(flags), _bytes(data))


def unmount(target):
    call('umount2', _bytes(target), 2)                 # MNT_DETACH


def pivot_root(new, old):
    if libc.syscall(_PIVOT_ROOT[platform.machine()], _bytes(new), _bytes(old)) != 0:
        raise OSError(ctypes.get_errno(), 'pivot_root: ' + os.strerror(ctypes.get_errno()))


def unshare(flags):
    call('unshare', flags)


def setns(fd, flag=0):
    call('setns', fd, flag)


def die_with_parent(number=signal.SIGKILL):
    """The kernel sends this process the signal when the thread that made it ends."""
    libc.prctl(1, number, 0, 0, 0)


# ---------------------------------------------------------------- rtnetlink
_REQUEST, _ACK, _CREATE_EXCL = 1, 4, 0x600


def _attr(kind, data):
    n = 4 + len(data)
    return struct.pack('=HH', n, kind) + data + b'\0' * (-n % 4)


def _text(kind, s):
    return _attr(kind, s.encode() + b'\0')


def _u32(kind, n):
    return _attr(kind, struct.pack('=I', n))


def _send(kind, flags, payload):
    """One request to the kernel in this thread's network namespace; OSError when it refuses."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.settimeout(10)
        s.send(struct.pack('=IHHII', 16 + len(payload), kind, _REQUEST | _ACK | flags, 1, 0) + payload)
        code = struct.unpack('=i', s.recv(65536)[16:20])[0]
        if code:
            raise OSError(-code, 'rtnetlink request %d: %s' % (kind, os.strerror(-code)))


def link_up(name):
    _send(16, 0, struct.pack('=BxHiII', 0, 0, socket.if_nametoindex(name), 1, 1))


def add_veth(name, peer, peer_ns_fd):
    """A pair of devices; the peer is in the other namespace."""
    head = struct.pack('=BxHiII', 0, 0, 0, 0, 0)
    data = _attr(1, head + _text(3, peer) + _u32(28, peer_ns_fd))
    _send(16, _CREATE_EXCL, head + _text(3, name) + _attr(18, _text(1, 'veth') + _attr(2, data)))


def add_address(name, ip):
    _send(20, _CREATE_EXCL, struct.pack('=BBBBI', 2, 32, 0, 0, socket.if_nametoindex(name)) + _attr(2, socket.inet_aton(ip)) + _attr(1, socket.inet_aton(ip)))


def add_route(dst, prefix, dev, gateway=None, local=False):
    """A route to dst/prefix; `local` makes the whole prefix this host's own addresses."""
    scope = 254 if local else 0 if gateway else 253
    head = struct.pack('=BBBBBBBBI', 2, prefix, 0, 0, 255 if local else 254, 4, scope, 2 if local else 1, 0)
    attrs = _u32(4, socket.if_nametoindex(dev))
    if prefix:
        attrs += _attr(1, socket.inet_aton(dst))
    if gateway:
        attrs += _attr(5, socket.inet_aton(gateway))
    _send(24, _CREATE_EXCL, head + attrs)
