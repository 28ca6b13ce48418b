# SPDX-License-Identifier: Apache-2.0
"""Reads the protobuf bodies that kubectl's `create`, `auth` and `drain` send; answers are always JSON.

Letters in the table: s string, y bytes (base64 in JSON), b bool, i signed number, q quantity, x int or string,
{s} {y} {q} maps, [T] lists, Name another message.  Messages hold what those commands send, no more.
"""
import base64

from . import errors

MEDIA_TYPE = 'application/vnd.kubernetes.protobuf'
_MAGIC = b'k8s\0'
_DEPTH = 24
_TABLE = '''
ObjectMeta: 1 name s, 2 generateName s, 3 namespace s, 4 selfLink s, 5 uid s, 6 resourceVersion s, 7 generation -, 8
  creationTimestamp -, 11 labels {s}, 12 annotations {s}, 14 finalizers [s]
Secret: 1 metadata ObjectMeta, 2 data {y}, 3 type s, 4 stringData {s}, 5 immutable b
ConfigMap: 1 metadata ObjectMeta, 2 data {s}, 3 binaryData {y}, 4 immutable b
ServiceAccount: 1 metadata ObjectMeta, 4 automountServiceAccountToken b
Namespace: 1 metadata ObjectMeta, 2 spec -, 3 status -
Role: 1 metadata ObjectMeta, 2 rules [PolicyRule]
ClusterRole: 1 metadata ObjectMeta, 2 rules [PolicyRule]
PolicyRule: 1 verbs [s], 2 apiGroups [s], 3 resources [s], 4 resourceNames [s], 5 nonResourceURLs [s]
RoleBinding: 1 metadata ObjectMeta, 2 subjects [Subject], 3 roleRef RoleRef
ClusterRoleBinding: 1 metadata ObjectMeta, 2 subjects [Subject], 3 roleRef RoleRef
Subject: 1 kind s, 2 apiGroup s, 3 name s, 4 namespace s
RoleRef: 1 apiGroup s, 2 kind s, 3 name s
SelfSubjectAccessReview: 1 metadata ObjectMeta, 2 spec AccessSpec, 3 status -
AccessSpec: 1 resourceAttributes Attributes, 2 nonResourceAttributes NonResource
Attributes: 1 namespace s, 2 verb s, 3 group s, 4 version s, 5 resource s, 6 subresource s, 7 name s
NonResource: 1 path s, 2 verb s
SelfSubjectReview: 1 metadata ObjectMeta, 2 status -
TokenRequest: 1 metadata ObjectMeta, 2 spec TokenSpec, 3 status -
TokenSpec: 1 audiences [s], 4 expirationSeconds i
Eviction: 1 metadata ObjectMeta, 2 deleteOptions DeleteOptions
DeleteOptions: 1 gracePeriodSeconds i, 2 preconditions Preconditions, 3 orphanDependents b, 4 propagationPolicy s, 5
  dryRun [s]
Preconditions: 1 uid s, 2 resourceVersion s
ResourceQuota: 1 metadata ObjectMeta, 2 spec QuotaSpec, 3 status -
QuotaSpec: 1 hard {q}
Service: 1 metadata ObjectMeta, 2 spec ServiceSpec, 3 status -
ServiceSpec: 1 ports [ServicePort], 2 selector {s}, 3 clusterIP s, 4 type s, 7 sessionAffinity s, 8 loadBalancerIP s,
  10 externalName s, 11 externalTrafficPolicy s, 12 healthCheckNodePort i, 13 publishNotReadyAddresses b
ServicePort: 1 name s, 2 protocol s, 3 port i, 4 targetPort x, 5 nodePort i
Job: 1 metadata ObjectMeta, 2 spec JobSpec, 3 status -
JobSpec: 1 parallelism i, 2 completions i, 3 activeDeadlineSeconds i, 6 template Template, 7 backoffLimit i, 8
  ttlSecondsAfterFinished i, 9 completionMode s, 10 suspend b
Template: 1 metadata ObjectMeta, 2 spec PodSpec
PodSpec: 2 containers [Container], 3 restartPolicy s, 6 dnsPolicy s, 8 serviceAccountName s, 9 serviceAccount s, 10
  nodeName s, 11 hostNetwork b, 12 hostPID b, 13 hostIPC b, 16 hostname s, 17 subdomain s, 19 schedulerName s, 24
  priorityClassName s
Container: 1 name s, 2 image s, 3 command [s], 4 args [s], 5 workingDir s, 8 resources -, 13 terminationMessagePath s,
  14 imagePullPolicy s, 16 stdin b, 17 stdinOnce b, 18 tty b, 20 terminationMessagePolicy s
'''


def _parse():
    out = {}
    for entry in _TABLE.strip().replace('\n  ', ' ').split('\n'):
        name, fields = entry.split(': ', 1)
        rows = [f.strip().split(' ') for f in fields.split(',')]
        out[name] = {int(n): (field, kind) for n, field, kind in rows}
    return out


_MESSAGES = _parse()


class _Bad(Exception):
    pass


def _varint(d, at):
    value = shift = 0
    while True:
        if at >= len(d) or shift > 63:
            raise _Bad('truncated number')
        value |= (d[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if d[at - 1] < 128:
            return value, at


def _fields(d):
    """Yields (number, value); a value is an int or bytes."""
    at = 0
    while at < len(d):
        tag, at = _varint(d, at)
        if tag & 7 == 0:
            value, at = _varint(d, at)
        elif tag & 7 == 2:
            n, at = _varint(d, at)
            if n > len(d) - at:
                raise _Bad('field %d claims %d bytes, %d are there' % (tag >> 3, n, len(d) - at))
            value, at = d[at:at + n], at + n
        else:
            raise _Bad('wire type %d' % (tag & 7))
        yield tag >> 3, value


def _value(kind, v, depth):
    if kind in ('i', 'b'):
        if not isinstance(v, int):
            raise _Bad('bytes where a number belongs')
        return bool(v) if kind == 'b' else v - (1 << 64) if v >> 63 else v
    if not isinstance(v, bytes):
        raise _Bad('a number where bytes belong')
    if kind == 's':
        return v.decode()
    if kind == 'y':
        return base64.b64encode(v).decode()
    if kind in ('q', 'x'):
        got = dict(_fields(v))
        if kind == 'q':
            return got.get(1, b'0').decode()
        return got.get(3, b'').decode() if got.get(1) else got.get(2, 0)
    return _message(kind, v, depth + 1)


def _message(name, d, depth=0):
    if depth > _DEPTH:
        raise _Bad('messages nest more than %d deep' % _DEPTH)
    table, out = _MESSAGES[name], {}
    for number, v in _fields(d):
        field, kind = table.get(number, (None, None))
        if field is None:
            if v in (b'', 0):
                continue
            raise _Bad('%s has field %d, which this server reads only as JSON' % (name, number))
        if kind == '-':
            continue
        if kind[0] == '[':
            out.setdefault(field, []).append(_value(kind[1:-1], v, depth))
        elif kind[0] == '{':
            pair = dict(_fields(v))
            out.setdefault(field, {})[pair.get(1, b'').decode()] = _value(kind[1], pair.get(2, b''), depth)
        else:
            got = _value(kind, v, depth)
            if got not in ('', {}) or field == 'metadata':
                out[field] = got
    return out


def decode(raw):
    """The object of a protobuf body; ApiError 400 or 415."""
    if not raw.startswith(_MAGIC):
        raise errors.bad_request('the body is not protobuf: it does not start with "k8s"')
    try:
        outer = dict(_fields(raw[4:]))
        meta = dict(_fields(outer.get(1, b'')))
        kind, version = meta.get(2, b'').decode(), meta.get(1, b'').decode()
        if kind not in _MESSAGES:
            raise _Bad('kind "%s" is read only as JSON' % kind)
        return dict({'apiVersion': version, 'kind': kind}, **_message(kind, outer.get(2, b'')))
    except _Bad as e:
        raise errors.unsupported_media(('application/json (%s)' % e,)) from None
    except (UnicodeDecodeError, TypeError, AttributeError) as e:
        raise errors.bad_request('the body is not protobuf of this kind: %s' % e) from None
