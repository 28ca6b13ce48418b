// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/kubernetes_settings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::size_t longest_label = 63, longest_name = 253;

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Whether the text consists of letters, digits and `others`, with a letter or digit at both ends.
bool is_word(std::string_view text, std::string_view others, std::size_t longest) {
    auto const fits = [&](char c) { return is_alphanumeric(c) || others.find(c) != others.npos; };
    return !text.empty() && text.size() <= longest && is_alphanumeric(text.front()) &&
           is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), fits);
}

// A DNS subdomain (RFC 1123), as names of most objects are.
bool is_name(std::string_view text) {
    return is_word(text, "-.", longest_name) &&
           std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string to_name(Setting const& setting) {
    if (!is_name(setting.value))
        bad_value(setting, "a Kubernetes name: lower-case letters, digits, - and .");
    return setting.value;
}

bool is_label_key(std::string_view key) {
    auto const slash = key.find('/');
    if (slash == key.npos) return is_word(key, "-_.", longest_label);
    return is_name(key.substr(0, slash)) && is_word(key.substr(slash + 1), "-_.", longest_label);
}

// Splits KEY=VALUE. `label`: the value, too, must be that of a label.
std::pair<std::string, std::string> to_pair(Setting const& setting, bool label) {
    auto const equals = setting.value.find('=');
    std::string const key = setting.value.substr(0, equals);
    if (equals == std::string::npos || !is_label_key(key))
        bad_value(setting, "KEY=VALUE, where KEY is [prefix/]name of letters, digits, - _ and .");
    std::string value = setting.value.substr(equals + 1);
    if (label && !value.empty() && !is_word(value, "-_.", longest_label))
        bad_value(setting, "KEY=VALUE, where VALUE has at most 63 letters, digits, - _ and .");
    return {key, value};
}

// A resource.Quantity; the cluster's library parses it again with its unit.
std::string to_quantity(Setting const& setting) {
    static constexpr std::string_view units[] = {"",  "m",  "k",  "M",  "G",  "T",
                                                 "P", "Ki", "Mi", "Gi", "Ti", "Pi"};
    std::string_view const text = setting.value;
    auto const digits = std::min(text.find_first_not_of("0123456789."), text.size());
    auto const number = text.substr(0, digits), unit = text.substr(digits);
    bool const good = !number.empty() && number != "." &&
                      std::count(number.begin(), number.end(), '.') <= 1 && number.size() <= 15 &&
                      std::find(std::begin(units), std::end(units), unit) != std::end(units);
    if (!good) bad_value(setting, "a quantity such as 2, 500m, 512Mi or 4Gi");
    return setting.value;
}

void set_volume(Draft& draft, Setting const& setting) {
    auto const parts = split(setting.value, ':');
    VolumeMount mount{.claim = parts.front()};
    if (parts.size() > 1) mount.path = parts[1];
    if (parts.size() > 2) mount.read_only = parts[2] == "ro";
    if (!is_name(mount.claim) || parts.size() > 3 || !mount.path.starts_with('/') ||
        (parts.size() == 3 && parts[2] != "ro" && parts[2] != "rw"))
        bad_value(
            setting,
            "CLAIM, CLAIM:PATH or CLAIM:PATH:ro, with the name of a PersistentVolumeClaim and "
            "an absolute path");
    for (auto const& other : draft.options.kubernetes.volumes)
        if (other.path == mount.path)
            bad_value(setting, text("mounted elsewhere than ", other.claim, ", which is at ",
                                    other.path, " already: CLAIM:PATH"));
    draft.options.kubernetes.volumes.push_back(mount);
}

void set_toleration(Draft& draft, Setting const& setting) {
    auto const colon = setting.value.rfind(':');
    auto const effect = colon == std::string::npos ? "" : setting.value.substr(colon + 1);
    auto const key = setting.value.substr(0, std::min(setting.value.find('='), colon));
    bool const known = effect.empty() || effect == "NoSchedule" || effect == "PreferNoSchedule" ||
                       effect == "NoExecute";
    if (!is_label_key(key) || !known)
        bad_value(setting,
                  "KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, with the effect "
                  "NoSchedule, PreferNoSchedule or NoExecute");
    draft.options.kubernetes.tolerations.push_back(setting.value);
}

void set_gang(Draft& draft, Setting const& setting) {
    auto& options = draft.options.kubernetes;
    auto const colon = setting.value.find(':');
    auto const name = lower(setting.value.substr(0, colon));
    options.queue = colon == std::string::npos ? "" : setting.value.substr(colon + 1);
    Setting const bare{setting.key, name, setting.origin, setting.folder};
    options.gang =
        static_cast<Gang>(to_choice(bare, {"none", "auto", "volcano", "coscheduling", "kueue"}));
    if ((options.gang == Gang::kueue) != is_name(options.queue))
        bad_value(setting, options.gang == Gang::kueue
                               ? "kueue:QUEUE, with the name of a LocalQueue of the namespace"
                               : "without :QUEUE, which is for kueue");
}

void set_pull_policy(Draft& draft, Setting const& setting) {
    static constexpr char const* policies[] = {"Always", "IfNotPresent", "Never"};
    draft.options.kubernetes.image_pull_policy =
        policies[to_choice(setting, {"always", "ifnotpresent", "never"})];
}

using KubernetesText = std::string KubernetesOptions::*;
using KubernetesPairs = std::map<std::string, std::string> KubernetesOptions::*;

Setter words(KubernetesText field) {
    return [=](Draft& d, Setting const& s) { d.options.kubernetes.*field = to_words(s); };
}
Setter name(KubernetesText field) {
    return [=](Draft& d, Setting const& s) { d.options.kubernetes.*field = to_name(s); };
}
Setter quantity(KubernetesText field) {
    return [=](Draft& d, Setting const& s) { d.options.kubernetes.*field = to_quantity(s); };
}
Setter pair(KubernetesPairs fields, bool label) {
    return [=](Draft& d, Setting const& s) {
        auto const [key, value] = to_pair(s, label);
        (d.options.kubernetes.*fields)[key] = value;
    };
}

// clang-format off
std::map<std::string_view, Setter> const kubernetes_setters{
    {"image", words(&KubernetesOptions::image)},
    {"image-pull-policy", set_pull_policy},
    {"image-pull-secret", [](Draft& d, Setting const& s) {
        d.options.kubernetes.image_pull_secrets.push_back(to_name(s)); }},
    {"agent-image", words(&KubernetesOptions::agent_image)},
    {"namespace", name(&KubernetesOptions::ns)},
    {"context", words(&KubernetesOptions::context)},
    {"kubeconfig", words(&KubernetesOptions::kubeconfig)},
    {"cpu", [](Draft& d, Setting const& s) {
        d.options.kubernetes.cpu = to_quantity(s);
        d.options.kubernetes.cpu_given = true; }},
    {"memory", quantity(&KubernetesOptions::memory)},
    {"shm", quantity(&KubernetesOptions::shm)},
    {"volume", set_volume},
    {"service-account", name(&KubernetesOptions::service_account)},
    {"node-selector", pair(&KubernetesOptions::node_selector, true)},
    {"toleration", set_toleration},
    {"pod-template", words(&KubernetesOptions::pod_template)},
    {"label", pair(&KubernetesOptions::labels, true)},
    {"annotation", pair(&KubernetesOptions::annotations, false)},
    {"gang", set_gang},
    {"network-policy", [](Draft& d, Setting const& s) {
        d.options.kubernetes.network_policy = to_flag(s); }},
    {"discovery", [](Draft& d, Setting const& s) {
        d.options.kubernetes.discovery = static_cast<Discovery>(to_choice(s, {"vip", "dns", "api"})); }},
    {"ttl", [](Draft& d, Setting const& s) {
        d.options.kubernetes.ttl = std::chrono::ceil<std::chrono::seconds>(to_time(s, true)); }},
};
// clang-format on

}  // namespace

Setter kubernetes_setter(std::string_view key) {
    auto const at = kubernetes_setters.find(key);
    if (at == kubernetes_setters.end()) return nullptr;
    static constexpr std::array<std::string_view, 6> shared{
        "image", "image-pull-policy", "cpu", "memory", "shm", "label"};
    auto const first = std::find(shared.begin(), shared.end(), key) != shared.end()
                           ? &KubernetesOptions::shared_flag
                           : &KubernetesOptions::first_flag;
    return [set = at->second, first](Draft& draft, Setting const& setting) {
        set(draft, setting);
        if (auto& flag = draft.options.kubernetes.*first; flag.empty()) flag = setting.origin;
    };
}

}  // namespace sinew::launch
