# SPDX-License-Identifier: Apache-2.0
"""Checks of a pod's spec, with the server's words."""
import re

from . import names

_ENV_NAME = re.compile(r'[-._a-zA-Z][-._a-zA-Z0-9]*\Z')
_ENV_TEXT = ("a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a "
             "digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')")
_ENV_FIELDS = ('metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName', 'status.hostIP',
               'status.hostIPs', 'status.podIP', 'status.podIPs')
_VOLUME_FIELDS = ('metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid')
_NATIVE = ('cpu', 'memory', 'ephemeral-storage')


def _resources(c, path, errs):
    r = c.get('resources') or {}
    limits, requests = r.get('limits') or {}, r.get('requests') or {}
    for kind, table in (('limits', limits), ('requests', requests)):
        for k, v in table.items():
            at = '%s.resources.%s[%s]' % (path, kind, k) if '.' in k else '%s.resources.%s[%s]' % (path, kind, k)
            for e in names.key_errors(k):
                errs.invalid(at, k, e)
            if '/' not in k and k not in _NATIVE and not k.startswith('hugepages-'):
                errs.invalid(at, k, 'must be a standard resource type or fully qualified')
            n = names.quantity(v)
            if n < 0:
                errs.invalid(at, v, 'must be greater than or equal to 0')
            if '/' in k and n != int(n):
                errs.invalid(at, v, 'must be an integer')
    for k, v in requests.items():
        if k in limits and names.quantity(v) > names.quantity(limits[k]):
            errs.invalid(path + '.resources.requests', v, 'must be less than or equal to %s limit of %s' % (k, limits[k]))
        elif '/' in k and k in limits and names.quantity(v) != names.quantity(limits[k]):
            errs.invalid(path + '.resources.requests', v, 'must be equal to %s limit of %s' % (k, limits[k]))
        elif '/' in k and k not in limits:
            errs.required(path + '.resources.limits[%s]' % k, 'Limit must be set for non overcommitable resources')


def _field_ref(ref, path, allowed, errs):
    f = ref.get('fieldPath', '')
    if not f:
        errs.required(path + '.fieldPath')
    elif not (re.match(r"metadata\.(labels|annotations)\['[^']+'\]\Z", f) or f in allowed):
        errs.unsupported(path + '.fieldPath', f, allowed)


def _env(c, path, errs):
    for i, e in enumerate(c.get('env') or []):
        at = '%s.env[%d]' % (path, i)
        if not e.get('name'):
            errs.required(at + '.name')
        elif not _ENV_NAME.match(e['name']):
            errs.invalid(at + '.name', e['name'], _ENV_TEXT)
        source = e.get('valueFrom')
        if source is None:
            continue
        if e.get('value'):
            errs.invalid(at + '.valueFrom', '', 'may not be specified when `value` is not empty')
        if len(source) != 1:
            errs.invalid(at + '.valueFrom', '', 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'
                         if not source else 'may not have more than one field specified at a time')
        if 'fieldRef' in source:
            _field_ref(source['fieldRef'], at + '.valueFrom.fieldRef', _ENV_FIELDS, errs)
        for k in ('secretKeyRef', 'configMapKeyRef'):
            if k in source and not source[k].get('key'):
                errs.required('%s.valueFrom.%s.key' % (at, k))


def _volumes(spec, path, errs):
    seen = set()
    for i, v in enumerate(spec.get('volumes') or []):
        at = '%s.volumes[%d]' % (path, i)
        name = v.get('name')
        if not name:
            errs.required(at + '.name')
            continue
        for e in names.label_errors(name):
            errs.invalid(at + '.name', name, e)
        if name in seen:
            errs.duplicate(at + '.name', name)
        seen.add(name)
        if len(v) > 2:
            for k in [k for k in v if k != 'name'][1:]:
                errs.not_allowed('%s.%s' % (at, k), 'may not specify more than 1 volume type')
        for kind, need in (('secret', 'secretName'), ('configMap', 'name'), ('persistentVolumeClaim', 'claimName'), ('hostPath', 'path')):
            if kind in v and not v[kind].get(need):
                errs.required('%s.%s.%s' % (at, kind, need))
        for kind in ('secret', 'configMap', 'downwardAPI', 'projected'):
            mode = (v.get(kind) or {}).get('defaultMode', 0)
            if not 0 <= mode <= 0o777:
                errs.invalid('%s.%s.defaultMode' % (at, kind), mode, 'must be a number between 0 and 0777 (octal), both inclusive')
        medium = (v.get('emptyDir') or {}).get('medium', '')
        if medium not in ('', 'Memory') and not medium.startswith('HugePages'):
            errs.unsupported(at + '.emptyDir.medium', medium, ('', 'Memory', 'HugePages'))
        for j, item in enumerate((v.get('downwardAPI') or {}).get('items') or []):
            if 'fieldRef' in item:
                _field_ref(item['fieldRef'], '%s.downwardAPI.items[%d].fieldRef' % (at, j), _VOLUME_FIELDS, errs)
    return seen


def _container(c, path, volumes, seen, errs):
    name = c.get('name')
    if not name:
        errs.required(path + '.name')
    else:
        for e in names.label_errors(name):
            errs.invalid(path + '.name', name, e)
        if name in seen:
            errs.duplicate(path + '.name', name)
        seen.add(name)
    image = c.get('image', '')
    if not image:
        errs.required(path + '.image')
    elif image != image.strip():
        errs.invalid(path + '.image', image, 'must not have leading or trailing whitespace')
    if c['imagePullPolicy'] not in ('Always', 'IfNotPresent', 'Never'):
        errs.unsupported(path + '.imagePullPolicy', c['imagePullPolicy'], ('Always', 'IfNotPresent', 'Never'))
    if c['terminationMessagePolicy'] not in ('File', 'FallbackToLogsOnError'):
        errs.unsupported(path + '.terminationMessagePolicy', c['terminationMessagePolicy'], ('File', 'FallbackToLogsOnError'))
    ports = set()
    for i, p in enumerate(c.get('ports') or []):
        at = '%s.ports[%d]' % (path, i)
        if not p.get('containerPort'):
            errs.required(at + '.containerPort')
        elif not 1 <= p['containerPort'] <= 65535:
            errs.invalid(at + '.containerPort', p['containerPort'], 'must be between 1 and 65535, inclusive')
        if p['protocol'] not in ('TCP', 'UDP', 'SCTP'):
            errs.unsupported(at + '.protocol', p['protocol'], ('SCTP', 'TCP', 'UDP'))
        if p.get('name'):
            if len(p['name']) > 15 or not re.match(r'[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z', p['name']) or not re.search('[a-z]', p['name']):
                errs.invalid(at + '.name', p['name'], 'must be no more than 15 characters' if len(p['name']) > 15 else
                             'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
            if p['name'] in ports:
                errs.duplicate(at + '.name', p['name'])
            ports.add(p['name'])
    _env(c, path, errs)
    paths = set()
    for i, m in enumerate(c.get('volumeMounts') or []):
        at = '%s.volumeMounts[%d]' % (path, i)
        if not m.get('name'):
            errs.required(at + '.name')
        elif m['name'] not in volumes:
            errs.missing(at + '.name', m['name'])
        if not m.get('mountPath'):
            errs.required(at + '.mountPath')
        elif m['mountPath'] in paths:
            errs.invalid(at + '.mountPath', m['mountPath'], 'must be unique')
        paths.add(m.get('mountPath'))
        sub = m.get('subPath', '')
        if sub.startswith('/') or '..' in sub.split('/'):
            errs.invalid(at + '.subPath', sub, 'must be a relative path' if sub.startswith('/') else "must not contain '..'")
    _resources(c, path, errs)
    sc = c.get('securityContext') or {}
    for k in ('runAsUser', 'runAsGroup'):
        if sc.get(k, 0) < 0:
            errs.invalid('%s.securityContext.%s' % (path, k), sc[k], 'must be between 0 and 2147483647, inclusive')
    if sc.get('privileged') and sc.get('allowPrivilegeEscalation') is False:
        errs.invalid(path + '.securityContext', sc, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true')


def pod_spec(spec, path, errs):
    """Puts what is wrong with the spec at `path` into errs."""
    volumes = _volumes(spec, path, errs)
    if not spec.get('containers'):
        errs.required(path + '.containers')
    seen = set()
    for field in ('initContainers', 'containers'):
        for i, c in enumerate(spec.get(field) or []):
            _container(c, '%s.%s[%d]' % (path, field, i), volumes, seen, errs)
    if spec['restartPolicy'] not in ('Always', 'OnFailure', 'Never'):
        errs.unsupported(path + '.restartPolicy', spec['restartPolicy'], ('Always', 'OnFailure', 'Never'))
    if spec['dnsPolicy'] not in ('ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'):
        errs.unsupported(path + '.dnsPolicy', spec['dnsPolicy'], ('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'))
    if spec['terminationGracePeriodSeconds'] < 0:
        errs.invalid(path + '.terminationGracePeriodSeconds', spec['terminationGracePeriodSeconds'], 'must be greater than or equal to 0')
    if spec.get('activeDeadlineSeconds', 1) < 1:
        errs.invalid(path + '.activeDeadlineSeconds', spec['activeDeadlineSeconds'], 'must be between 1 and 2147483647, inclusive')
    names.check_labels(spec.get('nodeSelector'), path + '.nodeSelector', errs)
    for k in ('hostname', 'subdomain'):
        if spec.get(k):
            for e in names.label_errors(spec[k]):
                errs.invalid('%s.%s' % (path, k), spec[k], e)
    if spec.get('serviceAccountName'):
        for e in names.subdomain_errors(spec['serviceAccountName']):
            errs.invalid(path + '.serviceAccountName', spec['serviceAccountName'], e)
    for i, t in enumerate(spec.get('tolerations') or []):
        at = '%s.tolerations[%d]' % (path, i)
        if t.get('operator', 'Equal') not in ('', 'Equal', 'Exists'):
            errs.unsupported(at + '.operator', t['operator'], ('Equal', 'Exists'))
        if t.get('operator') == 'Exists' and t.get('value'):
            errs.invalid(at + '.operator', t['value'], 'value must be empty when `operator` is \'Exists\'')
        if t.get('effect', '') not in ('', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'):
            errs.unsupported(at + '.effect', t['effect'], ('NoSchedule', 'PreferNoSchedule', 'NoExecute'))
    for i, t in enumerate(spec.get('topologySpreadConstraints') or []):
        at = '%s.topologySpreadConstraints[%d]' % (path, i)
        if t.get('maxSkew', 0) <= 0:
            errs.invalid(at + '.maxSkew', t.get('maxSkew', 0), 'must be greater than zero')
        if not t.get('topologyKey'):
            errs.required(at + '.topologyKey', 'can not be empty')
        if t.get('whenUnsatisfiable') not in ('DoNotSchedule', 'ScheduleAnyway'):
            errs.unsupported(at + '.whenUnsatisfiable', t.get('whenUnsatisfiable', ''), ('DoNotSchedule', 'ScheduleAnyway'))


def pod_update(new, old, errs):
    """A pod's spec is immutable but for the images, the deadline, and tolerations that are added."""
    a, b = names.clone(new['spec']), names.clone(old['spec'])
    for field in ('containers', 'initContainers'):
        for x, y in zip(a.get(field) or [], b.get(field) or []):
            x['image'] = y['image']
    before = b.get('tolerations') or []
    if all(t in (a.get('tolerations') or []) for t in before):
        a['tolerations'] = b['tolerations'] = []
    if 'activeDeadlineSeconds' in a and a['activeDeadlineSeconds'] <= b.get('activeDeadlineSeconds', 1 << 31):
        a['activeDeadlineSeconds'] = b['activeDeadlineSeconds'] = 0
    if a.get('schedulingGates') != b.get('schedulingGates') and all(g in (b.get('schedulingGates') or []) for g in a.get('schedulingGates') or []):
        a['schedulingGates'] = b['schedulingGates'] = []
    if a != b:
        errs.not_allowed('spec', 'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,'
                         '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),'
                         '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n')
