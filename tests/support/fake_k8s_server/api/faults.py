# SPDX-License-Identifier: Apache-2.0
"""Counted calls and injected failures."""
import collections
import random
import threading
import time

from . import errors

_REASONS = {400: 'BadRequest', 401: 'Unauthorized', 403: 'Forbidden', 404: 'NotFound', 409: 'Conflict', 410: 'Expired', 429: 'TooManyRequests',
            500: 'InternalError', 502: 'InternalError', 503: 'ServiceUnavailable', 504: 'Timeout'}


class Faults:
    """Which requests fail, and the statistics.  Any thread may call."""

    def __init__(self):
        self._lock, self._rules = threading.Lock(), []
        self._calls = collections.Counter()
        self.watch_epoch = 0                       # watches started under an older number end

    def add(self, code, verb='*', resource='*', user='*', count=None, probability=1.0, retry_after=1, hang=0.0, drop=False):
        """The next `count` (None: all) matching calls fail with `code`, after `hang` seconds; `drop` closes the connection unanswered."""
        with self._lock:
            self._rules.append(dict(code=code, verb=verb, resource=resource, user=user, count=count, probability=probability,
                                    retry_after=retry_after, hang=hang, drop=drop))

    def clear(self):
        with self._lock:
            self._rules.clear()

    def apply(self, user, verb, resource):
        """Raises what was injected for this call; ConnectionAbortedError stands for a dropped connection."""
        with self._lock:
            hit = None
            for r in self._rules:
                if r['verb'] in ('*', verb) and r['resource'] in ('*', resource) and r['user'] in ('*', user) and r['count'] != 0 \
                        and random.random() < r['probability']:
                    hit = r
                    if r['count'] is not None:
                        r['count'] -= 1
                    break
        if hit is None:
            return
        if hit['hang']:
            time.sleep(hit['hang'])
        if hit['drop']:
            raise ConnectionAbortedError('injected')
        code = hit['code']
        if not code:
            return
        if code == 429:
            raise errors.too_many_requests(hit['retry_after'])
        if code == 401:
            raise errors.unauthorized()
        raise errors.ApiError(code, _REASONS.get(code, 'InternalError'), 'injected: an error on the server has prevented the request from succeeding', {},
                              {'Retry-After': str(hit['retry_after'])} if code == 503 else None)

    def cut_watches(self):
        with self._lock:
            self.watch_epoch += 1

    def count(self, user, verb, resource):
        with self._lock:
            self._calls[(user, verb, resource)] += 1

    def stats(self, reset=False):
        with self._lock:
            rows = [{'user': u, 'verb': v, 'resource': r, 'count': n} for (u, v, r), n in sorted(self._calls.items())]
            if reset:
                self._calls.clear()
        return {'calls': rows, 'total': sum(r['count'] for r in rows)}
