# SPDX-License-Identifier: Apache-2.0
"""The fields of the types, and the decoder that refuses wrong types and finds unknown and duplicate fields.

Letters in the table: s string, b bool, i int32, l int64, q quantity, x int or string, t time, * anything,
{s} {q} {b} maps (of strings, quantities, base64 bytes), [T] lists, Name another type of the table.
"""
import base64
import binascii
import json

from . import errors, names

_TABLE = '''
ObjectMeta: name s, generateName s, namespace s, selfLink s, uid s, resourceVersion s, generation l, creationTimestamp t,
  deletionTimestamp t, deletionGracePeriodSeconds l, labels {s}, annotations {s}, ownerReferences [OwnerReference], finalizers [s], managedFields [*]
OwnerReference: apiVersion s, kind s, name s, uid s, controller b, blockOwnerDeletion b
LabelSelector: matchLabels {s}, matchExpressions [Requirement]
Requirement: key s, operator s, values [s]
LocalRef: name s
ObjectReference: kind s, namespace s, name s, uid s, apiVersion s, resourceVersion s, fieldPath s
Pod: spec PodSpec, status *
PodTemplateSpec: metadata ObjectMeta, spec PodSpec
PodSpec: volumes [Volume], initContainers [Container], containers [Container], ephemeralContainers [*], restartPolicy s,
  terminationGracePeriodSeconds l, activeDeadlineSeconds l, dnsPolicy s, nodeSelector {s}, serviceAccountName s, serviceAccount s,
  automountServiceAccountToken b, nodeName s, hostNetwork b, hostPID b, hostIPC b, shareProcessNamespace b, securityContext PodSecurityContext,
  imagePullSecrets [LocalRef], hostname s, subdomain s, affinity Affinity, schedulerName s, tolerations [Toleration], hostAliases [HostAlias],
  priorityClassName s, priority i, dnsConfig DNSConfig, readinessGates [*], runtimeClassName s, enableServiceLinks b, preemptionPolicy s,
  overhead {q}, topologySpreadConstraints [SpreadConstraint], setHostnameAsFQDN b, os LocalRef, hostUsers b, schedulingGates [LocalRef],
  resourceClaims [*], resources Resources
HostAlias: ip s, hostnames [s]
DNSConfig: nameservers [s], searches [s], options [*]
SpreadConstraint: maxSkew i, topologyKey s, whenUnsatisfiable s, labelSelector LabelSelector, minDomains i, nodeAffinityPolicy s,
  nodeTaintsPolicy s, matchLabelKeys [s]
Toleration: key s, operator s, value s, effect s, tolerationSeconds l
Affinity: nodeAffinity NodeAffinity, podAffinity PodAffinity, podAntiAffinity PodAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution NodeSelector, preferredDuringSchedulingIgnoredDuringExecution [PreferredTerm]
NodeSelector: nodeSelectorTerms [NodeSelectorTerm]
NodeSelectorTerm: matchExpressions [Requirement], matchFields [Requirement]
PreferredTerm: weight i, preference NodeSelectorTerm
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm], preferredDuringSchedulingIgnoredDuringExecution [WeightedTerm]
WeightedTerm: weight i, podAffinityTerm PodAffinityTerm
PodAffinityTerm: labelSelector LabelSelector, namespaces [s], topologyKey s, namespaceSelector LabelSelector, matchLabelKeys [s], mismatchLabelKeys [s]
Container: name s, image s, command [s], args [s], workingDir s, ports [ContainerPort], envFrom [EnvFrom], env [EnvVar], resources Resources,
  resizePolicy [*], restartPolicy s, volumeMounts [VolumeMount], volumeDevices [*], livenessProbe Probe, readinessProbe Probe, startupProbe Probe,
  lifecycle Lifecycle, terminationMessagePath s, terminationMessagePolicy s, imagePullPolicy s, securityContext SecurityContext,
  stdin b, stdinOnce b, tty b
ContainerPort: name s, hostPort i, containerPort i, protocol s, hostIP s
EnvFrom: prefix s, configMapRef OptionalRef, secretRef OptionalRef
OptionalRef: name s, optional b
EnvVar: name s, value s, valueFrom EnvSource
EnvSource: fieldRef FieldRef, resourceFieldRef ResourceFieldRef, configMapKeyRef KeyRef, secretKeyRef KeyRef
FieldRef: apiVersion s, fieldPath s
ResourceFieldRef: containerName s, resource s, divisor q
KeyRef: name s, key s, optional b
Resources: limits {q}, requests {q}, claims [*]
VolumeMount: name s, readOnly b, recursiveReadOnly s, mountPath s, subPath s, mountPropagation s, subPathExpr s
Probe: exec Exec, httpGet HttpGet, tcpSocket TcpSocket, grpc *, initialDelaySeconds i, timeoutSeconds i, periodSeconds i, successThreshold i,
  failureThreshold i, terminationGracePeriodSeconds l
Exec: command [s]
HttpGet: path s, port x, host s, scheme s, httpHeaders [*]
TcpSocket: port x, host s
Lifecycle: postStart Handler, preStop Handler
Handler: exec Exec, httpGet HttpGet, tcpSocket TcpSocket, sleep *
SecurityContext: capabilities Capabilities, privileged b, seLinuxOptions *, windowsOptions *, runAsUser l, runAsGroup l, runAsNonRoot b,
  readOnlyRootFilesystem b, allowPrivilegeEscalation b, procMount s, seccompProfile Profile, appArmorProfile Profile
Capabilities: add [s], drop [s]
Profile: type s, localhostProfile s
PodSecurityContext: seLinuxOptions *, windowsOptions *, runAsUser l, runAsGroup l, runAsNonRoot b, supplementalGroups [l],
  supplementalGroupsPolicy s, fsGroup l, sysctls [*], fsGroupChangePolicy s, seccompProfile Profile, appArmorProfile Profile, seLinuxChangePolicy s
Volume: name s, hostPath HostPath, emptyDir EmptyDir, secret SecretVolume, configMap ConfigMapVolume, downwardAPI DownwardVolume,
  persistentVolumeClaim ClaimVolume, projected ProjectedVolume, nfs *, csi *, ephemeral *, image *
HostPath: path s, type s
EmptyDir: medium s, sizeLimit q
SecretVolume: secretName s, items [KeyToPath], defaultMode i, optional b
ConfigMapVolume: name s, items [KeyToPath], defaultMode i, optional b
KeyToPath: key s, path s, mode i
DownwardVolume: items [DownwardItem], defaultMode i
DownwardItem: path s, fieldRef FieldRef, resourceFieldRef ResourceFieldRef, mode i
ClaimVolume: claimName s, readOnly b
ProjectedVolume: sources [ProjectedSource], defaultMode i
ProjectedSource: secret ConfigMapVolume, downwardAPI DownwardVolume, configMap ConfigMapVolume, serviceAccountToken TokenSource, clusterTrustBundle *
TokenSource: audience s, expirationSeconds l, path s
Job: spec JobSpec, status *
JobSpec: parallelism i, completions i, activeDeadlineSeconds l, podFailurePolicy FailurePolicy, successPolicy SuccessPolicy, backoffLimit i,
  backoffLimitPerIndex i, maxFailedIndexes i, selector LabelSelector, manualSelector b, template PodTemplateSpec, ttlSecondsAfterFinished i,
  completionMode s, suspend b, podReplacementPolicy s, managedBy s
FailurePolicy: rules [FailureRule]
FailureRule: action s, onExitCodes OnExitCodes, onPodConditions [OnCondition]
OnExitCodes: containerName s, operator s, values [i]
OnCondition: type s, status s
SuccessPolicy: rules [SuccessRule]
SuccessRule: succeededIndexes s, succeededCount i
Service: spec ServiceSpec, status *
ServiceSpec: ports [ServicePort], selector {s}, clusterIP s, clusterIPs [s], type s, externalIPs [s], sessionAffinity s, loadBalancerIP s,
  loadBalancerSourceRanges [s], externalName s, externalTrafficPolicy s, healthCheckNodePort i, publishNotReadyAddresses b,
  sessionAffinityConfig *, ipFamilies [s], ipFamilyPolicy s, allocateLoadBalancerNodePorts b, loadBalancerClass s, internalTrafficPolicy s,
  trafficDistribution s
ServicePort: name s, protocol s, appProtocol s, port i, targetPort x, nodePort i
Secret: immutable b, data {b}, stringData {s}, type s
ConfigMap: immutable b, data {s}, binaryData {b}
PersistentVolumeClaim: spec ClaimSpec, status *
ClaimSpec: accessModes [s], selector LabelSelector, resources Resources, volumeName s, storageClassName s, volumeMode s, dataSource *,
  dataSourceRef *, volumeAttributesClassName s
PersistentVolume: spec *, status *
Event: involvedObject ObjectReference, reason s, message s, source *, firstTimestamp t, lastTimestamp t, count i, type s, eventTime *, series *,
  action s, related ObjectReference, reportingComponent s, reportingInstance s
Node: spec NodeSpec, status *
NodeSpec: podCIDR s, podCIDRs [s], providerID s, unschedulable b, taints [Taint], configSource *, externalID s
Taint: key s, value s, effect s, timeAdded t
Namespace: spec *, status *
ServiceAccount: secrets [ObjectReference], imagePullSecrets [LocalRef], automountServiceAccountToken b
ResourceQuota: spec QuotaSpec, status *
QuotaSpec: hard {q}, scopes [s], scopeSelector *
Role: rules [PolicyRule]
ClusterRole: rules [PolicyRule], aggregationRule *
PolicyRule: verbs [s], apiGroups [s], resources [s], resourceNames [s], nonResourceURLs [s]
RoleBinding: subjects [Subject], roleRef RoleRef
ClusterRoleBinding: subjects [Subject], roleRef RoleRef
Subject: kind s, apiGroup s, name s, namespace s
RoleRef: apiGroup s, kind s, name s
PriorityClass: value i, globalDefault b, description s, preemptionPolicy s
NetworkPolicy: spec *, status *
Eviction: deleteOptions *
TokenRequest: spec *, status *
SelfSubjectAccessReview: spec AccessSpec, status *
AccessSpec: resourceAttributes ResourceAttributes, nonResourceAttributes *
ResourceAttributes: namespace s, verb s, group s, version s, resource s, subresource s, name s, fieldSelector *, labelSelector *
SelfSubjectReview: status *
Binding: target ObjectReference
DeleteOptions: gracePeriodSeconds l, preconditions Preconditions, orphanDependents b, propagationPolicy s, dryRun [s],
  ignoreStoreReadErrorWithClusterBreakingPotential b
Preconditions: uid s, resourceVersion s
'''


def _parse():
    out = {}
    for entry in _TABLE.strip().replace('\n  ', ' ').split('\n'):
        name, fields = entry.split(': ', 1)
        out[name] = dict(f.rsplit(' ', 1) for f in (x.strip() for x in fields.split(',')) if f)
    return out


TYPES = _parse()
_GO = {'s': 'string', 'b': 'bool', 'i': 'int32', 'l': 'int64', 't': 'v1.Time', 'q': 'resource.Quantity', 'x': 'intstr.IntOrString'}


class _Wrong(Exception):
    pass


def _json_word(v):
    return {bool: 'bool', str: 'string', int: 'number', float: 'number', list: 'array', dict: 'object'}[type(v)]


class Decoder:
    """Checks one object against the table.  `unknown` lists the unknown fields that it met and dropped."""

    def __init__(self):
        self.unknown = []

    def _bad(self, v, typ, go_path, path):
        raise _Wrong('json: cannot unmarshal %s into Go struct field %s.%s of type %s'
                     % (_json_word(v), go_path, path, _GO.get(typ) or ('map[string]string' if typ[0] == '{' else
                        '[]' + (_GO.get(typ[1:-1]) or 'v1.' + typ[1:-1]) if typ[0] == '[' else 'v1.' + typ)))

    def value(self, v, typ, owner, path):
        if v is None or typ == '*':
            return v
        if typ[0] == '[':
            if not isinstance(v, list):
                self._bad(v, typ, owner, path)
            return [self.value(e, typ[1:-1], owner, '%s[%d]' % (path, i)) for i, e in enumerate(v)]
        if typ[0] == '{':
            if not isinstance(v, dict):
                self._bad(v, typ, owner, path)
            out = {}
            for k, e in v.items():
                if typ == '{b}':
                    try:
                        base64.b64decode(e if e is not None else '', validate=True)
                    except (binascii.Error, TypeError, ValueError):
                        raise _Wrong('illegal base64 data at input byte 0') from None
                out[k] = self.value(e, 's' if typ == '{b}' else typ[1], owner, path)
                if out[k] is None:
                    out[k] = ''
            return out
        if typ in TYPES:
            if not isinstance(v, dict):
                self._bad(v, typ, owner, path)
            return self.struct(v, typ, path)
        if typ == 'q':
            if isinstance(v, bool) or not isinstance(v, (str, int, float)):
                self._bad(v, typ, owner, path)
            try:
                names.quantity(v)
            except ValueError as e:
                raise _Wrong(str(e)) from None
            return str(v)
        ok = {'s': isinstance(v, str), 't': isinstance(v, str), 'b': isinstance(v, bool), 'x': isinstance(v, (str, int)) and not isinstance(v, bool),
              'i': isinstance(v, int) and not isinstance(v, bool) and abs(v) < 1 << 31,
              'l': isinstance(v, int) and not isinstance(v, bool) and abs(v) < 1 << 63}[typ]
        if not ok:
            self._bad(v, typ, owner, path)
        return v

    def struct(self, v, typ, path):
        fields, out = TYPES[typ], {}
        for k, e in v.items():
            sub = path + '.' + k if path else k
            if k not in fields:
                self.unknown.append('unknown field "%s"' % sub)
                continue
            e = self.value(e, fields[k], typ, sub)
            if e is not None:
                out[k] = e
        return out


def decode(obj, kind, version, field_validation='Warn', free=False):
    """The object with known fields only, and the warnings; ApiError 400 for wrong types and, when the validation is
    Strict, for unknown fields.  `free` kinds (custom resources without a schema) keep all fields."""
    if not isinstance(obj, dict):
        raise errors.bad_request('couldn\'t get version/kind; json parse error: json: cannot unmarshal %s into Go value of type '
                                 'struct { APIVersion string; Kind string }' % _json_word(obj))
    d, out = Decoder(), {'kind': kind, 'apiVersion': version}
    try:
        fields = None if free else TYPES[kind]
        for k, v in obj.items():
            if k in ('kind', 'apiVersion'):
                continue
            if k == 'metadata':
                out[k] = d.value(v, 'ObjectMeta', kind, 'metadata') or {}
            elif free:
                out[k] = v
            elif k in fields:
                v = d.value(v, fields[k], kind, k)
                if v is not None:
                    out[k] = v
            else:
                d.unknown.append('unknown field "%s"' % k)
    except _Wrong as e:
        raise errors.bad_request('%s in version "%s" cannot be handled as a %s: %s' % (kind, version.split('/')[-1], kind, e)) from None
    if d.unknown and field_validation == 'Strict':
        raise errors.bad_request('%s in version "%s" cannot be handled as a %s: strict decoding error: %s'
                                 % (kind, version.split('/')[-1], kind, ', '.join(d.unknown)))
    out.setdefault('metadata', {})
    return out, d.unknown if field_validation != 'Ignore' else []



def parse_json(raw):
    """The JSON value of a body; ApiError 400 for text that is none."""
    try:
        return json.loads(raw)
    except (ValueError, UnicodeDecodeError) as e:
        raise errors.bad_request('the object provided is unrecognized (must be of type with kind and apiVersion): %s' % e) from None
