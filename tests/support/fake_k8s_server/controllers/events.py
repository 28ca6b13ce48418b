# SPDX-License-Identifier: Apache-2.0
"""Events about objects; repeated ones are counted, as client-go's recorder does."""
import threading
import time

from ..api import errors, names


class Events:
    """`emit` may be called by any thread."""

    def __init__(self, registry, catalog):
        self.registry, self.res, self._lock, self._seen = registry, catalog['events'], threading.Lock(), {}

    def emit(self, obj, reason, message, kind='Normal', component='', host='', path=''):
        m = obj['metadata']
        ns = m.get('namespace') or 'default'
        key = (m['uid'], reason, message, component, path)
        now = names.now()
        with self._lock:
            seen = self._seen.get(key)
        if seen:
            def again(o):
                o['count'] = o.get('count', 1) + 1
                o['lastTimestamp'] = now
            if self.registry.change(self.res, seen, again) is not None:
                return
        source = {'component': component}
        if host:
            source['host'] = host
        ref = {'kind': obj['kind'], 'namespace': m.get('namespace', ''), 'name': m['name'], 'uid': m['uid'], 'apiVersion': obj['apiVersion'],
               'resourceVersion': m.get('resourceVersion', '')}
        if not ref['namespace']:
            ref['namespace'] = ''
            ns = 'default'
        if path:
            ref['fieldPath'] = path
        event = {'metadata': {'name': '%s.%x' % (m['name'], time.time_ns()), 'namespace': ns}, 'involvedObject': ref, 'reason': reason,
                 'message': message[:1024], 'source': source, 'firstTimestamp': now, 'lastTimestamp': now, 'count': 1, 'type': kind,
                 'eventTime': None, 'reportingComponent': component, 'reportingInstance': host}
        try:
            made, _ = self.registry.create(self.res, ns, event)
        except errors.ApiError:
            return                                     # the namespace is going
        with self._lock:
            self._seen[key] = made
