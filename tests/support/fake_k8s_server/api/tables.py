# SPDX-License-Identifier: Apache-2.0
"""Lists as `kubectl get` shows them (meta.k8s.io/v1 Table)."""
import time

from .names import dig, seconds_of


def _age(stamp):
    if not stamp:
        return '<unknown>'
    return _duration(max(0, int(time.time() - seconds_of(stamp))))


def _duration(s):
    if s < 120:
        return '%ds' % s
    if s < 600:
        return '%dm%s' % (s // 60, '%ds' % (s % 60) if s % 60 else '')
    if s < 3 * 3600:
        return '%dm' % (s // 60)
    return '%dh' % (s // 3600) if s < 48 * 3600 else '%dd' % (s // 86400)


def _pod_reason(o):
    st, inits = o.get('status') or {}, o['spec'].get('initContainers') or []
    reason = st.get('reason') or st.get('phase') or ''
    for c in dig(o, 'status.conditions') or []:
        if c.get('type') == 'PodScheduled' and c.get('reason') == 'SchedulingGated':
            reason = 'SchedulingGated'
    pending_init = False
    for i, s in enumerate(st.get('initContainerStatuses') or []):
        state = s.get('state') or {}
        t, w = state.get('terminated'), state.get('waiting')
        if t and t.get('exitCode') == 0:
            continue
        pending_init = True
        if t:
            reason = 'Init:' + (t.get('reason') or ('Signal:%d' % t['signal'] if t.get('signal') else 'ExitCode:%d' % t['exitCode']))
        elif w and w.get('reason') and w['reason'] != 'PodInitializing':
            reason = 'Init:' + w['reason']
        else:
            reason = 'Init:%d/%d' % (i, len(inits))
        break
    if not pending_init:
        running = False
        for s in reversed(st.get('containerStatuses') or []):
            state = s.get('state') or {}
            w, t = state.get('waiting'), state.get('terminated')
            if w and w.get('reason'):
                reason = w['reason']
            elif t:
                reason = t.get('reason') or ('Signal:%d' % t['signal'] if t.get('signal') else 'ExitCode:%d' % t['exitCode'])
            elif s.get('ready') and state.get('running'):
                running = True
        if reason == 'Completed' and running:
            reason = 'Running'
    if o['metadata'].get('deletionTimestamp'):
        reason = 'Unknown' if st.get('reason') == 'NodeLost' else 'Terminating'
    return reason


def _pod(o):
    st = o.get('status') or {}
    cs = st.get('containerStatuses') or []
    return [o['metadata']['name'], '%d/%d' % (sum(bool(c.get('ready')) for c in cs), len(o['spec']['containers'])), _pod_reason(o),
            str(sum(c.get('restartCount', 0) for c in cs)), _age(o['metadata'].get('creationTimestamp')), st.get('podIP') or '<none>',
            o['spec'].get('nodeName') or '<none>', st.get('nominatedNodeName') or '<none>', '<none>']


def _job(o):
    st, spec = o.get('status') or {}, o['spec']
    n = spec.get('completions')
    start, end = st.get('startTime'), st.get('completionTime')
    took = '' if not start else _duration(max(0, int((seconds_of(end) if end else time.time()) - seconds_of(start))))
    state = 'Suspended' if spec.get('suspend') else 'Terminating' if o['metadata'].get('deletionTimestamp') else 'Running'
    for c in st.get('conditions') or []:
        if c['status'] == 'True' and c['type'] in ('Complete', 'Failed', 'SuccessCriteriaMet', 'FailureTarget'):
            state = c['type']
    return [o['metadata']['name'], state, '%d/%s' % (st.get('succeeded', 0), n if n is not None else '1 of %d' % spec['parallelism']), took,
            _age(o['metadata'].get('creationTimestamp'))]


def _service(o):
    s = o['spec']
    ports = ','.join('%s/%s' % (p['port'], p['protocol']) for p in s.get('ports') or []) or '<none>'
    return [o['metadata']['name'], s['type'], s.get('clusterIP') or '<none>', '<none>', ports, _age(o['metadata'].get('creationTimestamp')),
            ','.join('%s=%s' % kv for kv in sorted((s.get('selector') or {}).items())) or '<none>']


def _event(o):
    i = o.get('involvedObject') or {}
    return [_age(o.get('lastTimestamp')), o.get('type', ''), o.get('reason', ''), '%s/%s' % (i.get('kind', '').lower(), i.get('name', '')),
            (o.get('message') or '').strip()]


def _node(o):
    ready = next((c['status'] for c in dig(o, 'status.conditions') or [] if c['type'] == 'Ready'), 'Unknown')
    text = 'Ready' if ready == 'True' else 'NotReady'
    if o['spec'].get('unschedulable'):
        text += ',SchedulingDisabled'
    return [o['metadata']['name'], text, '<none>', _age(o['metadata'].get('creationTimestamp')), dig(o, 'status.nodeInfo.kubeletVersion') or '']


_age_of = lambda o: _age(o['metadata'].get('creationTimestamp'))
# kind -> columns (a trailing * marks those of -o wide) and the row
_KINDS = {
    'Pod': ('Name,Ready,Status,Restarts,Age,IP*,Node*,Nominated Node*,Readiness Gates*', _pod),
    'Job': ('Name,Status,Completions,Duration,Age', _job),
    'Service': ('Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector*', _service),
    'Event': ('Last Seen,Type,Reason,Object,Message', _event),
    'Node': ('Name,Status,Roles,Age,Version', _node),
    'Secret': ('Name,Type,Data,Age', lambda o: [o['metadata']['name'], o.get('type', ''), len(o.get('data') or {}), _age_of(o)]),
    'ConfigMap': ('Name,Data,Age', lambda o: [o['metadata']['name'], len(o.get('data') or {}) + len(o.get('binaryData') or {}), _age_of(o)]),
    'Namespace': ('Name,Status,Age', lambda o: [o['metadata']['name'], dig(o, 'status.phase'), _age_of(o)]),
    'PersistentVolumeClaim': ('Name,Status,Volume,Capacity,Access Modes,StorageClass,Age', lambda o: [
        o['metadata']['name'], dig(o, 'status.phase'), o['spec'].get('volumeName', ''), dig(o, 'status.capacity.storage') or '',
        ','.join(''.join(c for c in m if c.isupper()) for m in o['spec'].get('accessModes') or []), o['spec'].get('storageClassName', ''), _age_of(o)]),
}
_OTHER = ('Name,Created At', lambda o: [o['metadata']['name'], o['metadata'].get('creationTimestamp')])


def table(res, items, list_meta, include='Metadata'):
    columns, row = _KINDS.get(res.kind, _OTHER)
    heads = [{'name': c.rstrip('*'), 'type': 'integer' if c == 'Data' else 'string', 'format': 'name' if c == 'Name' else '',
              'description': c.rstrip('*'), 'priority': 1 if c.endswith('*') else 0} for c in columns.split(',')]
    rows = []
    for o in items:
        r = {'cells': row(o)}
        if include == 'Object':
            r['object'] = o
        elif include == 'Metadata':
            r['object'] = {'kind': 'PartialObjectMetadata', 'apiVersion': 'meta.k8s.io/v1', 'metadata': o['metadata']}
        rows.append(r)
    return {'kind': 'Table', 'apiVersion': 'meta.k8s.io/v1', 'metadata': list_meta, 'columnDefinitions': heads, 'rows': rows}
