# SPDX-License-Identifier: Apache-2.0
"""Which resources are served: their names, scope, verbs and subresources."""
import dataclasses

ALL = ('create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch')


@dataclasses.dataclass(frozen=True)
class Resource:
    """One kind of object.  `free`: a custom resource without a schema, which takes no strategic merge patch."""
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple = ()
    verbs: tuple = ALL
    sub: tuple = ()
    free: bool = False
    categories: tuple = ()

    @property
    def api_version(self):
        return '%s/%s' % (self.group, self.version) if self.group else self.version

    @property
    def qualified(self):
        return self.plural + ('.' + self.group if self.group else '')

    @property
    def stored(self):
        return 'list' in self.verbs

    def path(self, ns, name=''):
        base = '/apis/' + self.api_version if self.group else '/api/v1'
        return base + ('/namespaces/' + ns if self.namespaced and ns else '') + '/' + self.plural + ('/' + name if name else '')


RBAC = 'rbac.authorization.k8s.io'
ONLY_CREATE = ('create',)
BUILT_IN = [
    Resource('', 'v1', 'pods', 'Pod', short=('po',), sub=('status', 'log', 'exec', 'portforward', 'eviction', 'binding'), categories=('all',)),
    Resource('', 'v1', 'services', 'Service', short=('svc',), sub=('status',), categories=('all',)),
    Resource('', 'v1', 'secrets', 'Secret'),
    Resource('', 'v1', 'configmaps', 'ConfigMap', short=('cm',)),
    Resource('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim', short=('pvc',), sub=('status',)),
    Resource('', 'v1', 'persistentvolumes', 'PersistentVolume', False, ('pv',), sub=('status',)),
    Resource('', 'v1', 'events', 'Event', short=('ev',)),
    Resource('', 'v1', 'nodes', 'Node', False, ('no',), sub=('status',)),
    Resource('', 'v1', 'namespaces', 'Namespace', False, ('ns',), sub=('status',)),
    Resource('', 'v1', 'serviceaccounts', 'ServiceAccount', short=('sa',), sub=('token',)),
    Resource('', 'v1', 'resourcequotas', 'ResourceQuota', short=('quota',), sub=('status',)),
    Resource('batch', 'v1', 'jobs', 'Job', sub=('status',), categories=('all',)),
    Resource(RBAC, 'v1', 'roles', 'Role'),
    Resource(RBAC, 'v1', 'rolebindings', 'RoleBinding'),
    Resource(RBAC, 'v1', 'clusterroles', 'ClusterRole', False),
    Resource(RBAC, 'v1', 'clusterrolebindings', 'ClusterRoleBinding', False),
    Resource('scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass', False, ('pc',)),
    Resource('networking.k8s.io', 'v1', 'networkpolicies', 'NetworkPolicy', short=('netpol',)),
    Resource('authorization.k8s.io', 'v1', 'selfsubjectaccessreviews', 'SelfSubjectAccessReview', False, verbs=ONLY_CREATE),
    Resource('authentication.k8s.io', 'v1', 'selfsubjectreviews', 'SelfSubjectReview', False, verbs=ONLY_CREATE),
]
OPTIONAL = {
    'volcano': [Resource('scheduling.volcano.sh', 'v1beta1', 'podgroups', 'PodGroup', short=('pg',), sub=('status',), free=True)],
    'coscheduling': [Resource('scheduling.x-k8s.io', 'v1alpha1', 'podgroups', 'PodGroup', short=('pg',), sub=('status',), free=True)],
}
# kind and verbs of the subresources, as discovery lists them
SUB_KINDS = {'status': (None, ('get', 'patch', 'update')), 'log': ('Pod', ('get',)), 'exec': ('PodExecOptions', ('create', 'get')),
             'portforward': ('PodPortForwardOptions', ('create', 'get')),
             'eviction': ('Eviction', ('create',)), 'binding': ('Binding', ('create',)), 'token': ('TokenRequest', ('create',))}


class Catalog:
    """The resources that one server serves; `install` adds the optional ones by name."""

    def __init__(self, install=()):
        self.resources = list(BUILT_IN)
        for name in install:
            self.resources += OPTIONAL[name]
        self._by_path = {(r.group, r.version, r.plural): r for r in self.resources}

    def find(self, group, version, plural):
        return self._by_path.get((group, version, plural))

    def group_versions(self):
        return sorted({(r.group, r.version) for r in self.resources})

    def of_kind(self, api_version, kind):
        for r in self.resources:
            if r.kind == kind and r.api_version == api_version and r.stored:
                return r
        return None

    def __getitem__(self, plural):
        return next(r for r in self.resources if r.plural == plural)
