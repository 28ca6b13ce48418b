// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sinew::node_memory {

/// Which ranks of a room are near each other: their processors belong to one NUMA node, or share a
/// cache. To read what a rank of another domain wrote takes longer, so algorithms let each byte pass
/// from one domain to another once. All ranks of a room must have equal domains.
class Domains {
public:
    /// All ranks are in one domain.
    explicit Domains(int ranks);
    /// `of_rank` numbers the domain of each rank, in any way. They are numbered again in the order of
    /// their first ranks. `always`: also for messages that are too short for it to pay.
    explicit Domains(std::span<int const> of_rank, bool always = false);

    int count() const { return static_cast<int>(members_.size()); }
    int of(int rank) const { return of_[static_cast<std::size_t>(rank)]; }
    /// The position of a rank among those of its domain.
    int index(int rank) const { return index_[static_cast<std::size_t>(rank)]; }
    /// The ranks in a domain, and those that are not, in rank order.
    std::span<int const> members(int domain) const {
        return members_[static_cast<std::size_t>(domain)];
    }
    std::span<int const> outside(int domain) const {
        return outside_[static_cast<std::size_t>(domain)];
    }
    /// Ranks in the smallest and in the largest domain.
    std::size_t smallest() const { return smallest_; }
    std::size_t largest() const { return largest_; }
    /// Whether each domain is a range of ranks, so that domain after domain is rank after rank.
    bool are_ranges() const { return are_ranges_; }
    bool always() const { return always_; }

    /// Whether algorithms that distinguish domains read fewer bytes of other domains than those that
    /// do not: there are two domains with two ranks each, or more.
    bool are_worthwhile() const;

private:
    std::vector<int> of_, index_;  // by rank
    std::vector<std::vector<int>> members_, outside_;
    std::size_t smallest_ = 0, largest_ = 0;
    bool are_ranges_ = true, always_ = false;
};

}  // namespace sinew::node_memory
