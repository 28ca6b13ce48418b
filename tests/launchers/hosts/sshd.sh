# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2154
# Real sshds on the lab's hosts h2, h3, ...: with keys, port and configuration of their own, all
# below $work/ssh. They are ended with the lab, and nothing of the machine's own ssh is read or
# changed.

# start_sshds: on all hosts but h1, where `sinew run` is. Exits 77 where that cannot be.
start_sshds() {
    local host
    sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) ||
        unavailable "no sshd (Debian: openssh-server)"
    ssh=$(command -v ssh) || unavailable "no ssh (Debian: openssh-client)"
    keys=$work/ssh
    mkdir -m 700 "$keys" "$keys/bin"
    ssh-keygen -q -t ed25519 -N '' -C lab -f "$keys/host"
    ssh-keygen -q -t ed25519 -N '' -C lab -f "$keys/user"
    cp "$keys/user.pub" "$keys/authorized"
    client_configuration
    while read -r host; do
        [[ $host != h1 ]] || continue
        echo "[$host]:2222 $(cut -d' ' -f1,2 "$keys/host.pub")" >>"$keys/known"
        server_configuration "$host"
        start_sshd "$host"
    done < <(all_hosts)
    while read -r host; do
        [[ $host == h1 ]] || eventually "$keys/bin/ssh" "$host" true 2>err ||
            unavailable "sshd on $host does not take us in: $(cat "$keys/log.$host" err | xargs)"
    done < <(all_hosts)
}

unavailable() {
    echo "skipped: $*" >&2
    exit 77
}

server_configuration() {
    cat >"$keys/$1" <<CONFIG
Port 2222
ListenAddress 10.77.0.${1#h}
HostKey $keys/host
PidFile none
AuthorizedKeysFile $keys/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
CONFIG
}

# It wants /run/sshd: a /run of its own has one. On h4 there is nothing in only_here, and no sinew.
start_sshd() {
    "$lab" exec "$1" -- sh -c '
        mount -t tmpfs none /run && mkdir -m 755 /run/sshd || exit
        [ "$1" != h4 ] || mount -t tmpfs none "$4"
        [ "$1" != h4 ] || mount --bind /dev/null "$5"
        exec "$2" -D -e -f "$3"' sh "$1" "$sshd" "$keys/$1" "$work/only_here" "$sinew" \
        >"$keys/log.$1" 2>&1 </dev/null &
}

# Two names for h3 that do not get in: without a key, and with another host key than expected.
client_configuration() {
    cat >"$keys/config" <<CONFIG
Host denied
  HostName h3
  HostKeyAlias [h3]:2222
  PubkeyAuthentication no
Host stranger
  HostName h3
  HostKeyAlias unheard-of
Host *
  Port 2222
  User root
  IdentityFile $keys/user
  IdentitiesOnly yes
  UserKnownHostsFile $keys/known
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  CheckHostIP no
CONFIG
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$ssh" "$keys/config" >"$keys/bin/ssh"
    chmod 700 "$keys/bin/ssh"
}
