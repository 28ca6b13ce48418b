# SPDX-License-Identifier: Apache-2.0
"""The values that the server fills in when an object is created."""


def _sources(volume):
    for key, mode in (('secret', 'defaultMode'), ('configMap', 'defaultMode'), ('downwardAPI', 'defaultMode'), ('projected', 'defaultMode')):
        if key in volume:
            volume[key].setdefault(mode, 0o644)
    if not any(k != 'name' for k in volume):
        volume['emptyDir'] = {}
    for item in (volume.get('downwardAPI') or {}).get('items') or []:
        if 'fieldRef' in item:
            item['fieldRef'].setdefault('apiVersion', 'v1')
    for source in (volume.get('projected') or {}).get('sources') or []:
        if 'serviceAccountToken' in source:
            source['serviceAccountToken'].setdefault('expirationSeconds', 3600)
        for item in (source.get('downwardAPI') or {}).get('items') or []:
            if 'fieldRef' in item:
                item['fieldRef'].setdefault('apiVersion', 'v1')
    if 'hostPath' in volume:
        volume['hostPath'].setdefault('type', '')


def _probe(probe):
    for k, v in (('timeoutSeconds', 1), ('periodSeconds', 10), ('successThreshold', 1), ('failureThreshold', 3)):
        probe.setdefault(k, v)
    if 'httpGet' in probe:
        probe['httpGet'].setdefault('scheme', 'HTTP')
        probe['httpGet'].setdefault('path', '/')


def _container(c):
    image = c.get('image', '')
    latest = '@' not in image and (':' not in image.rsplit('/', 1)[-1] or image.endswith(':latest'))
    c.setdefault('imagePullPolicy', 'Always' if latest else 'IfNotPresent')
    c.setdefault('terminationMessagePath', '/dev/termination-log')
    c.setdefault('terminationMessagePolicy', 'File')
    r = c.setdefault('resources', {})
    for k, v in (r.get('limits') or {}).items():
        r.setdefault('requests', {}).setdefault(k, v)
    for p in c.get('ports') or []:
        p.setdefault('protocol', 'TCP')
    for e in c.get('env') or []:
        ref = (e.get('valueFrom') or {}).get('fieldRef')
        if ref is not None:
            ref.setdefault('apiVersion', 'v1')
    for k in ('livenessProbe', 'readinessProbe', 'startupProbe'):
        if k in c:
            _probe(c[k])


def pod_spec(spec):
    """Fills a pod's spec, also one inside a template."""
    for v in spec.get('volumes') or []:
        _sources(v)
    for c in (spec.get('initContainers') or []) + (spec.get('containers') or []):
        _container(c)
    for k, v in (('restartPolicy', 'Always'), ('terminationGracePeriodSeconds', 30), ('dnsPolicy', 'ClusterFirst'),
                 ('schedulerName', 'default-scheduler')):
        spec.setdefault(k, v)
    spec.setdefault('securityContext', {})
    if spec.get('serviceAccountName'):
        spec['serviceAccount'] = spec['serviceAccountName']
    elif spec.get('serviceAccount'):
        spec['serviceAccountName'] = spec['serviceAccount']


def pod(obj):
    spec = obj.setdefault('spec', {})
    pod_spec(spec)
    spec.setdefault('enableServiceLinks', True)


def job(obj):
    spec = obj.setdefault('spec', {})
    spec.setdefault('completionMode', 'NonIndexed')
    if 'completions' not in spec and 'parallelism' not in spec:
        spec['completions'] = spec['parallelism'] = 1
    spec.setdefault('parallelism', 1)
    spec.setdefault('backoffLimit', 2147483647 if 'backoffLimitPerIndex' in spec else 6)
    spec.setdefault('suspend', False)
    spec.setdefault('manualSelector', False)
    spec.setdefault('podReplacementPolicy', 'Failed' if 'podFailurePolicy' in spec else 'TerminatingOrFailed')
    for rule in (spec.get('podFailurePolicy') or {}).get('rules') or []:
        for c in rule.get('onPodConditions') or []:
            c.setdefault('status', 'True')
    template = spec.setdefault('template', {})
    template.setdefault('metadata', {})
    pod_spec(template.setdefault('spec', {}))


def service(obj):
    spec = obj.setdefault('spec', {})
    for k, v in (('type', 'ClusterIP'), ('sessionAffinity', 'None')):
        spec.setdefault(k, v)
    if spec['type'] != 'ExternalName':
        for k, v in (('internalTrafficPolicy', 'Cluster'), ('ipFamilies', ['IPv4']), ('ipFamilyPolicy', 'SingleStack')):
            spec.setdefault(k, v)
    for p in spec.get('ports') or []:
        p.setdefault('protocol', 'TCP')
        if p.get('targetPort') in (None, 0, ''):
            p['targetPort'] = p.get('port')
    obj.setdefault('status', {'loadBalancer': {}})


def secret(obj):
    import base64
    obj.setdefault('type', 'Opaque')
    for k, v in (obj.pop('stringData', None) or {}).items():
        obj.setdefault('data', {})[k] = base64.b64encode(v.encode()).decode()


def claim(obj):
    obj.setdefault('spec', {}).setdefault('volumeMode', 'Filesystem')
    obj.setdefault('status', {'phase': 'Pending'})


def volume(obj):
    spec = obj.setdefault('spec', {})
    spec.setdefault('persistentVolumeReclaimPolicy', 'Retain')
    spec.setdefault('volumeMode', 'Filesystem')
    obj.setdefault('status', {'phase': 'Available'})


def namespace(obj):
    obj.setdefault('spec', {}).setdefault('finalizers', ['kubernetes'])
    obj['status'] = {'phase': 'Active'}
    obj['metadata'].setdefault('labels', {})['kubernetes.io/metadata.name'] = obj['metadata'].get('name', '')


def binding(obj):
    for s in obj.get('subjects') or []:
        s.setdefault('apiGroup', '' if s.get('kind') == 'ServiceAccount' else 'rbac.authorization.k8s.io')
        if not s['apiGroup']:
            del s['apiGroup']
    obj.get('roleRef', {}).setdefault('apiGroup', 'rbac.authorization.k8s.io')


BY_KIND = {'Pod': pod, 'Job': job, 'Service': service, 'Secret': secret, 'PersistentVolumeClaim': claim, 'PersistentVolume': volume,
           'Namespace': namespace, 'RoleBinding': binding, 'ClusterRoleBinding': binding}
