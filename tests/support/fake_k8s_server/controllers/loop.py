# SPDX-License-Identifier: Apache-2.0
"""A controller's work queue: keys become dirty by changes or by time, and are reconciled by one thread."""
import heapq
import threading
import time
import traceback


class Loop(threading.Thread):
    """Calls reconcile(key) for each dirty key; several changes of a key before that count once."""

    def __init__(self, name, reconcile):
        super().__init__(name=name, daemon=True)
        self._reconcile, self._dirty, self._timers = reconcile, {}, []
        self._cond = threading.Condition()

    def add(self, key):
        with self._cond:
            self._dirty[key] = True
            self._cond.notify()

    def add_after(self, key, seconds):
        with self._cond:
            heapq.heappush(self._timers, (time.monotonic() + seconds, key))
            self._cond.notify()

    def run(self):
        while True:
            with self._cond:
                now = time.monotonic()
                while self._timers and self._timers[0][0] <= now:
                    self._dirty[heapq.heappop(self._timers)[1]] = True
                if not self._dirty:
                    self._cond.wait(self._timers[0][0] - now if self._timers else None)
                    continue
                keys, self._dirty = list(self._dirty), {}
            for key in keys:
                try:
                    self._reconcile(key)
                except Exception:                      # noqa: tried again, as a real controller does
                    traceback.print_exc()
                    self.add_after(key, 1.0)
