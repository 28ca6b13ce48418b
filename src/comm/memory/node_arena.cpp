// SPDX-License-Identifier: Apache-2.0
#include "src/comm/memory/node_arena.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/share.hpp"
#include "src/node_memory/arena/share_arena.hpp"

namespace sinew::detail {

namespace {

using node_memory::Arena;
using node_memory::MappingName;
using node_memory::Source;

/// Carries the messages of share_arena between the ranks of each node. All ranks of all nodes take
/// part in each exchange.
class NodeExchange {
public:
    NodeExchange(collectives::Channel& channel, NodeLayout const& nodes)
        : channel_(channel), nodes_(nodes), size_(static_cast<std::size_t>(channel.size())),
          self_(static_cast<std::size_t>(channel.rank())) {}

    MappingName of_first(MappingName const& own) {
        std::vector<MappingName> names(size_);
        names[self_] = own;
        share(channel_, names);
        auto const first = std::ranges::find(nodes_.node_of, nodes_.node);
        return names[static_cast<std::size_t>(first - nodes_.node_of.begin())];
    }

    std::string first_refusal(std::string const& own) {
        using Text = std::array<char, 200>;
        std::vector<Text> all(size_);
        own.copy(all[self_].data(), all[self_].size() - 1);
        share(channel_, all);
        for (std::size_t r = 0; r < size_; ++r)
            if (nodes_.node_of[r] == nodes_.node && all[r].front() != 0)
                return text("rank ", r, ": ", all[r].data());
        return {};
    }

private:
    collectives::Channel& channel_;
    NodeLayout const& nodes_;
    std::size_t size_, self_;
};

/// Tries one source of memory on every node with several ranks.
std::shared_ptr<Arena> share_from(collectives::Channel& channel, NodeLayout const& nodes,
                                  Source source, std::string& reason) {
    NodeExchange exchange(channel, nodes);
    if (nodes.local_size > 1)
        return node_memory::share_arena(source, nodes.local_rank, nodes.local_size, exchange,
                                        reason);
    exchange.of_first({});
    exchange.first_refusal({});
    exchange.first_refusal({});
    return nullptr;
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
