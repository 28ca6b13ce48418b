# SPDX-License-Identifier: Apache-2.0
"""A pod's volumes, environment and files, made from its spec and the objects that it names."""
import base64
import os
import re
import shutil
import time

from ..api import names
from ..api.names import dig

TOKEN_DIR = '/var/run/secrets/kubernetes.io/serviceaccount'


class NotYet(Exception):
    """Something that the pod names is missing: `reason` is the waiting reason or the event's."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def field(pod, path, node_ip):
    """The downward API's value at a field path."""
    m = re.match(r"metadata\.(labels|annotations)\['([^']+)'\]\Z", path)
    if m:
        return (pod['metadata'].get(m.group(1)) or {}).get(m.group(2), '')
    if path in ('metadata.labels', 'metadata.annotations'):
        table = pod['metadata'].get(path.split('.')[1]) or {}
        return '\n'.join('%s="%s"' % (k, v.replace('\\', '\\\\').replace('"', '\\"')) for k, v in sorted(table.items()))
    if path in ('status.hostIP', 'status.hostIPs'):
        return node_ip
    if path == 'status.podIPs':
        path = 'status.podIP'
    return dig(pod, path) or ''


def resource_field(pod, container, ref):
    name = ref.get('containerName')
    c = next((x for x in pod['spec']['containers'] if x['name'] == name), container)
    kind, res = ref['resource'].split('.', 1)
    value = names.quantity(((c.get('resources') or {}).get(kind) or {}).get(res, 0))
    divisor = names.quantity(ref.get('divisor') or 1) or 1
    return str(-(-value // divisor))


def expand(text, env):
    """$(NAME) from env; $$ is a dollar sign; what is not defined stays."""
    return re.sub(r'\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))',
                  lambda m: '$' if m.group(1) == '$' else env.get(m.group(2), m.group(0)), text)


class Maker:
    """Makes what containers see.  `store` is read; files go under `folder`, which belongs to one pod."""

    def __init__(self, store, credentials, folder, pvc_folder, node_ip):
        self.store, self.credentials, self.folder = store, credentials, folder
        self.pvc_folder, self.node_ip = pvc_folder, node_ip
        self._written = {}                             # name of a Secret's or ConfigMap's volume -> its files

    def _data(self, pod, kind, name, optional, volume):
        plural = 'secrets' if kind == 'secret' else 'configmaps'
        o = self.store.get(plural, pod['metadata']['namespace'], name)
        if o is None:
            if optional:
                return {}
            raise NotYet('FailedMount' if volume else 'CreateContainerConfigError',
                         ('MountVolume.SetUp failed for volume "%s" : ' % volume if volume else '') + '%s "%s" not found' % (plural[:-1], name))
        out = {k: base64.b64decode(v) for k, v in (o.get('binaryData') or {}).items()}
        for k, v in (o.get('data') or {}).items():
            out[k] = base64.b64decode(v) if kind == 'secret' else v.encode()
        return out

    # ------------------------------------------------------------ environment
    def environment(self, pod, c, pod_ip, services):
        """The variables of one container, those of services first."""
        now = dict(pod, status=dict(pod.get('status') or {}, podIP=pod_ip))
        env = dict(services)
        for source in c.get('envFrom') or []:
            for kind, key in (('configMap', 'configMapRef'), ('secret', 'secretRef')):
                if key in source:
                    for k, v in self._data(pod, kind, source[key]['name'], source[key].get('optional'), None).items():
                        env[source.get('prefix', '') + k] = v.decode(errors='replace')
        for e in c.get('env') or []:
            source = e.get('valueFrom')
            if source is None:
                env[e['name']] = expand(e.get('value', ''), env)
            elif 'fieldRef' in source:
                env[e['name']] = field(now, source['fieldRef']['fieldPath'], self.node_ip)
            elif 'resourceFieldRef' in source:
                env[e['name']] = resource_field(pod, c, source['resourceFieldRef'])
            else:
                kind = 'secret' if 'secretKeyRef' in source else 'configMap'
                ref = source[kind + 'KeyRef']
                data = self._data(pod, kind, ref['name'], ref.get('optional'), None)
                if ref['key'] in data:
                    env[e['name']] = data[ref['key']].decode(errors='replace')
                elif not ref.get('optional'):
                    raise NotYet('CreateContainerConfigError', "couldn't find key %s in %s %s/%s" % (
                        ref['key'], 'Secret' if kind == 'secret' else 'ConfigMap', pod['metadata']['namespace'], ref['name']))
        return env

    # ------------------------------------------------------------ volumes
    def _pick(self, data, src, default, volume, what):
        """path -> (bytes, mode) of a source with or without `items`."""
        mode = src.get('defaultMode', default)
        if not src.get('items'):
            return {k: (v, mode) for k, v in data.items()}
        out = {}
        for i in src['items']:
            if i['key'] not in data:
                if src.get('optional'):
                    continue
                raise NotYet('FailedMount', 'MountVolume.SetUp failed for volume "%s" : references non-existent %s key: %s' % (volume, what, i['key']))
            out[i['path']] = (data[i['key']], i.get('mode', mode))
        return out

    def _downward(self, pod, items, mode):
        return {i['path']: ((field(pod, i['fieldRef']['fieldPath'], self.node_ip) if 'fieldRef' in i else
                             resource_field(pod, pod['spec']['containers'][0], i['resourceFieldRef'])).encode(), i.get('mode', mode)) for i in items}

    def _files(self, pod, v):
        name = v['name']
        if 'secret' in v or 'configMap' in v:
            kind = 'secret' if 'secret' in v else 'configMap'
            src = v[kind]
            data = self._data(pod, kind, src.get('secretName') or src.get('name'), src.get('optional'), name)
            return self._pick(data, src, 0o644, name, kind.lower() if kind == 'secret' else 'config')
        if 'downwardAPI' in v:
            return self._downward(pod, v['downwardAPI'].get('items') or [], v['downwardAPI'].get('defaultMode', 0o644))
        out, mode = {}, v['projected'].get('defaultMode', 0o644)
        for s in v['projected'].get('sources') or []:
            for kind in ('secret', 'configMap'):
                if kind in s:
                    data = self._data(pod, kind, s[kind]['name'], s[kind].get('optional'), name)
                    out.update(self._pick(data, s[kind], mode, name, kind))
            if 'downwardAPI' in s:
                out.update(self._downward(pod, s['downwardAPI'].get('items') or [], mode))
            if 'serviceAccountToken' in s:
                t, ns, sa = s['serviceAccountToken'], pod['metadata']['namespace'], pod['spec'].get('serviceAccountName', 'default')
                account = self.store.get('serviceaccounts', ns, sa) or {'metadata': {'uid': ''}}
                token = self.credentials.service_account_token(ns, sa, account['metadata']['uid'], pod, t.get('expirationSeconds', 3600))
                out[t['path']] = (token.encode(), mode)
        return out

    def path(self, volume):
        return os.path.join(self.folder, 'volumes', volume)

    def make(self, pod):
        """Makes all volumes; returns name -> source path, and the list of (path, options) of tmpfs to mount."""
        sources, tmpfs = {}, []
        group = (pod['spec'].get('securityContext') or {}).get('fsGroup')
        for v in pod['spec'].get('volumes') or []:
            p = self.path(v['name'])
            if 'hostPath' in v:
                p = v['hostPath']['path']
                if v['hostPath'].get('type') == 'DirectoryOrCreate':
                    os.makedirs(p, exist_ok=True)
                elif not os.path.exists(p):
                    raise NotYet('FailedMount', 'MountVolume.SetUp failed for volume "%s" : hostPath type check failed: %s does not exist' % (v['name'], p))
            elif 'persistentVolumeClaim' in v:
                p = self._claim(pod, v)
            elif 'emptyDir' in v:
                os.makedirs(p, exist_ok=True)
                mode = 0o2777 if group is not None else 0o777
                if v['emptyDir'].get('medium') == 'Memory':
                    size = v['emptyDir'].get('sizeLimit')
                    tmpfs.append((p, 'mode=%o%s%s' % (mode | 0o1000, ',size=%d' % names.quantity(size) if size else '',
                                                      ',gid=%d' % group if group is not None else '')))
                else:
                    os.chmod(p, mode)
                    if group is not None:
                        os.chown(p, 0, group)
            else:
                files = self._written[v['name']] = self._files(pod, v)
                self.write(p, files, group)
            sources[v['name']] = p
        return sources, tmpfs

    def uses(self, pod, kind, name):
        """Whether a volume is of this 'secret' or 'configMap'."""
        return any(kind in v and (v[kind].get('secretName') or v[kind].get('name')) == name for v in pod['spec'].get('volumes') or [])

    def refresh(self, pod):
        """Renews the volumes of Secrets and ConfigMaps that have changed; those that are gone stay as they are."""
        group = (pod['spec'].get('securityContext') or {}).get('fsGroup')
        for v in pod['spec'].get('volumes') or []:
            if 'secret' not in v and 'configMap' not in v:
                continue
            try:
                files = self._files(pod, v)
            except NotYet:
                continue
            if files != self._written.get(v['name']):
                self._written[v['name']] = files
                self.write(self.path(v['name']), files, group)

    def _claim(self, pod, v):
        ns, name = pod['metadata']['namespace'], v['persistentVolumeClaim']['claimName']
        claim = self.store.get('persistentvolumeclaims', ns, name)
        if claim is None or dig(claim, 'status.phase') != 'Bound':
            raise NotYet('FailedMount', 'Unable to attach or mount volumes: unbound PersistentVolumeClaim "%s"' % name)
        p = os.path.join(self.pvc_folder, '%s_%s' % (ns, name))
        if not os.path.isdir(p):
            os.makedirs(p)
            os.chmod(p, 0o777)
        group = (pod['spec'].get('securityContext') or {}).get('fsGroup')
        if group is not None:
            os.chown(p, 0, group)
            os.chmod(p, 0o2777)
        return p

    @staticmethod
    def write(folder, files, group=None):
        """As the kubelet's atomic writer: a folder with a time stamp, the link ..data to it, and links to the files."""
        os.makedirs(folder, exist_ok=True)
        if group is not None:
            os.chown(folder, 0, group)
        os.chmod(folder, 0o1777 if group is None else 0o3777)   # a tmpfs, as the kubelet's own
        stamp = time.strftime('..%Y_%m_%d_%H_%M_%S.', time.gmtime()) + '%09d' % (time.time_ns() % 10 ** 9)
        new, link = os.path.join(folder, stamp), os.path.join(folder, '..data')
        os.mkdir(new, 0o755)
        for path, (data, mode) in files.items():
            p = os.path.join(new, path)
            os.makedirs(os.path.dirname(p), exist_ok=True)
            fd = os.open(p, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, 'wb') as f:
                f.write(data)
            if group is not None:
                os.chown(p, 0, group)
                mode |= 0o440
            os.chmod(p, mode)
        old = os.readlink(link) if os.path.islink(link) else None
        os.symlink(stamp, link + '_tmp')
        os.replace(link + '_tmp', link)
        for top in {p.split('/')[0] for p in files}:
            at = os.path.join(folder, top)
            if not os.path.lexists(at):
                os.symlink(os.path.join('..data', top), at)
        if old:
            shutil.rmtree(os.path.join(folder, old), ignore_errors=True)
