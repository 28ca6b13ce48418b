# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server, its controllers and nodes, as far as a launcher of batch Jobs meets them.

    python3 fake_k8s_server start --dir DIR --namespace ml --rbac-user alice     # prints: ready DIR/users/admin.conf
    python3 fake_k8s_server ctl --dir DIR evict ml/POD                           # injections; `ctl --help` lists them
    python3 fake_k8s_server cleanup --dir DIR                                    # after a kill -9

`api` answers requests over TLS and keeps the objects, `controllers` act on them, `kubelet` runs pods as processes of
this host in namespaces of their own; the image is ignored, the host's files are "in the image" (copy on write).
`controllers` and `kubelet` use `api`; `api` uses neither.  It needs Linux, root, overlayfs, Python 3.9 and openssl.

DIR/users/ has one kubeconfig per user: admin (client certificate), boss (token), both system:masters, and those of
--rbac-user (group `team`, no rights until a RoleBinding gives some).

Everything lives in one process and, below it, one pid namespace; the cluster's network is a network namespace
without a name.  So nothing outlives the server but files in DIR.

Not served: attach, ephemeral containers, exec over SPDY, `kubectl explain`, metrics, liveness and startup probes,
lifecycle hooks, NodePort and LoadBalancer, UDP Services, managedFields (a server-side apply never conflicts), a
PodDisruptionBudget.  A connection through a ClusterIP comes from the router's address, not from the pod's.
Limits of CPU and memory are scheduled, not enforced.  With --light pods share the host's network namespace, so a
server must bind the pod's own address (status.podIP), and there is no DNS.
"""
