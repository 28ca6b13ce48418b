# SPDX-License-Identifier: Apache-2.0
"""Cluster DNS over UDP: A records of Services, and of pods behind headless ones."""
import asyncio
import socket
import struct

from ..api.names import dig

_ZONE = '.svc.cluster.local'


def lookup(network, name):
    """The addresses of a name; None when there is no such name."""
    if not name.endswith(_ZONE):
        return None
    parts = name[:-len(_ZONE)].split('.')
    if len(parts) < 2:
        return None
    svc = network.store.get('services', parts[-1], parts[-2])
    if svc is None:
        return None
    vip = dig(svc, 'spec.clusterIP')
    if vip != 'None':
        return [vip] if len(parts) == 2 else None
    ends = network.endpoints(svc)
    if len(parts) == 2:
        return [ip for ip, _, _ in ends]
    mine = [ip for ip, _, p in ends if p['spec'].get('hostname') == parts[0] and p['spec'].get('subdomain') == parts[-2]]
    return mine or None


def answer(network, query):
    """The reply to one query; None for what is no query."""
    if len(query) < 17:
        return None
    ident, flags, count = struct.unpack('>HHH', query[:6])
    labels, at = [], 12
    while at < len(query) and query[at]:
        n = query[at]
        if n > 63:
            return None
        labels.append(query[at + 1:at + 1 + n].decode('latin-1').lower())
        at += 1 + n
    if count != 1 or at + 5 > len(query):
        return None
    kind = struct.unpack('>H', query[at + 1:at + 3])[0]
    found = lookup(network, '.'.join(labels))
    ips = (found or [])[:20] if kind == 1 else []
    head = struct.pack('>HHHHHH', ident, 0x8480 | (flags & 0x0100) | (0 if found is not None else 3), 1, len(ips), 0, 0)
    return head + query[12:at + 5] + b''.join(struct.pack('>HHHIH', 0xc00c, 1, 1, 5, 4) + socket.inet_aton(ip) for ip in ips)


class Protocol(asyncio.DatagramProtocol):
    def __init__(self, network):
        self.network, self.transport = network, None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        reply = answer(self.network, data) if self.network.dns else None
        if reply:
            self.transport.sendto(reply, addr)


async def serve(loop, network, address):
    """Answers in the router's namespace while `network.dns` is set; silence otherwise, as a DNS that is down."""
    await loop.create_datagram_endpoint(lambda: Protocol(network), local_addr=(address, 53))
