# SPDX-License-Identifier: Apache-2.0
"""Pod Security admission: the levels `baseline` and `restricted` of a namespace's enforce label."""

_BASELINE_CAPS = {'AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID',
                  'SETPCAP', 'SETUID', 'SYS_CHROOT'}
_VOLUMES = {'configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected', 'secret', 'image'}


def _who(items):
    quoted = ', '.join('"%s"' % i for i in items)
    return ('container ' if len(items) == 1 else 'containers ') + quoted


def violations(spec, level):
    """What breaks the level, as the admission plugin words it."""
    out, pod_sc = [], spec.get('securityContext') or {}
    containers = (spec.get('initContainers') or []) + (spec.get('containers') or [])
    sc = lambda c: c.get('securityContext') or {}
    caps = lambda c, k: (sc(c).get('capabilities') or {}).get(k) or []
    if level == 'privileged':
        return out
    host = [k for k in ('hostNetwork', 'hostPID', 'hostIPC') if spec.get(k)]
    if host:
        out.append('host namespaces (%s)' % ', '.join('%s=true' % k for k in host))
    bad = [c['name'] for c in containers if sc(c).get('privileged')]
    if bad:
        out.append('privileged (%s must not set securityContext.privileged=true)' % _who(bad))
    if level == 'baseline':
        bad = [c['name'] for c in containers if set(caps(c, 'add')) - _BASELINE_CAPS]
        if bad:
            extra = sorted({x for c in containers for x in set(caps(c, 'add')) - _BASELINE_CAPS})
            out.append('non-default capabilities (%s must not include %s in securityContext.capabilities.add)'
                       % (_who(bad), ', '.join('"%s"' % x for x in extra)))
        bad = [v['name'] for v in spec.get('volumes') or [] if 'hostPath' in v]
        if bad:
            out.append('hostPath volumes (%s %s)' % ('volume' if len(bad) == 1 else 'volumes', ', '.join('"%s"' % b for b in bad)))
        return out
    bad = [c['name'] for c in containers if sc(c).get('allowPrivilegeEscalation') is not False]
    if bad:
        out.append('allowPrivilegeEscalation != false (%s must set securityContext.allowPrivilegeEscalation=false)' % _who(bad))
    drop = [c['name'] for c in containers if 'ALL' not in caps(c, 'drop')]
    add = [c['name'] for c in containers if set(caps(c, 'add')) - {'NET_BIND_SERVICE'}]
    if drop or add:
        parts = ['%s must set securityContext.capabilities.drop=["ALL"]' % _who(drop)] if drop else []
        if add:
            extra = sorted({x for c in containers for x in set(caps(c, 'add')) - {'NET_BIND_SERVICE'}})
            parts.append('%s must not include %s in securityContext.capabilities.add' % (_who(add), ', '.join('"%s"' % x for x in extra)))
        out.append('unrestricted capabilities (%s)' % '; '.join(parts))
    bad = [(v['name'], next(k for k in v if k != 'name')) for v in spec.get('volumes') or [] if set(v) - {'name'} - _VOLUMES]
    if bad:
        kinds = sorted({k for _, k in bad})
        out.append('restricted volume types (%s %s %s restricted volume %s %s)' % (
            'volume' if len(bad) == 1 else 'volumes', ', '.join('"%s"' % n for n, _ in bad), 'uses' if len(bad) == 1 else 'use',
            'type' if len(kinds) == 1 else 'types', ', '.join('"%s"' % k for k in kinds)))
    bad = [c['name'] for c in containers if sc(c).get('runAsNonRoot') is False
           or sc(c).get('runAsNonRoot') is None and pod_sc.get('runAsNonRoot') is not True]
    if bad or pod_sc.get('runAsNonRoot') is False:
        out.append('runAsNonRoot != true (pod or %s must set securityContext.runAsNonRoot=true)' % _who(bad) if bad
                   else 'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)')
    bad = [c['name'] for c in containers if sc(c).get('runAsUser') == 0]
    if bad or pod_sc.get('runAsUser') == 0:
        who = ['pod'] * (pod_sc.get('runAsUser') == 0) + ([_who(bad)] if bad else [])
        out.append('runAsUser=0 (%s must not set runAsUser=0)' % ' and '.join(who))
    good = ('RuntimeDefault', 'Localhost')
    profile = lambda x: (x.get('seccompProfile') or {}).get('type')
    bad = [c['name'] for c in containers if (profile(sc(c)) or profile(pod_sc)) not in good]
    if bad:
        out.append('seccompProfile (pod or %s must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")' % _who(bad))
    return out
