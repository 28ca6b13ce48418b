// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/system/processor_groups.hpp"
#include "src/node_memory/domains.hpp"

namespace sinew::detail {

/// SINEW_NODE_DOMAINS: which ranks of a node collectives take for near each other.
enum class DomainLevel : std::uint8_t {
    automatic,  ///< those of a NUMA node or, within one, those that share a third-level cache
    off,        ///< all
    numa,       ///< those of a NUMA node; by all long messages, whether it pays or not
    l3,         ///< those that share a third-level cache; likewise
};
std::string_view name_of(DomainLevel level);
/// Reads the value of SINEW_NODE_DOMAINS. Throws UsageError.
DomainLevel domain_level(std::string_view word);

/// Where the processors of a rank are. The ranks exchange its bytes.
struct Locality {
    static constexpr std::int32_t several = -1, unknown = -2;
    std::uint64_t machine = 0;    ///< equal on ranks that see the same NUMA nodes
    std::int32_t numa = unknown;  ///< the first processor of its NUMA node, or `several`
    std::int32_t l3 = unknown;    ///< the same of its third-level cache

    /// That of a process that may use `processors`.
    static Locality of(ProcessorGroups const& groups, std::span<int const> processors);
};

/// The domains of the ranks of a node, and what they are or why they are one.
struct NodeDomains {
    node_memory::Domains domains{1};
    std::string text;
};
/// Finds them from what the ranks of a node have told each other, by their index on the node; so all find
/// the same.
NodeDomains node_domains(std::span<Locality const> ranks, DomainLevel level);

}  // namespace sinew::detail
