# SPDX-License-Identifier: Apache-2.0
# To be sourced by bash tests: starts a fake Kubernetes API server and ends it with the script.
#
#   . fake_k8s.sh
#   fake_k8s_start --nodes 4 --namespace ml      # any options of `fake_k8s_server start` but --dir
#   kubectl get nodes                            # KUBECONFIG is set
#   fake_k8s_ctl evict ml/pod                    # injections and statistics
#
# fake_k8s_start ends the script with code 77 where the server cannot run (no root, no python3, no openssl), with 1
# when it does not become ready within FAKE_K8S_READY_SECONDS (20).  The stop is trapped at EXIT (a trap that the
# script sets itself must call fake_k8s_stop; a script that is killed takes the server with it) and fails the script when a process of the server is left.

fake_k8s_folder=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/fake_k8s_server

fake_k8s_server() {
    python3 -B "$fake_k8s_folder" "$@"
}

fake_k8s_ctl() {
    fake_k8s_server ctl --dir "$FAKE_K8S_DIR" "$@"
}

# fake_k8s_user NAME: the path of a user's kubeconfig.
fake_k8s_user() {
    echo "$FAKE_K8S_DIR/users/$1.conf"
}

fake_k8s_start() {
    local tool waited=0 limit=$((${FAKE_K8S_READY_SECONDS:-20} * 20))
    for tool in python3 openssl; do
        if ! command -v "$tool" >/dev/null; then
            echo "skipped: $tool is not installed, which the fake Kubernetes API server needs"
            exit 77
        fi
    done
    if [ "$(id -u)" -ne 0 ] || ! unshare -n -m -p -f true 2>/dev/null; then
        echo "skipped: the fake Kubernetes API server makes namespaces, which needs root and CAP_SYS_ADMIN"
        exit 77
    fi
    FAKE_K8S_DIR=$(mktemp -d)
    export FAKE_K8S_DIR
    trap fake_k8s_stop EXIT
    : >"$FAKE_K8S_DIR/out"
    python3 -B "$fake_k8s_folder" start --with-parent --dir "$FAKE_K8S_DIR" "$@" >>"$FAKE_K8S_DIR/out" 2>&1 &
    fake_k8s_pid=$!
    until grep -q '^ready ' "$FAKE_K8S_DIR/out"; do
        if ! kill -0 "$fake_k8s_pid" 2>/dev/null || [ "$waited" -ge "$limit" ]; then
            echo "the fake Kubernetes API server did not become ready:" >&2
            cat "$FAKE_K8S_DIR/out" >&2
            kill -0 "$fake_k8s_pid" 2>/dev/null || wait "$fake_k8s_pid"
            [ $? -ne 77 ] || exit 77           # the text says what this machine lacks
            exit 1
        fi
        sleep 0.05
        waited=$((waited + 1))
    done
    KUBECONFIG=$(fake_k8s_user admin)
    export KUBECONFIG
}

# Ends the server; keeps the script's exit code unless that is 0 and something is left or the server had an error.
fake_k8s_stop() {
    local code=$? waited=0
    trap - EXIT
    [ -n "${FAKE_K8S_DIR:-}" ] || exit "$code"
    if [ -n "${fake_k8s_pid:-}" ]; then
        kill "$fake_k8s_pid" 2>/dev/null
        while kill -0 "$fake_k8s_pid" 2>/dev/null; do
            if [ "$waited" -ge 100 ]; then
                echo "the fake Kubernetes API server did not end within 5 s" >&2
                kill -9 "$fake_k8s_pid"
                [ "$code" -ne 0 ] || code=1
                break
            fi
            sleep 0.05
            waited=$((waited + 1))
        done
        wait "$fake_k8s_pid" 2>/dev/null
    fi
    if grep -q '^Traceback' "$FAKE_K8S_DIR/out"; then
        cat "$FAKE_K8S_DIR/out" >&2
        [ "$code" -ne 0 ] || code=1
    fi
    # Whoever still holds the lock is a process that the server started.
    if ! fake_k8s_server cleanup --dir "$FAKE_K8S_DIR"; then
        [ "$code" -ne 0 ] || code=1
    fi
    rm -rf -- "$FAKE_K8S_DIR"
    exit "$code"
}
