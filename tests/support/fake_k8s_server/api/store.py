# SPDX-License-Identifier: Apache-2.0
"""The objects, one resourceVersion counter, and the history of changes that watches read.

Stored objects are never changed in place: who changes one puts a changed copy.  All members may be called from
any thread; `lock` (re-entrant) may be held over several calls to make them one step.
"""
import collections
import json
import threading

_FIRST = 100                                           # what was before is history that nobody has


class Change:
    """One change: type ADDED, MODIFIED or DELETED, the object after it, and the one before it (None for ADDED)."""
    __slots__ = ('rv', 'type', 'obj', 'old', '_line')

    def __init__(self, rv, kind, obj, old):
        self.rv, self.type, self.obj, self.old, self._line = rv, kind, obj, old, {}

    def line(self, kind):
        """The watch line, encoded once for all watchers."""
        if kind not in self._line:
            self._line[kind] = encode({'type': kind, 'object': self.obj})
        return self._line[kind]


def encode(o):
    return json.dumps(o, separators=(',', ':'), ensure_ascii=False).encode() + b'\n'


class Store:
    """`window` is how many changes per resource are kept for watches that start at an older resourceVersion."""

    def __init__(self, window=1000):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.rv, self.window = _FIRST, window
        self.objects = collections.defaultdict(dict)       # resource -> (namespace, name) -> object
        self.history = collections.defaultdict(collections.deque)
        self.floor = {}                                    # resource -> the oldest rv that a watch may start after
        self.listeners = []                                # called with (resource, Change), lock held

    def next_rv(self):
        self.rv += 1
        return self.rv

    def get(self, res, ns, name):
        return self.objects[res].get((ns or '', name))

    def list(self, res, ns=None):
        with self.lock:
            items = self.objects[res]
            return [o for (n, _), o in sorted(items.items(), key=lambda kv: kv[0]) if ns is None or n == ns]

    def _record(self, res, kind, obj, old):
        c = Change(self.rv, kind, obj, old)
        h = self.history[res]
        h.append(c)
        while len(h) > self.window:
            self.floor[res] = h.popleft().rv
        for f in self.listeners:
            f(res, c)
        self.changed.notify_all()

    def put(self, res, obj):
        """Stores the object under a new resourceVersion, which it writes into the object."""
        with self.lock:
            m = obj['metadata']
            key = (m.get('namespace', ''), m['name'])
            old = self.objects[res].get(key)
            m['resourceVersion'] = str(self.next_rv())
            self.objects[res][key] = obj
            self._record(res, 'MODIFIED' if old else 'ADDED', obj, old)
            return obj

    def remove(self, res, obj):
        """Removes the object; the watch event's copy carries the resourceVersion of the removal."""
        with self.lock:
            m = obj['metadata']
            old = self.objects[res].pop((m.get('namespace', ''), m['name']))
            last = dict(obj, metadata=dict(m, resourceVersion=str(self.next_rv())))
            self._record(res, 'DELETED', last, old)
            return last

    def since(self, res, rv):
        """The changes after `rv`; None when the window no longer reaches that far back."""
        with self.lock:
            if rv < self.floor.get(res, _FIRST):
                return None
            out = []
            for c in reversed(self.history[res]):
                if c.rv <= rv:
                    break
                out.append(c)
            return out[::-1]

    def compact(self, res=None):
        """Forgets the history, so that watches from an older resourceVersion are answered 410 Gone."""
        with self.lock:
            self.next_rv()
            for r in [res] if res else list(self.history):
                self.history[r].clear()
                self.floor[r] = self.rv
            self.changed.notify_all()
