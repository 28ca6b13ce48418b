// SPDX-License-Identifier: Apache-2.0
//
// Encodes what the PMI-1 servers of different nodes exchange, and the mapping of ranks to nodes.
#include <charconv>
#include <utility>

#include "launchers/pmi/pmi1.hpp"

namespace sinew::launch {

namespace {

void pack(std::string& out, std::string const& word) {
    out += std::to_string(word.size());
    out += ':';
    out += word;
}

/// Cuts "3:abc" off the front of `rest` and returns "abc"; nullopt if it is malformed.
std::optional<std::string> unpack(std::string_view& rest) {
    std::size_t length = 0;
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    if (error != std::errc{}) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty() || rest.front() != ':' || length > rest.size() - 1) return std::nullopt;
    std::string word(rest.substr(1, length));
    rest.remove_prefix(1 + length);
    return word;
}

}  // namespace

std::string pack_puts(std::map<std::string, std::string, std::less<>> const& puts) {
    std::string packed;
    for (auto const& [key, value] : puts) {
        pack(packed, key);
        pack(packed, value);
    }
    return packed;
}

std::optional<std::vector<std::pair<std::string, std::string>>> unpack_puts(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!text.empty()) {
        auto key = unpack(text);
        if (!key) return std::nullopt;
        auto value = unpack(text);
        if (!value) return std::nullopt;
        pairs.emplace_back(std::move(*key), std::move(*value));
    }
    return pairs;
}

std::string process_mapping(std::vector<int> const& node_of_rank) {
    struct Block {
        int first, nodes, ranks;
    };
    std::vector<Block> blocks;
    std::map<int, int> number;  // of each node, in the order of appearance
    for (std::size_t rank = 0; rank < node_of_rank.size();) {
        int const node = node_of_rank[rank];
        std::size_t end = rank;
        while (end < node_of_rank.size() && node_of_rank[end] == node) ++end;
        int const ranks = static_cast<int>(end - rank);
        rank = end;
        int const id = number.try_emplace(node, static_cast<int>(number.size())).first->second;
        bool const more = !blocks.empty() && blocks.back().ranks == ranks &&
                          blocks.back().first + blocks.back().nodes == id;
        if (more) ++blocks.back().nodes;
        else blocks.push_back({id, 1, ranks});
    }
    std::string mapping = "(vector";
    for (auto const& block : blocks)
        mapping += ",(" + std::to_string(block.first) + "," + std::to_string(block.nodes) + "," +
                   std::to_string(block.ranks) + ")";
    return mapping + ")";
}

}  // namespace sinew::launch
