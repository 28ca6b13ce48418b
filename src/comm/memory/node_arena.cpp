// SPDX-License-Identifier: Apache-2.0
#include "src/comm/memory/node_arena.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/share.hpp"

namespace sinew::detail {

namespace {

using node_memory::Arena;
using node_memory::MappingName;
using node_memory::Source;

/// The first rank of this rank's node.
int first_of_node(NodeLayout const& nodes) {
    auto const found = std::ranges::find(nodes.node_of, nodes.node);
    return static_cast<int>(found - nodes.node_of.begin());
}

/// Whether a rank has opened the memory, or the reason why not.
struct Opened {
    bool yes = true;
    std::array<char, 199> reason{};

    void refuse(std::string const& why) {
        yes = false;
        why.copy(reason.data(), reason.size() - 1);
    }
};

/// Tries one source of memory. Returns null and sets `reason` if a rank of this node refuses.
std::shared_ptr<Arena> share_from(collectives::Channel& channel, NodeLayout const& nodes,
                                  Source source, std::string& reason) {
    auto const size = static_cast<std::size_t>(channel.size());
    auto const self = static_cast<std::size_t>(channel.rank());
    std::shared_ptr<Arena> arena;
    Opened opened;
    std::vector<MappingName> names(size);
    if (nodes.local_rank == 0 && nodes.local_size > 1) {
        try {
            arena = Arena::make(source, nodes.local_size);
            names[self] = arena->name();
        } catch (std::exception const& error) {
            opened.refuse(error.what());
        }
    }
    share(channel, names);
    MappingName const& name = names[static_cast<std::size_t>(first_of_node(nodes))];
    if (nodes.local_rank > 0) {
        try {
            if (name.bytes > 0) arena = Arena::open(name, nodes.local_rank, nodes.local_size);
        } catch (std::exception const& error) {
            opened.refuse(error.what());
        }
    }
    std::vector<Opened> all(size);
    all[self] = opened;
    share(channel, all);
    if (arena && nodes.local_rank == 0) arena->all_have_opened();
    for (std::size_t r = 0; r < size; ++r) {
        if (nodes.node_of[r] != nodes.node || all[r].yes) continue;
        reason = text("rank ", r, ": ", all[r].reason.data());
        return nullptr;
    }
    return arena;
}

}  // namespace

std::shared_ptr<Arena> share_memory(collectives::Channel& channel, NodeLayout const& nodes) {
    if (nodes.nodes() == channel.size()) return nullptr;
    std::string first, second;
    auto arena = share_from(channel, nodes, Source::memfd, first);
    // All ranks of all nodes go on together, because the exchange is of all.
    std::vector<char> failed(static_cast<std::size_t>(channel.size()));
    failed[static_cast<std::size_t>(channel.rank())] = first.empty() ? 0 : 1;
    share(channel, failed);
    if (std::ranges::find(failed, 1) == failed.end()) return arena;
    auto fallback = share_from(channel, nodes, Source::posix, second);
    if (first.empty()) return arena;
    if (!fallback && nodes.local_rank == 0)
        log_warning(text(
            "the ranks on ", nodes.host_of(channel.rank()),
            " share no memory and send messages to each other, which is slower (memfd: ", first,
            "; /dev/shm: ", second, ")"));
    return fallback;
}

}  // namespace sinew::detail
