// SPDX-License-Identifier: Apache-2.0
#include "k8s/credentials/exec_credential.hpp"

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "k8s/objects/base64.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/objects/timestamp.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {

using Json = nlohmann::json;

ExecCredential parse_exec_credential(std::string_view output, ExecPlugin const& plugin) {
    auto const refuse = [&](std::string const& why) {
        throw UsageError(text("the credential plugin ", plugin.command, " printed ", why));
    };
    auto const printed = Json::parse(output, nullptr, false);
    if (!printed.is_object() || string_in(printed, "kind") != "ExecCredential")
        refuse("no ExecCredential (JSON). Run it by hand to see what it prints");
    if (auto const version = string_in(printed, "apiVersion"); version != plugin.api_version)
        refuse(text("an ExecCredential of ", version, ", where the kubeconfig says ",
                    plugin.api_version));
    auto const& status = member(printed, "status");
    ExecCredential found;
    found.identity.bearer_token = string_in(status, "token");
    found.identity.client_certificate = string_in(status, "clientCertificateData");
    found.identity.client_key = string_in(status, "clientKeyData");
    if (found.identity.client_certificate.empty() != found.identity.client_key.empty())
        refuse("only one of clientCertificateData and clientKeyData");
    if (found.identity.bearer_token.empty() && found.identity.client_certificate.empty())
        refuse("neither a token nor a client certificate in status");
    auto const& expiration = member(status, "expirationTimestamp");
    if (!expiration.is_null()) {
        found.expires = parse_timestamp(string_of(expiration));
        if (!found.expires) refuse("an expirationTimestamp that is no time of RFC 3339");
    }
    return found;
}

std::string exec_info(ExecPlugin const& plugin, ClusterAddress const& cluster, bool interactive) {
    Json spec{{"interactive", interactive}};
    if (plugin.provide_cluster_info) {
        Json about{{"server", cluster.server}};
        if (!cluster.verify) about["insecure-skip-tls-verify"] = true;
        if (!cluster.tls_server_name.empty()) about["tls-server-name"] = cluster.tls_server_name;
        if (!cluster.proxy_url.empty()) about["proxy-url"] = cluster.proxy_url;
        if (!cluster.authority.empty())
            about["certificate-authority-data"] = to_base64(cluster.authority);
        if (!plugin.cluster_extension.empty())
            about["config"] = Json::parse(plugin.cluster_extension, nullptr, false);
        spec["cluster"] = std::move(about);
    }
    return Json{{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}}
        .dump();
}

}  // namespace sinew::k8s
