// SPDX-License-Identifier: Apache-2.0
#include "src/base/cgroup.hpp"

#include <algorithm>
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

/// "max 100000" or "250000 100000": microseconds of processor time in each period.
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

/// The least of `path` and all above it below `mount`. In a container without a namespace of its
/// own the path is the host's, which is not there: what is then at `mount` is the container's.
template <class Read>
std::optional<double> least(std::string const& mount, std::string path, Read const& read) {
    std::optional<double> quota;
    for (;;) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        if (auto const here = read(mount + path)) quota = std::min(*here, quota.value_or(*here));
        if (path.empty()) return quota;
        path.resize(path.find_last_of('/') + 1);
    }
}

bool lists_cpu(std::string_view controllers) {
    while (!controllers.empty()) {
        auto const comma = controllers.find(',');
        if (controllers.substr(0, comma) == "cpu") return true;
        if (comma == std::string_view::npos) return false;
        controllers.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace

std::optional<double> cgroup_quota(std::string const& root) {
    std::ifstream groups(root + "/proc/self/cgroup");
    std::optional<double> quota;
    // "0::/path" is version 2; "3:cpu,cpuacct:/path" is version 1.
    for (std::string line; std::getline(groups, line);) {
        auto const first = line.find(':');
        auto const second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string const controllers = line.substr(first + 1, second - first - 1);
        std::string const path = line.substr(second + 1);
        std::optional<double> here;
        if (controllers.empty()) here = least(root + "/sys/fs/cgroup", path, quota_of_v2);
        else if (lists_cpu(controllers))
            here = least(root + "/sys/fs/cgroup/" + controllers, path, quota_of_v1);
        if (!here && lists_cpu(controllers))
            here = least(root + "/sys/fs/cgroup/cpu", path, quota_of_v1);
        if (here) quota = std::min(*here, quota.value_or(*here));
    }
    return quota;
}

}  // namespace sinew
