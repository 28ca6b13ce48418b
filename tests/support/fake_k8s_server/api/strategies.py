# SPDX-License-Identifier: Apache-2.0
"""Per-kind rules at creation and update: admission, validation, immutable fields, what the server allocates."""
import re

from . import errors, names, pod_security, validate_job, validate_pod
from .errors import FieldErrors
from .names import clone, dig

_NAME_RULE = {'Service': names.label_1035_errors, 'Namespace': names.label_errors, 'Role': names.path_segment_errors,
              'RoleBinding': names.path_segment_errors, 'ClusterRole': names.path_segment_errors, 'ClusterRoleBinding': names.path_segment_errors}
_SPEC_KINDS = ('Pod', 'Job', 'Service', 'PersistentVolumeClaim', 'PersistentVolume', 'Node', 'PodGroup', 'NetworkPolicy', 'ResourceQuota')
_SECRET_KEY = re.compile(r'[-._a-zA-Z0-9]+\Z')
_SECRET_KEY_TEXT = ("a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
                    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')")
_DEFAULT_TOLERATIONS = ('node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable')


class Strategies:
    """The rules; `services` allocates ClusterIPs, `token_volumes` switches service-account volumes on."""

    def __init__(self, store, catalog, cluster_ips, token_volumes=True):
        self.store, self.catalog, self.ips, self.token_volumes = store, catalog, cluster_ips, token_volumes

    # ------------------------------------------------------------ metadata
    def metadata(self, res, obj, errs):
        m = obj['metadata']
        if not m.get('name'):
            errs.required('metadata.name', 'name or generateName is required')
        else:
            for e in _NAME_RULE.get(res.kind, names.subdomain_errors)(m['name']):
                errs.invalid('metadata.name', m['name'], e)
        names.check_labels(m.get('labels'), 'metadata.labels', errs)
        names.check_annotations(m.get('annotations'), 'metadata.annotations', errs)
        for i, f in enumerate(m.get('finalizers') or []):
            for e in names.key_errors(f):
                errs.invalid('metadata.finalizers', f, e)
        controllers = 0
        for i, r in enumerate(m.get('ownerReferences') or []):
            for k in ('apiVersion', 'kind', 'name', 'uid'):
                if not r.get(k):
                    errs.invalid('metadata.ownerReferences.' + k, r.get(k, ''), 'must not be empty' if k != 'apiVersion' else 'version must not be empty')
            controllers += bool(r.get('controller'))
        if controllers > 1:
            errs.invalid('metadata.ownerReferences', m['ownerReferences'], 'Only one reference can have Controller set to true')

    # ------------------------------------------------------------ create
    def create(self, res, obj):
        """Admission and validation of a new object whose metadata and defaults are set; changes it in place.

        Returns the warnings of the admission."""
        errs, warnings = FieldErrors(), []
        rule = getattr(self, '_create_' + res.kind.lower(), None)
        if res.kind in ('Pod', 'Job', 'Service'):
            obj['status'] = obj.get('status') if res.kind == 'Service' else {}
        self.metadata(res, obj, errs)
        if rule:
            rule(res, obj, errs, warnings)
        errs.raise_if_any(res, obj['metadata'].get('name'))
        if res.kind in _SPEC_KINDS:
            obj['metadata']['generation'] = 1
        self._quota(res, obj)
        return warnings

    def _create_pod(self, res, obj, errs, warnings):
        spec, ns = obj['spec'], obj['metadata']['namespace']
        self._service_account(res, obj)
        self._priority(res, obj)
        have = {(t.get('key'), t.get('effect')) for t in spec.get('tolerations') or [] if t.get('key')}
        if not any(not t.get('key') and t.get('operator') == 'Exists' for t in spec.get('tolerations') or []):
            for key in _DEFAULT_TOLERATIONS:
                if (key, 'NoExecute') not in have and (key, None) not in have:
                    spec.setdefault('tolerations', []).append({'key': key, 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 300})
        validate_pod.pod_spec(spec, 'spec', errs)
        level = self._level(ns, 'enforce')
        bad = pod_security.violations(spec, level)
        if bad:
            raise errors.forbidden(res, obj['metadata']['name'], 'violates PodSecurity "%s:latest": %s' % (level, ', '.join(bad)))
        qos = [c.get('resources') or {} for c in spec['containers']] if spec.get('containers') else []
        full = all(r.get('limits') and all(r['limits'].get(k) and names.quantity(r['limits'][k]) == names.quantity((r.get('requests') or {}).get(k, 0))
                                           for k in ('cpu', 'memory')) for r in qos)
        some = any(r.get('limits') or r.get('requests') for r in qos)
        obj['status'] = {'phase': 'Pending', 'qosClass': 'Guaranteed' if full and qos else 'Burstable' if some else 'BestEffort'}

    def _level(self, ns, mode):
        n = self.store.get('namespaces', '', ns) or {}
        return (dig(n, 'metadata.labels') or {}).get('pod-security.kubernetes.io/' + mode, 'privileged')

    def _service_account(self, res, obj):
        spec, m = obj['spec'], obj['metadata']
        name = spec.setdefault('serviceAccountName', 'default')
        spec['serviceAccount'] = name
        sa = self.store.get('serviceaccounts', m['namespace'], name)
        if sa is None:
            raise errors.forbidden(res, m['name'], 'error looking up service account %s/%s: serviceaccount "%s" not found' % (m['namespace'], name, name))
        mount = spec.get('automountServiceAccountToken', sa.get('automountServiceAccountToken', True))
        if not mount or not self.token_volumes:
            return
        path, volume = '/var/run/secrets/kubernetes.io/serviceaccount', 'kube-api-access-' + names.random_suffix()
        used = False
        for c in (spec.get('initContainers') or []) + (spec.get('containers') or []):
            if not any(v.get('mountPath') == path for v in c.get('volumeMounts') or []):
                c.setdefault('volumeMounts', []).append({'name': volume, 'readOnly': True, 'mountPath': path})
                used = True
        if used:
            spec.setdefault('volumes', []).append({'name': volume, 'projected': {'defaultMode': 0o644, 'sources': [
                {'serviceAccountToken': {'expirationSeconds': 3607, 'path': 'token'}},
                {'configMap': {'name': 'kube-root-ca.crt', 'items': [{'key': 'ca.crt', 'path': 'ca.crt'}]}},
                {'downwardAPI': {'items': [{'path': 'namespace', 'fieldRef': {'apiVersion': 'v1', 'fieldPath': 'metadata.namespace'}}]}}]}})

    def _priority(self, res, obj):
        spec = obj['spec']
        name = spec.get('priorityClassName')
        value = 0
        if name:
            pc = self.store.get('priorityclasses', '', name)
            if pc is None:
                raise errors.forbidden(res, obj['metadata']['name'], 'no PriorityClass with name %s was found' % name)
            value = pc.get('value', 0)
        spec['priority'] = value
        spec.setdefault('preemptionPolicy', 'PreemptLowerPriority')

    def _create_job(self, res, obj, errs, warnings):
        validate_job.generate_selector(obj, errs)
        validate_job.spec(obj, errs)
        for mode, level in ((m, self._level(obj['metadata']['namespace'], m)) for m in ('enforce', 'warn')):
            bad = pod_security.violations(obj['spec']['template']['spec'], level)
            if bad:
                warnings.append('would violate PodSecurity "%s:latest": %s' % (level, ', '.join(bad)))
                break

    def _create_service(self, res, obj, errs, warnings):
        self._service_spec(obj, errs)
        spec, ns = obj['spec'], obj['metadata']['namespace']
        if errs or spec['type'] == 'ExternalName':
            return
        want = spec.get('clusterIP', '')
        if want and want != 'None':
            if not self.ips.claim(want):
                why = 'provided IP is already allocated'
                if not self.ips.inside(want):
                    why = 'the provided IP is not in the valid range. The range of valid IPs is %s' % self.ips.cidr
                errs.invalid('spec.clusterIPs', [want], 'failed to allocate IP %s: %s' % (want, why))
        elif not want:
            spec['clusterIP'] = self.ips.take()
        spec['clusterIPs'] = [spec['clusterIP']]

    def _service_spec(self, obj, errs):
        spec = obj['spec']
        ports = spec.get('ports') or []
        if not ports and spec.get('clusterIP') != 'None' and spec['type'] != 'ExternalName':
            errs.required('spec.ports')
        seen = set()
        for i, p in enumerate(ports):
            at = 'spec.ports[%d]' % i
            if not p.get('name') and len(ports) > 1:
                errs.required(at + '.name')
            elif p.get('name'):
                for e in names.label_errors(p['name']):
                    errs.invalid(at + '.name', p['name'], e)
                if p['name'] in seen:
                    errs.duplicate(at + '.name', p['name'])
                seen.add(p['name'])
            if not 1 <= p.get('port', 0) <= 65535:
                errs.invalid(at + '.port', p.get('port', 0), 'must be between 1 and 65535, inclusive')
            if isinstance(p.get('targetPort'), int) and not 1 <= p['targetPort'] <= 65535:
                errs.invalid(at + '.targetPort', p['targetPort'], 'must be between 1 and 65535, inclusive')
            if p['protocol'] not in ('TCP', 'UDP', 'SCTP'):
                errs.unsupported(at + '.protocol', p['protocol'], ('SCTP', 'TCP', 'UDP'))
        if spec['type'] not in ('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'):
            errs.unsupported('spec.type', spec['type'], ('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'))
        names.check_labels(spec.get('selector'), 'spec.selector', errs)

    def _keys(self, obj, errs):
        size = 0
        for field in ('data', 'binaryData'):
            for k, v in (obj.get(field) or {}).items():
                size += len(v) * (3 / 4 if field == 'binaryData' or obj['kind'] == 'Secret' else 1)
                if not _SECRET_KEY.match(k):
                    errs.invalid('%s[%s]' % (field, k), k, _SECRET_KEY_TEXT)
        if size > 1048576:
            errs._put('FieldValueTooLong', 'data' if obj['kind'] == 'Secret' else '', 'Too long: may not be more than 1048576 bytes')

    def _create_secret(self, res, obj, errs, warnings):
        self._keys(obj, errs)

    _create_configmap = _create_secret

    def _create_persistentvolumeclaim(self, res, obj, errs, warnings):
        spec = obj['spec']
        if not spec.get('accessModes'):
            errs.required('spec.accessModes', 'at least 1 access mode is required')
        if 'storage' not in ((spec.get('resources') or {}).get('requests') or {}):
            errs.required('spec.resources[storage]')
        obj['status'] = {'phase': 'Pending'}

    def _create_event(self, res, obj, errs, warnings):
        ns = (obj.get('involvedObject') or {}).get('namespace', '')
        if ns != obj['metadata']['namespace'] and not (ns == '' and obj['metadata']['namespace'] == 'default'):
            errs.invalid('involvedObject.namespace', ns, 'does not match event.namespace')

    def _create_rolebinding(self, res, obj, errs, warnings):
        if not (obj.get('roleRef') or {}).get('name'):
            errs.required('roleRef.name')
        for i, s in enumerate(obj.get('subjects') or []):
            if s.get('kind') not in ('User', 'Group', 'ServiceAccount'):
                errs.unsupported('subjects[%d].kind' % i, s.get('kind', ''), ('ServiceAccount', 'User', 'Group'))
            if s.get('kind') == 'ServiceAccount' and not s.get('namespace') and res.plural == 'clusterrolebindings':
                errs.required('subjects[%d].namespace' % i)

    _create_clusterrolebinding = _create_rolebinding

    def _quota(self, res, obj):
        ns = obj['metadata'].get('namespace')
        for q in self.store.list('resourcequotas', ns) if ns else []:
            hard = dig(q, 'spec.hard') or {}
            want = {'count/' + res.qualified: 1, res.plural: 1}
            if res.kind == 'Pod':
                for k, v in pod_requests(obj['spec']).items():
                    want['requests.' + k] = v
                    if k in ('cpu', 'memory'):
                        want[k] = v
            used = {k: self._used(res, ns, k) for k in hard if k in want}
            over = sorted(k for k in used if used[k] + want[k] > names.quantity(hard[k]))
            if over:
                lines = lambda table: ','.join('%s=%s' % (k, table[k]) for k in over)
                raise errors.forbidden(res, obj['metadata']['name'], 'exceeded quota: %s, requested: %s, used: %s, limited: %s'
                                       % (q['metadata']['name'], lines(want), lines(used), lines(hard)))

    def _used(self, res, ns, key):
        objs = [o for o in self.store.list(res.plural, ns) if dig(o, 'status.phase') not in ('Succeeded', 'Failed') or res.kind != 'Pod']
        if key in (res.plural, 'count/' + res.qualified):
            return len(objs)
        return sum(pod_requests(o['spec']).get(key.replace('requests.', ''), 0) for o in objs)

    # ------------------------------------------------------------ update
    def update(self, res, new, old):
        """Checks a change of everything but the status; changes `new` in place (kept fields, generation)."""
        errs = FieldErrors()
        self.metadata(res, new, errs)
        if old['metadata'].get('deletionTimestamp'):
            for f in new['metadata'].get('finalizers') or []:
                if f not in (old['metadata'].get('finalizers') or []):
                    errs.not_allowed('metadata.finalizers', 'no new finalizers can be added if the object is being deleted, found new '
                                     'finalizers []string{"%s"}' % f)
        if 'status' in res.sub:
            new['status'] = old.get('status', {})
        kind = res.kind
        if kind == 'Pod':
            validate_pod.pod_update(new, old, errs)
        elif kind == 'Job':
            validate_job.update(new, old, errs)
        elif kind == 'Service':
            self._service_spec(new, errs)
            if not new['spec'].get('clusterIP'):
                new['spec']['clusterIP'], new['spec']['clusterIPs'] = old['spec'].get('clusterIP'), old['spec'].get('clusterIPs')
            elif new['spec']['clusterIP'] != old['spec'].get('clusterIP'):
                errs.invalid('spec.clusterIPs[0]', [new['spec']['clusterIP']], 'may not change once set')
        elif kind in ('Secret', 'ConfigMap'):
            self._keys(new, errs)
            if kind == 'Secret' and new.get('type') != old.get('type'):
                errs.invalid('type', new.get('type'), 'field is immutable')
            if old.get('immutable'):
                if not new.get('immutable'):
                    errs.not_allowed('immutable', 'field is immutable when `immutable` is set')
                for k in ('data', 'binaryData'):
                    if new.get(k) != old.get(k):
                        errs.not_allowed(k, 'field is immutable when `immutable` is set')
        elif kind in ('RoleBinding', 'ClusterRoleBinding') and new.get('roleRef') != old.get('roleRef'):
            errs.invalid('roleRef', new.get('roleRef'), 'cannot change roleRef')
        elif kind == 'PersistentVolumeClaim':
            a, b = clone(new['spec']), clone(old['spec'])
            a.pop('resources', None), b.pop('resources', None)
            if a != b and b.get('volumeName'):
                errs.not_allowed('spec', 'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims')
        errs.raise_if_any(res, old['metadata']['name'])
        if kind in _SPEC_KINDS and new.get('spec') != old.get('spec'):
            new['metadata']['generation'] = old['metadata'].get('generation', 1) + 1


def pod_requests(spec):
    """What a pod asks of a node: the larger of the containers' sum and each init container."""
    total = {}
    for c in spec.get('containers') or []:
        for k, v in ((c.get('resources') or {}).get('requests') or {}).items():
            total[k] = total.get(k, 0) + names.quantity(v)
    for c in spec.get('initContainers') or []:
        for k, v in ((c.get('resources') or {}).get('requests') or {}).items():
            total[k] = max(total.get(k, 0), names.quantity(v))
    return total
