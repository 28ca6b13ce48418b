# SPDX-License-Identifier: Apache-2.0
"""The three patch formats: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge patch."""
from . import errors
from .names import clone

# field -> the key by which its list's items merge; None: a set of scalars.  A list that is not here is replaced whole.
MERGE_KEYS = {'containers': 'name', 'initContainers': 'name', 'ephemeralContainers': 'name', 'volumes': 'name', 'env': 'name',
              'volumeMounts': 'mountPath', 'volumeDevices': 'devicePath', 'imagePullSecrets': 'name', 'hostAliases': 'ip',
              'topologySpreadConstraints': 'topologyKey', 'conditions': 'type', 'ownerReferences': 'uid', 'finalizers': None,
              'secrets': 'name', 'schedulingGates': 'name', 'taints': 'key', 'podIPs': 'ip', 'resourceClaims': 'name', 'addresses': 'type'}


def _merge_key(field, items, parent):
    if field == 'ports':
        return 'port' if any(isinstance(i, dict) and 'port' in i for i in items) or 'clusterIP' in parent or 'selector' in parent else 'containerPort'
    return MERGE_KEYS.get(field, False)


def merge(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return clone(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for k, v in patch.items():
        if v is None:
            out.pop(k, None)
        else:
            out[k] = merge(out.get(k), v)
    return out


def _order(items, key, order):
    if not order:
        return items
    ident = (lambda i: i.get(key)) if key else (lambda i: i)
    rank = {(o.get(key) if key else o): n for n, o in enumerate(order)}
    fixed = sorted((i for i in items if ident(i) in rank), key=lambda i: rank[ident(i)])
    return fixed + [i for i in items if ident(i) not in rank]


def _merge_list(field, old, new, key, order):
    if key is None:
        return _order(old + [i for i in new if i not in old], None, order)
    out = [clone(i) for i in old]
    if any(isinstance(p, dict) and p.get('$patch') == 'replace' for p in new):
        return [clone(p) for p in new if p.get('$patch') != 'replace']
    for p in new:
        if not isinstance(p, dict) or key not in p:
            raise errors.bad_request('map: %s does not contain declared merge key: %s' % (p, key))
        at = [n for n, i in enumerate(out) if i.get(key) == p[key]]
        if p.get('$patch') == 'delete':
            out = [i for n, i in enumerate(out) if n not in at]
        elif at:
            out[at[0]] = strategic(out[at[0]], p)
        else:
            out.append(strategic({}, p))
    return _order(out, key, order)


def strategic(target, patch):
    """A strategic merge patch with its directives."""
    if patch.get('$patch') == 'replace':
        return {k: clone(v) for k, v in patch.items() if k != '$patch'}
    if patch.get('$patch') == 'delete':
        return {}
    out = dict(target)
    if '$retainKeys' in patch:
        out = {k: v for k, v in out.items() if k in patch['$retainKeys']}
    for k, v in patch.items():
        if k.startswith('$deleteFromPrimitiveList/'):
            field = k.split('/', 1)[1]
            out[field] = [i for i in out.get(field) or [] if i not in v]
    for k, v in patch.items():
        if k.startswith('$'):
            continue
        order = patch.get('$setElementOrder/' + k)
        if v is None:
            out.pop(k, None)
        elif isinstance(v, dict):
            out[k] = strategic(out[k] if isinstance(out.get(k), dict) else {}, v)
        elif isinstance(v, list):
            key = _merge_key(k, v, out)
            out[k] = clone(v) if key is False else _merge_list(k, out.get(k) or [], v, key, order)
        else:
            out[k] = v
    for k, order in patch.items():
        field = k.split('/', 1)[-1]
        if k.startswith('$setElementOrder/') and field not in patch and isinstance(out.get(field), list):
            key = _merge_key(field, order, out)
            out[field] = _order(out[field], key or None, order)
    return out


def _pointer(path):
    if path and not path.startswith('/'):
        raise errors.bad_request('jsonpatch path "%s" does not start with "/"' % path)
    return [p.replace('~1', '/').replace('~0', '~') for p in path.split('/')[1:]]


def _failed(why):
    return errors.ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request: ' + why, {})


def _walk(doc, keys, path):
    for k in keys:
        try:
            doc = doc[int(k)] if isinstance(doc, list) else doc[k]
        except (KeyError, IndexError, ValueError, TypeError):
            raise _failed('missing path ' + path) from None
    return doc


def _add(doc, path, value):
    keys = _pointer(path)
    if not keys:
        return value
    at = _walk(doc, keys[:-1], path)
    if isinstance(at, list):
        try:
            n = len(at) if keys[-1] == '-' else int(keys[-1])
        except ValueError:
            raise _failed('bad index in ' + path) from None
        if not 0 <= n <= len(at):
            raise _failed('index out of bounds: ' + path)
        at.insert(n, value)
    elif isinstance(at, dict):
        at[keys[-1]] = value
    else:
        raise _failed('missing path ' + path)
    return doc


def _remove(doc, path):
    keys = _pointer(path)
    at = _walk(doc, keys[:-1], path)
    value = _walk(at, keys[-1:], path)
    del at[int(keys[-1]) if isinstance(at, list) else keys[-1]]
    return value


def json_patch(target, ops):
    """RFC 6902."""
    doc = clone(target)
    if not isinstance(ops, list):
        raise errors.bad_request('json: cannot unmarshal object into Go value of type jsonpatch.Patch')
    for op in ops:
        kind, path = op.get('op'), op.get('path', '')
        if kind == 'add':
            doc = _add(doc, path, clone(op.get('value')))
        elif kind == 'remove':
            _remove(doc, path)
        elif kind == 'replace':
            if _pointer(path):
                _remove(doc, path)
            doc = _add(doc, path, clone(op.get('value')))
        elif kind == 'test':
            if _walk(doc, _pointer(path), path) != op.get('value'):
                raise _failed('testing value %s failed' % path)
        elif kind in ('move', 'copy'):
            value = _remove(doc, op['from']) if kind == 'move' else clone(_walk(doc, _pointer(op['from']), op['from']))
            doc = _add(doc, path, value)
        else:
            raise errors.bad_request('Unexpected kind: %s' % kind)
    return doc
