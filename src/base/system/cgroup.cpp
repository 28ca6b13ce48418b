// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/cgroup.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace sinew {

namespace {

std::optional<std::string> first_line(std::string const& path) {
    std::ifstream file(path);
    std::string line;
    if (!file || !std::getline(file, line)) return std::nullopt;
    return line;
}

/// Reads "max 100000" or "250000 100000": microseconds of processor time, and of each period.
std::optional<double> quota_of_v2(std::string const& folder) {
    auto const line = first_line(folder + "/cpu.max");
    if (!line) return std::nullopt;
    std::istringstream words(*line);
    double granted = 0, period = 0;
    if (!(words >> granted >> period) || granted <= 0 || period <= 0) return std::nullopt;
    return granted / period;
}

std::optional<double> quota_of_v1(std::string const& folder) {
    auto const granted = first_line(folder + "/cpu.cfs_quota_us");
    auto const period = first_line(folder + "/cpu.cfs_period_us");
    if (!granted || !period) return std::nullopt;
    double const share = std::strtod(granted->c_str(), nullptr);  // -1: no limit
    double const whole = std::strtod(period->c_str(), nullptr);
    if (share <= 0 || whole <= 0) return std::nullopt;
    return share / whole;
}

/// A limit, and the folder of the cgroup that sets it.
struct Limit {
    double value;
    std::string folder;
};

void keep_lesser(std::optional<Limit>& least, std::optional<Limit> const& other) {
    if (other && (!least || other->value < least->value)) least = other;
}

/// Returns the lowest limit of `path` and its ancestors up to `mount`. Without a cgroup namespace a
/// container sees the host's `path`, which does not exist there; its own cgroup is at `mount`.
template <class Read>
std::optional<Limit> least(std::string const& mount, std::string path, Read const& read) {
    std::optional<Limit> lowest;
    for (;;) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        if (auto const here = read(mount + path)) keep_lesser(lowest, Limit{*here, mount + path});
        if (path.empty()) return lowest;
        path.resize(path.find_last_of('/') + 1);
    }
}

bool lists(std::string_view controllers, std::string_view wanted) {
    while (!controllers.empty()) {
        auto const comma = controllers.find(',');
        if (controllers.substr(0, comma) == wanted) return true;
        if (comma == std::string_view::npos) return false;
        controllers.remove_prefix(comma + 1);
    }
    return false;
}

/// Calls `found` with the controllers and the path of each cgroup of this process.
template <class Found>
void each_cgroup(std::string const& root, Found const& found) {
    std::ifstream groups(root + "/proc/self/cgroup");
    // "0::/path" is version 2; "3:cpu,cpuacct:/path" is version 1.
    for (std::string line; std::getline(groups, line);) {
        auto const first = line.find(':');
        auto const second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second != std::string::npos)
            found(line.substr(first + 1, second - first - 1), line.substr(second + 1));
    }
}

/// Reads "max" or a number of bytes. Without a limit version 1 has a number above any memory size.
std::optional<double> bytes_in(std::string const& path) {
    auto const line = first_line(path);
    double bytes = 0;
    if (!line || !(std::istringstream(*line) >> bytes) || bytes <= 0) return std::nullopt;
    return bytes;
}

/// Reads the line "MemTotal:       24732012 kB"; returns bytes, or 0 if unknown.
std::uint64_t memory_of_host(std::string const& root) {
    std::ifstream file(root + "/proc/meminfo");
    std::string word;
    std::uint64_t kib = 0;
    while (file >> word)
        if (word == "MemTotal:") return file >> kib ? kib << 10 : 0;
    return 0;
}

}  // namespace

std::optional<CpuQuota> cpu_quota(std::string const& root) {
    std::optional<Limit> quota;
    each_cgroup(root, [&](std::string const& controllers, std::string const& path) {
        std::optional<Limit> here;
        if (controllers.empty()) here = least(root + "/sys/fs/cgroup", path, quota_of_v2);
        else if (lists(controllers, "cpu"))
            here = least(root + "/sys/fs/cgroup/" + controllers, path, quota_of_v1);
        if (!here && lists(controllers, "cpu"))
            here = least(root + "/sys/fs/cgroup/cpu", path, quota_of_v1);
        keep_lesser(quota, here);
    });
    if (!quota) return std::nullopt;
    return CpuQuota{quota->value, quota->folder};
}

std::optional<double> cgroup_quota(std::string const& root) {
    auto const quota = cpu_quota(root);
    return quota ? std::optional(quota->processors) : std::nullopt;
}

std::optional<MemoryCgroup> memory_cgroup(std::string const& root) {
    std::optional<MemoryCgroup> group;
    auto const mount = root + "/sys/fs/cgroup";
    std::error_code none;
    each_cgroup(root, [&](std::string const& controllers, std::string const& path) {
        if (lists(controllers, "memory")) {
            auto const own = std::filesystem::exists(mount + '/' + controllers, none)
                                 ? mount + '/' + controllers
                                 : mount + "/memory";
            group = MemoryCgroup{own, path, 1};
        } else if (controllers.empty() && !group &&
                   std::filesystem::exists(mount + "/cgroup.controllers", none)) {
            group = MemoryCgroup{mount, path, 2};
        }
    });
    if (!group) return group;
    // In a container the path may be the host's, which does not exist there.
    if (!std::filesystem::exists(group->folder(), none)) group->path.clear();
    while (!group->path.empty() && group->path.back() == '/') group->path.pop_back();
    if (!std::filesystem::exists(group->folder() + "/cgroup.procs", none)) return std::nullopt;
    return group;
}

MemoryBounds memory_bounds(std::string const& root) {
    MemoryBounds bounds{.host = memory_of_host(root)};
    auto const group = memory_cgroup(root);
    if (!group) return bounds;
    char const* const file = group->version == 1 ? "/memory.limit_in_bytes" : "/memory.max";
    auto const limit = least(group->mount, group->path,
                             [&](std::string const& folder) { return bytes_in(folder + file); });
    if (limit && (bounds.host == 0 || limit->value < static_cast<double>(bounds.host)))
        bounds.cgroup = static_cast<std::uint64_t>(limit->value);
    return bounds;
}

}  // namespace sinew
