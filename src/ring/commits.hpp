// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/ring/protocol.hpp"

namespace sinew::ring {

/// The states that members have given. The n-th commit counts when all have made it, and then
/// replaces the one before: there are two of a member at most.
class Commits {
public:
    explicit Commits(int size);

    /// The `number`-th state of a member, which is the next for it. True: with it, all have made theirs.
    /// Throws DecodeError for any other number.
    bool add(int rank, std::uint64_t number, State state);
    /// How many count.
    std::uint64_t count() const { return count_; }
    /// Of the last that counts.
    std::optional<State> const& state(int rank) const { return last_[at(rank)]; }
    /// Forgets what does not count yet.
    void drop_pending();

    /// Whether some member, but not all, has made the next one.
    bool pending() const { return arrived_ > 0; }
    std::vector<int> waiting() const;  ///< who has made it
    std::vector<int> missing() const;

private:
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    std::vector<int> those_with(bool made) const;
    std::uint64_t count_ = 0;
    std::size_t arrived_ = 0;
    std::vector<std::optional<State>> last_, next_;
};

}  // namespace sinew::ring
