# SPDX-License-Identifier: Apache-2.0
"""What kubectl asks before it works: versions, groups, resources, and as much OpenAPI v3 as validation needs."""
from .resources import SUB_KINDS

VERSION = {'major': '1', 'minor': '32', 'gitVersion': 'v1.32.4', 'gitCommit': '0' * 40, 'gitTreeState': 'clean',
           'buildDate': '2025-04-22T15:57:28Z', 'goVersion': 'go1.23.6', 'compiler': 'gc', 'platform': 'linux/amd64'}


def _gv(group, version):
    return {'groupVersion': '%s/%s' % (group, version), 'version': version}


def groups(catalog):
    out = []
    for g in sorted({g for g, _ in catalog.group_versions() if g}):
        versions = [_gv(g, v) for h, v in catalog.group_versions() if h == g]
        out.append({'name': g, 'versions': versions, 'preferredVersion': versions[0]})
    return {'kind': 'APIGroupList', 'apiVersion': 'v1', 'groups': out}


def group(catalog, name):
    for g in groups(catalog)['groups']:
        if g['name'] == name:
            return dict({'kind': 'APIGroup', 'apiVersion': 'v1'}, **g)
    return None


def resource_list(catalog, group_name, version):
    rows = []
    for r in catalog.resources:
        if (r.group, r.version) != (group_name, version):
            continue
        row = {'name': r.plural, 'singularName': r.kind.lower(), 'namespaced': r.namespaced, 'kind': r.kind, 'verbs': sorted(r.verbs)}
        if r.short:
            row['shortNames'] = list(r.short)
        if r.categories:
            row['categories'] = list(r.categories)
        rows.append(row)
        for s in r.sub:
            kind, verbs = SUB_KINDS[s]
            rows.append({'name': r.plural + '/' + s, 'singularName': '', 'namespaced': r.namespaced, 'kind': kind or r.kind, 'verbs': list(verbs)})
            if s == 'eviction':
                rows[-1].update(group='policy', version='v1')
    if not rows:
        return None
    return {'kind': 'APIResourceList', 'apiVersion': 'v1', 'groupVersion': '%s/%s' % (group_name, version) if group_name else version, 'resources': rows}


def openapi_root(catalog):
    path = lambda g, v: 'apis/%s/%s' % (g, v) if g else 'api/' + v
    return {'paths': {path(g, v): {'serverRelativeURL': '/openapi/v3/%s?hash=1' % path(g, v)} for g, v in catalog.group_versions()}}


def openapi(catalog, group_name, version):
    """Paths with the query parameter fieldValidation, by which kubectl knows that the server validates."""
    paths = {}
    for r in catalog.resources:
        if (r.group, r.version) != (group_name, version) or not r.stored:
            continue
        gvk = {'group': r.group, 'version': r.version, 'kind': r.kind}
        param = [{'name': 'fieldValidation', 'in': 'query', 'schema': {'type': 'string', 'uniqueItems': True}},
                 {'name': 'dryRun', 'in': 'query', 'schema': {'type': 'string', 'uniqueItems': True}}]
        base = r.path('{namespace}' if r.namespaced else '')
        op = lambda verb: {'x-kubernetes-action': verb, 'x-kubernetes-group-version-kind': gvk, 'parameters': param,
                           'responses': {'200': {'description': 'OK'}}}
        paths[base] = {'post': op('post')}
        paths[base + '/{name}'] = {'put': op('put'), 'patch': op('patch')}
    if not paths:
        return None
    return {'openapi': '3.0.0', 'info': {'title': 'Kubernetes', 'version': VERSION['gitVersion']}, 'paths': paths, 'components': {'schemas': {}}}
