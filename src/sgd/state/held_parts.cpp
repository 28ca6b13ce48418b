// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/held_parts.hpp"

namespace sinew::sgd {

HeldParts::HeldParts(std::vector<std::vector<std::string>> const& names) {
    for (std::size_t rank = 0; rank < names.size(); ++rank)
        for (std::string const& name : names[rank])
            if (auto const part = PartId::parse(name))
                holders_[*part].insert(static_cast<int>(rank));
}

std::vector<CommitId> HeldParts::commits() const {
    std::set<CommitId> all;
    for (auto const& [part, holders] : holders_) all.insert(part.commit);
    return {all.rbegin(), all.rend()};
}

int HeldParts::reader_of(PartId const& part) const {
    auto const found = holders_.find(part);
    if (found == holders_.end() || found->second.empty()) return -1;
    return found->second.contains(part.owner) ? part.owner : *found->second.begin();
}

void HeldParts::strike(PartId const& part, int rank) {
    auto const found = holders_.find(part);
    if (found != holders_.end()) found->second.erase(rank);
}

std::vector<PartId> HeldParts::needed(CommitId const& commit, bool shared, bool own) {
    std::vector<PartId> parts;
    if (shared) parts.push_back({commit, PartId::shared});
    for (int rank = 0; own && rank < commit.ranks; ++rank) parts.push_back({commit, rank});
    return parts;
}

std::optional<PartId> HeldParts::missing(std::vector<PartId> const& parts) const {
    for (PartId const& part : parts)
        if (reader_of(part) < 0) return part;
    return std::nullopt;
}

}  // namespace sinew::sgd
