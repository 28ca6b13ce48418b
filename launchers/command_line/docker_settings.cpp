// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/docker_settings.hpp"

#include <algorithm>
#include <map>

#include "launchers/command_line/parse.hpp"
#include "launchers/common/bind_mount.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// A path of this host is relative to the folder of the setting's source.
void add_mount(Draft& draft, Setting const& setting) {
    auto const colon = setting.value.find(':');
    auto const home = draft.environment == nullptr ? "" : draft.environment->home;
    auto const source = setting.value.substr(0, colon);
    if (source.empty()) bad_value(setting, "SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro");
    auto path = resolve(source, setting.folder, home);
    while (path.size() > 2 && path.ends_with("/.")) path.erase(path.size() - 2);
    auto const mount = parse_bind_mount(
        colon == setting.value.npos ? path : path + setting.value.substr(colon), setting.origin);
    for (auto const& other : draft.options.docker.mounts)
        if (other.target == mount.target)
            bad_value(setting, text("mounted elsewhere than ", other.source, ", which is at ",
                                    other.target, " already: SOURCE:TARGET"));
    draft.options.docker.mounts.push_back(mount);
}

void set_gpus(Draft& draft, Setting const& setting) {
    if (lower(setting.value) != "all")
        bad_value(setting, "all; --gpu COUNT gives GPUs to each rank");
    draft.options.docker.gpus = "all";
}

Setter docker_word(std::string DockerOptions::*field) {
    return [=](Draft& d, Setting const& s) { d.options.docker.*field = to_words(s); };
}

// clang-format off
std::map<std::string_view, Setter> const docker_setters{
    {"mount", add_mount},
    {"network", docker_word(&DockerOptions::network)},
    {"user", docker_word(&DockerOptions::user)},
    {"gpus", set_gpus},
};
// clang-format on

}  // namespace

Setter docker_setter(std::string_view key) {
    auto const at = docker_setters.find(key);
    if (at == docker_setters.end()) return nullptr;
    return [set = at->second](Draft& draft, Setting const& setting) {
        set(draft, setting);
        if (auto& first = draft.options.docker.first_flag; first.empty()) first = setting.origin;
    };
}

}  // namespace sinew::launch
