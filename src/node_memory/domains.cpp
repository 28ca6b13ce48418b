// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/domains.hpp"

#include <algorithm>
#include <map>

namespace sinew::node_memory {

Domains::Domains(int ranks) : Domains(std::vector<int>(static_cast<std::size_t>(ranks))) {}

Domains::Domains(std::span<int const> of_rank, bool always) : always_(always) {
    std::map<int, int> numbers;
    for (int const name : of_rank) {
        int const domain = numbers.try_emplace(name, count()).first->second;
        if (domain == count()) members_.emplace_back();
        else if (domain != of_.back()) are_ranges_ = false;
        auto& members = members_[static_cast<std::size_t>(domain)];
        index_.push_back(static_cast<int>(members.size()));
        members.push_back(static_cast<int>(of_.size()));
        of_.push_back(domain);
    }
    outside_.resize(members_.size());
    for (int domain = 0; domain < count(); ++domain)
        for (int rank = 0; rank < static_cast<int>(of_.size()); ++rank)
            if (of(rank) != domain) outside_[static_cast<std::size_t>(domain)].push_back(rank);
    auto const [least, most] = std::ranges::minmax(
        members_, {}, [](std::vector<int> const& members) { return members.size(); });
    smallest_ = least.size();
    largest_ = most.size();
}

bool Domains::are_worthwhile() const {
    return std::ranges::count_if(members_, [](auto const& m) { return m.size() > 1; }) > 1;
}

}  // namespace sinew::node_memory
