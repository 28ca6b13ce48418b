// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_domains.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

using node_memory::Domains;

constexpr std::array<std::string_view, 4> level_names{"auto", "off", "numa", "l3"};

/// The first processor of the group that has all of `processors`.
std::int32_t group_of(std::vector<std::vector<int>> const& groups,
                      std::span<int const> processors) {
    if (groups.empty() || processors.empty()) return Locality::unknown;
    for (auto const& group : groups)
        if (std::ranges::includes(group, processors)) return group.front();
    return Locality::several;
}

/// FNV-1a over the numbers of all groups. The same in every process.
std::uint64_t hash_of(std::vector<std::vector<int>> const& groups) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    auto const mix = [&](int number) {
        hash = (hash ^ static_cast<std::uint64_t>(number + 1)) * 0x100000001b3u;
    };
    for (auto const& group : groups) {
        for (int const processor : group) mix(processor);
        mix(-1);
    }
    return hash;
}

/// One kind of domain, and its words.
struct Kind {
    std::int32_t Locality::*group;
    char const *one, *several, *in_one;
};
constexpr Kind numa_nodes{&Locality::numa, "NUMA node", "NUMA nodes", "are in one NUMA node"};
constexpr Kind l3_caches{&Locality::l3, "third-level cache", "third-level caches",
                         "share one third-level cache"};

struct Grouping {
    NodeDomains found;
    bool usable = false, in_one_group = false;
};

Grouping group_by(Kind const& kind, std::span<Locality const> ranks, bool always) {
    Grouping result{{Domains(static_cast<int>(ranks.size())), {}}};
    auto const because = [&](auto const&... words) {
        result.found.text = text("none (", words..., ')');
        return result;
    };
    std::vector<int> group_of_rank;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        std::int32_t const group = ranks[r].*kind.group;
        if (ranks[r].machine != ranks[0].machine)
            return because("rank ", r, " of the node sees other NUMA nodes than its rank 0");
        if (group == Locality::unknown)
            return because("it is not known in which ", kind.one, " rank ", r, " of the node runs");
        if (group == Locality::several)
            return because("rank ", r, " of the node may run in several ", kind.several,
                           ". Bind each rank to one");
        group_of_rank.push_back(group);
    }
    Domains domains(group_of_rank, always);
    result.in_one_group = domains.count() == 1;
    if (result.in_one_group) return because("the ranks of the node ", kind.in_one);
    std::string sizes;
    for (int domain = 0; domain < domains.count(); ++domain)
        sizes += text(domain > 0 ? "+" : "", domains.members(domain).size());
    if (!domains.are_worthwhile())
        return because("fewer than two ", kind.several, " have several ranks: ", sizes);
    result.found.text = text(domains.count(), ' ', kind.several, " with ", sizes, " ranks");
    result.found.domains = std::move(domains);
    result.usable = true;
    return result;
}

}  // namespace

std::string_view name_of(DomainLevel level) { return level_names[static_cast<std::size_t>(level)]; }

DomainLevel domain_level(std::string_view word) {
    auto const found = std::ranges::find(level_names, word);
    if (found == level_names.end())
        throw UsageError(text("SINEW_NODE_DOMAINS=", word, " (must be auto, off, numa or l3)"));
    return static_cast<DomainLevel>(found - level_names.begin());
}

Locality Locality::of(ProcessorGroups const& groups, std::span<int const> processors) {
    return {.machine = hash_of(groups.numa),
            .numa = group_of(groups.numa, processors),
            .l3 = group_of(groups.l3, processors)};
}

NodeDomains node_domains(std::span<Locality const> ranks, DomainLevel level) {
    if (ranks.size() < 2) return {Domains(1), "none (the rank is alone on its node)"};
    if (level == DomainLevel::off)
        return {Domains(static_cast<int>(ranks.size())), "none (SINEW_NODE_DOMAINS=off)"};
    if (level == DomainLevel::l3) return group_by(l3_caches, ranks, true).found;
    Grouping by_numa = group_by(numa_nodes, ranks, level == DomainLevel::numa);
    if (by_numa.usable || level == DomainLevel::numa) return by_numa.found;
    Grouping by_cache = group_by(l3_caches, ranks, false);
    return by_cache.usable || by_numa.in_one_group ? by_cache.found : by_numa.found;
}

}  // namespace sinew::detail
