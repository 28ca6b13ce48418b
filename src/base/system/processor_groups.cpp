// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/processor_groups.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "src/base/text.hpp"

namespace sinew {

namespace {

/// The first line of a file; empty if it cannot be read.
std::string line_of(std::string const& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

void add(std::vector<std::vector<int>>& groups, std::vector<int> processors) {
    if (!processors.empty() && std::ranges::find(groups, processors) == groups.end())
        groups.push_back(std::move(processors));
}

/// The processors that share the third-level cache of one.
std::vector<int> sharers_of_l3(std::string const& root, int processor) {
    for (int index = 0;; ++index) {
        std::string const cache =
            text(root, "/sys/devices/system/cpu/cpu", processor, "/cache/index", index);
        std::string const level = line_of(cache + "/level");
        if (level.empty()) return {};
        if (level == "3") return parse_cpu_list(line_of(cache + "/shared_cpu_list"));
    }
}

}  // namespace

std::vector<int> parse_cpu_list(std::string const& list) {
    std::vector<int> numbers;
    char const* at = list.data();
    char const* const end = at + list.size();
    constexpr int most = 1 << 20;
    while (at < end) {
        int first = 0;
        auto result = std::from_chars(at, end, first);
        if (result.ec != std::errc{} || first < 0) break;
        int last = first;
        if (result.ptr < end && *result.ptr == '-') {
            result = std::from_chars(result.ptr + 1, end, last);
            if (result.ec != std::errc{}) break;
        }
        for (int number = first; number <= std::min(last, most); ++number)
            numbers.push_back(number);
        at = result.ptr;
        if (at == end || *at != ',') break;
        ++at;
    }
    return numbers;
}

ProcessorGroups processor_groups_of_kernel(std::span<int const> processors,
                                           std::string const& root) {
    ProcessorGroups groups;
    std::string const nodes = root + "/sys/devices/system/node";
    for (int const node : parse_cpu_list(line_of(nodes + "/online")))
        add(groups.numa, parse_cpu_list(line_of(text(nodes, "/node", node, "/cpulist"))));
    std::vector<int> seen;  // processors whose cache is known
    for (int const processor : processors) {
        if (std::ranges::binary_search(seen, processor)) continue;
        auto sharers = sharers_of_l3(root, processor);
        if (sharers.empty()) break;  // of others, too, there is none or nothing is known
        seen.insert(seen.end(), sharers.begin(), sharers.end());
        std::ranges::sort(seen);
        add(groups.l3, std::move(sharers));
    }
    std::ranges::sort(groups.numa);
    std::ranges::sort(groups.l3);
    return groups;
}

}  // namespace sinew
