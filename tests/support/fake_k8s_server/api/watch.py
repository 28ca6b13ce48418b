# SPDX-License-Identifier: Apache-2.0
"""Watches: streams of changes after a resourceVersion, with bookmarks, and 410 Gone when the window has passed it."""
import time

from . import errors, tables
from .resources import Resource
from .store import encode

_BOOKMARK_SECONDS = 5.0
_DEFAULT_SECONDS = 1800.0


def _gone(rv, floor):
    return errors.expired('too old resource version: %d (%d)' % (rv, floor))


class _Stream:
    """The chunked answer, one JSON object per line."""

    def __init__(self, handler, res, as_table):
        self._h, self._res, self._table = handler, res, as_table
        handler.send_response(200)
        handler.send_header('Content-Type', 'application/json')
        handler.send_header('Transfer-Encoding', 'chunked')
        handler.end_headers()
        handler.wfile.flush()

    def write(self, raw):
        self._h.wfile.write(b'%x\r\n%s\r\n' % (len(raw), raw))

    def event(self, kind, obj):
        if self._table and kind not in ('BOOKMARK', 'ERROR'):
            obj = tables.table(self._res, [obj], {'resourceVersion': obj['metadata']['resourceVersion']}, self._h.include)
        self.write(encode({'type': kind, 'object': obj}))

    def change(self, change, kind):
        if self._table:
            self.event(kind, change.obj)
        else:
            self.write(change.line(kind))

    def flush(self):
        self._h.wfile.flush()

    def end(self):
        self._h.wfile.write(b'0\r\n\r\n')
        self._h.wfile.flush()


def _kind_for(match, c):
    """The event's type as seen through the selectors; None when it is not seen."""
    now = match(c.obj)
    before = c.old is not None and match(c.old)
    if c.type == 'DELETED':
        return 'DELETED' if before or now else None
    return ('MODIFIED' if before else 'ADDED') if now else ('DELETED' if before else None)


def serve(handler, r):
    """Answers one watch request until its timeout, the client's end, or an injected cut."""
    p, res, q = handler.server.parts, r.res, r.query
    store, key = p.store, p.registry.key(res)
    selected = p.registry.selection(res, q)
    match = (lambda o: (not r.ns or o['metadata'].get('namespace') == r.ns) and selected(o))
    try:
        text, limit = q.get('resourceVersion', ''), float(q.get('timeoutSeconds') or _DEFAULT_SECONDS)
        rv = int(text or 0)
    except ValueError:
        raise errors.bad_request('Invalid value: "%s": strconv.ParseUint: parsing: invalid syntax' % q.get('resourceVersion')) from None
    if q.get('sendInitialEvents'):
        f = errors.FieldErrors()
        f.not_allowed('sendInitialEvents', 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled')
        f.raise_if_any(Resource('meta.k8s.io', 'v1', '', 'ListOptions'), '')
    epoch = p.faults.watch_epoch
    with store.lock:
        first = [o for o in store.list(key) if match(o)] if rv == 0 else []
        if rv == 0:
            rv = store.rv
        elif store.since(key, rv) is None:
            raise _gone(rv, store.floor.get(key, store.rv))
        elif rv > store.rv:
            raise errors.ApiError(504, 'Timeout', 'Too large resource version: %d, current: %d' % (rv, store.rv),
                                  {'causes': [{'reason': 'ResourceVersionTooLarge', 'message': 'Too large resource version'}], 'retryAfterSeconds': 1})
    handler.include = q.get('includeObject', 'Metadata')
    out = _Stream(handler, res, 'as=Table' in handler.headers.get('Accept', ''))
    for o in first:
        out.event('ADDED', o)
    out.flush()
    end, mark = time.monotonic() + limit, time.monotonic() + _BOOKMARK_SECONDS
    bookmarks = q.get('allowWatchBookmarks') in ('1', 'true')
    while True:
        with store.lock:
            changes = store.since(key, rv)
            if changes == [] and p.faults.watch_epoch == epoch and not p.stopping.is_set():
                store.changed.wait(max(0.0, min(end - time.monotonic(), mark - time.monotonic() if bookmarks else 1.0, 1.0)))
                changes = store.since(key, rv)
            current, floor = store.rv, store.floor.get(key, 0)
        if p.faults.watch_epoch != epoch or p.stopping.is_set():
            handler.close_connection = True        # a cut: the stream ends without its last chunk
            handler.wfile.flush()
            return
        if changes is None:
            out.event('ERROR', _gone(rv, floor).status())
            break
        for c in changes:
            kind = _kind_for(match, c)
            if kind == 'DELETED' and c.type != 'DELETED':
                out.event('DELETED', dict(c.old, metadata=dict(c.old['metadata'], resourceVersion=str(c.rv))))
            elif kind:
                out.change(c, kind)
        rv = max(rv, current)
        if bookmarks and time.monotonic() >= mark:
            mark = time.monotonic() + _BOOKMARK_SECONDS
            out.event('BOOKMARK', {'kind': res.kind, 'apiVersion': res.api_version, 'metadata': {'resourceVersion': str(rv), 'creationTimestamp': None}})
        out.flush()
        if time.monotonic() >= end:
            break
    out.end()
