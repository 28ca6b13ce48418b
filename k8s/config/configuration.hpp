// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sinew::k8s {

/// An API server and how to verify it. Certificates are PEM text, never the path of a file.
struct ClusterAddress {
    std::string name;             ///< its name in the kubeconfig; "in-cluster" in a pod
    std::string server;           ///< "https://10.0.0.1:6443", perhaps with a path
    std::string authority;        ///< certificates of the trusted authorities; empty: the system's
    std::string tls_server_name;  ///< name to verify instead of the server's; empty: the server's
    std::string proxy_url;        ///< empty: as HTTPS_PROXY and NO_PROXY say
    bool verify = true;           ///< false: insecure-skip-tls-verify
};

/// A program that prints an ExecCredential (client.authentication.k8s.io/v1 or v1beta1).
struct ExecPlugin {
    enum class Interactive { never, if_available, always };

    std::string api_version, command, install_hint;
    std::vector<std::string> args;
    std::vector<std::pair<std::string, std::string>> env;
    bool provide_cluster_info = false;
    Interactive interactive = Interactive::if_available;
    std::string cluster_extension;  ///< JSON of the cluster's extension for plugins, or empty
};

/// How a user proves who they are; empty members are not used. It holds secrets: print only `name`.
struct UserCredentials {
    std::string name;
    std::string client_certificate, client_key;  ///< PEM text
    std::string token, token_file;               ///< the file is read again as it changes
    std::string username, password;
    std::optional<ExecPlugin> exec;
    std::string impersonate;  ///< "as"
    std::vector<std::string> impersonate_groups;
};

/// All that a client needs to know.
struct Configuration {
    std::string source;   ///< for messages: "context dev of /home/ann/.kube/config"
    std::string context;  ///< empty in a pod
    std::string ns;       ///< default namespace
    ClusterAddress cluster;
    UserCredentials user;
};

/// What the command line says; empty members say nothing.
struct ConfigurationChoice {
    std::string kubeconfig, context, ns;
};

/// Finds the configuration as kubectl does: the chosen kubeconfig; else those of $KUBECONFIG,
/// merged; else ~/.kube/config; else, in a pod, its service account. Reads files and starts no
/// program. Throws UsageError: a file is missing or wrong, the context is unknown, or there is no
/// configuration at all.
Configuration find_configuration(ConfigurationChoice const& choice = {});

}  // namespace sinew::k8s
