// SPDX-License-Identifier: Apache-2.0
#include "k8s/config/kubeconfig.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sinew/error.hpp>

#include "k8s/config/files.hpp"
#include "k8s/objects/base64.hpp"
#include "k8s/objects/json_access.hpp"
#include "k8s/objects/yaml.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;

struct File {
    std::string path;
    Json content;
};

// A map of a file, with what is needed to tell where it is wrong.
class Section {
public:
    Section(File const& file, std::string where, Json const& content)
        : file_(file), where_(std::move(where)), content_(content) {
        if (!content.is_object() && !content.is_null()) refuse("is not a map");
    }

    [[noreturn]] void refuse(std::string const& why) const {
        throw UsageError(text(file_.path, ": ", where_, " ", why));
    }
    bool has(char const* key) const { return !member(content_, key).is_null(); }
    std::string string(char const* key) const {
        auto const& found = member(content_, key);
        if (found.is_null() || found.is_string()) return string_of(found);
        if (found.is_number()) return found.dump();  // a password of digits
        refuse(text(key, " is not a string"));
    }
    bool flag(char const* key) const {
        auto const& found = member(content_, key);
        if (!found.is_null() && !found.is_boolean()) refuse(text(key, " is not true or false"));
        return bool_of(found);
    }
    Json const& list(char const* key) const {
        auto const& found = member(content_, key);
        if (!found.is_null() && !found.is_array()) refuse(text(key, " is not a list"));
        return list_of(found);
    }
    Json const& raw(char const* key) const { return member(content_, key); }
    Section below(char const* key) const {
        return Section(file_, text(where_, " ", key), member(content_, key));
    }
    std::string path(char const* key) const {
        auto const found = string(key);
        if (found.empty()) return found;
        return std::filesystem::absolute(std::filesystem::path(file_.path))
            .parent_path()
            .append(found)
            .lexically_normal();
    }
    // "<key>-data" in base64, or the contents of the file that <key> names.
    std::string data_or_file(std::string const& key) const {
        if (auto const data = string((key + "-data").c_str()); !data.empty()) {
            auto decoded = from_base64(data);
            if (!decoded) refuse(text(key, "-data is not base64"));
            return std::move(*decoded);
        }
        auto const named = path(key.c_str());
        return named.empty() ? named : read_file(named, text(file_.path, ": ", where_, " ", key));
    }

private:
    File const& file_;
    std::string where_;
    Json const& content_;
};

// The entry of this name in the first file that has it. Of clusters, users and contexts.
std::optional<Section> find(std::vector<File> const& files, std::string const& list,
                            std::string const& kind, std::string const& name) {
    for (auto const& file : files)
        for (auto const& entry : list_of(member(file.content, list)))
            if (string_in(entry, "name") == name)
                return Section(file, text(kind, " ", name), member(entry, kind));
    return std::nullopt;
}

std::string names_of(std::vector<File> const& files, char const* list) {
    std::string names;
    for (auto const& file : files)
        for (auto const& entry : list_of(member(file.content, list)))
            names += (names.empty() ? "" : ", ") + string_in(entry, "name");
    return names.empty() ? "none" : names;
}

std::string paths_of(std::vector<File> const& files) {
    std::string paths;
    for (auto const& file : files) paths += (paths.empty() ? "" : ":") + file.path;
    return paths;
}

ExecPlugin read_exec(Section const& exec, Json const& extensions) {
    ExecPlugin plugin;
    plugin.api_version = exec.string("apiVersion");
    if (plugin.api_version != "client.authentication.k8s.io/v1" &&
        plugin.api_version != "client.authentication.k8s.io/v1beta1")
        exec.refuse(text("has apiVersion \"", plugin.api_version,
                         "\" (must be client.authentication.k8s.io/v1 or v1beta1). Newer versions "
                         "of the plugin write it"));
    plugin.command = exec.string("command");
    if (plugin.command.empty()) exec.refuse("has no command");
    if (plugin.command.find('/') != std::string::npos) plugin.command = exec.path("command");
    plugin.install_hint = exec.string("installHint");
    plugin.provide_cluster_info = exec.flag("provideClusterInfo");
    for (auto const& argument : exec.list("args")) {
        if (!argument.is_string()) exec.refuse("has an argument that is not a string");
        plugin.args.push_back(string_of(argument));
    }
    for (auto const& variable : exec.list("env"))
        plugin.env.emplace_back(string_in(variable, "name"), string_in(variable, "value"));
    auto const mode = exec.string("interactiveMode");
    if (mode == "Never") plugin.interactive = ExecPlugin::Interactive::never;
    else if (mode == "Always") plugin.interactive = ExecPlugin::Interactive::always;
    else if (!mode.empty() && mode != "IfAvailable")
        exec.refuse(text("has interactiveMode ", mode, " (must be Never, IfAvailable or Always)"));
    for (auto const& extension : list_of(extensions))
        if (string_in(extension, "name") == "client.authentication.k8s.io/exec")
            plugin.cluster_extension = member(extension, "extension").dump();
    return plugin;
}

UserCredentials read_user(Section const& user, std::string const& name, Json const& extensions) {
    UserCredentials found;
    found.name = name;
    if (user.has("auth-provider"))
        user.refuse(text("uses the auth-provider \"", string_in(user.raw("auth-provider"), "name"),
                         "\", which Kubernetes removed in 1.26. Use the provider's exec plugin "
                         "(gke-gcloud-auth-plugin, kubelogin, kubectl oidc-login)"));
    found.client_certificate = user.data_or_file("client-certificate");
    found.client_key = user.data_or_file("client-key");
    if (found.client_certificate.empty() != found.client_key.empty())
        user.refuse("needs both client-certificate and client-key");
    found.token_file = user.path("tokenFile");
    found.token = user.string("token");
    if (!found.token_file.empty()) found.token.clear();  // as client-go
    found.username = user.string("username");
    found.password = user.string("password");
    if (!found.username.empty() && (!found.token.empty() || !found.token_file.empty()))
        user.refuse("has both a token and a username. Remove one of them");
    if (user.has("exec")) {
        if (!found.token.empty() || !found.token_file.empty() || !found.username.empty())
            user.refuse("has both exec and a token or username. Remove one of them");
        found.exec = read_exec(user.below("exec"), extensions);
    }
    found.impersonate = user.string("as");
    for (auto const& group : user.list("as-groups"))
        found.impersonate_groups.push_back(string_of(group));
    return found;
}

ClusterAddress read_cluster(Section const& cluster, std::string const& name) {
    ClusterAddress found;
    found.name = name;
    found.server = cluster.string("server");
    if (found.server.empty()) cluster.refuse("has no server");
    found.verify = !cluster.flag("insecure-skip-tls-verify");
    found.authority = cluster.data_or_file("certificate-authority");
    if (!found.verify && !found.authority.empty())
        cluster.refuse(
            "has both insecure-skip-tls-verify and certificate-authority. Remove the first");
    found.tls_server_name = cluster.string("tls-server-name");
    found.proxy_url = cluster.string("proxy-url");
    return found;
}

std::vector<File> parse(std::vector<std::pair<std::string, std::string>> const& texts) {
    std::vector<File> files;
    for (auto const& [path, content] : texts) {
        auto documents = from_yaml(content, path);
        if (documents.empty()) continue;
        if (documents.size() > 1 || !documents[0].is_object())
            throw UsageError(
                text(path, " is not a kubeconfig (one map with clusters, users, contexts)"));
        files.push_back({path, std::move(documents[0])});
        Section const top(files.back(), "it", files.back().content);
        for (auto const* list : {"clusters", "users", "contexts"})
            for (auto const& entry : top.list(list))
                if (!member(entry, "name").is_string())
                    throw UsageError(text(path, ": ", list, " has an entry without a name"));
    }
    return files;
}

}  // namespace

Configuration read_kubeconfig(std::vector<std::pair<std::string, std::string>> const& texts,
                              ConfigurationChoice const& choice) {
    auto const files = parse(texts);
    std::string context = choice.context;
    for (auto const& file : files)
        if (context.empty()) context = string_in(file.content, "current-context");
    auto const where = files.empty() ? texts.empty() ? "" : texts[0].first : paths_of(files);
    if (context.empty())
        throw UsageError(text(where,
                              " has no current-context (contexts: ", names_of(files, "contexts"),
                              "). Give --context, or set one with kubectl config use-context"));
    auto const chosen = find(files, "contexts", "context", context);
    if (!chosen)
        throw UsageError(text("context ", context, " is not in ", where,
                              " (contexts: ", names_of(files, "contexts"), ")"));
    auto const cluster_name = chosen->string("cluster"), user_name = chosen->string("user");
    auto const cluster = find(files, "clusters", "cluster", cluster_name);
    if (!cluster)
        chosen->refuse(text("names the cluster \"", cluster_name,
                            "\", which does not exist (clusters: ", names_of(files, "clusters"),
                            ")"));
    auto const user = find(files, "users", "user", user_name);
    if (!user && !user_name.empty())
        chosen->refuse(text("names the user \"", user_name,
                            "\", which does not exist (users: ", names_of(files, "users"), ")"));
    Configuration found;
    found.context = context;
    found.source = text("context ", context, " of ", where);
    found.ns = !choice.ns.empty() ? choice.ns : chosen->string("namespace");
    if (found.ns.empty()) found.ns = "default";
    found.cluster = read_cluster(*cluster, cluster_name);
    if (user) found.user = read_user(*user, user_name, cluster->raw("extensions"));
    return found;
}

}  // namespace sinew::k8s
