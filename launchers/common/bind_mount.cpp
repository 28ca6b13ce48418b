// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/bind_mount.hpp"

#include <algorithm>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch {

BindMount parse_bind_mount(std::string const& words, std::string const& what) {
    BindMount mount;
    auto rest = words;
    if (rest.ends_with(":ro") || rest.ends_with(":rw")) {
        mount.read_only = rest.ends_with(":ro");
        rest.erase(rest.size() - 3);
    }
    auto const colon = rest.find(':');
    mount.source = rest.substr(0, colon);
    mount.target = colon == rest.npos ? mount.source : rest.substr(colon + 1);
    if (!mount.source.starts_with('/') || !mount.target.starts_with('/') ||
        mount.target.find(':') != rest.npos)
        throw UsageError(text(what, " ", words,
                              " (must be SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro, with an "
                              "absolute path in the container)"));
    while (mount.target.size() > 1 && mount.target.ends_with('/')) mount.target.pop_back();
    while (mount.source.size() > 1 && mount.source.ends_with('/')) mount.source.pop_back();
    return mount;
}

bool is_seen(std::string const& folder, std::vector<BindMount> const& mounts) {
    return std::ranges::any_of(mounts, [&](BindMount const& each) {
        auto const below = each.target == "/" ? each.target : each.target + "/";
        return each.source == each.target && !folder.empty() &&
               (folder == each.target || folder.starts_with(below));
    });
}

}  // namespace sinew::launch
