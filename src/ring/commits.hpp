// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/ring/protocol.hpp"

namespace sinew::ring {

/// The states that members have committed. The n-th commit is complete when all members have made
/// it, counts once `settle` was called, and then replaces the one before: each member has two
/// states at most.
class Commits {
public:
    using States = std::vector<std::shared_ptr<State const>>;  ///< by rank; null: none yet

    explicit Commits(int size);

    /// Adds the `number`-th state of a member, which must be its next. Returns whether the commit
    /// is now complete. Throws DecodeError for any other number.
    bool add(int rank, std::uint64_t number, State state);
    /// The complete commit counts from now on.
    void settle();
    /// Takes over the commits of an earlier ring of this size: up to this number, with these last
    /// states.
    void resume(std::uint64_t count, States last);
    /// The number of commits that count.
    std::uint64_t count() const { return count_; }
    /// The member's state in the last commit that counts; null: there is none.
    std::shared_ptr<State const> const& state(int rank) const { return last_[at(rank)]; }
    /// The states of the next commit that have arrived.
    States const& next() const { return next_; }
    /// Drops the states of the next commit.
    void drop_pending();

    /// Whether some members, but not all, have made the next commit.
    bool pending() const { return arrived_ > 0; }
    std::vector<int> waiting() const;  ///< the members that have made it
    std::vector<int> missing() const;

private:
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    std::vector<int> those_with(bool made) const;
    std::uint64_t count_ = 0;
    std::size_t arrived_ = 0;
    States last_, next_;
};

}  // namespace sinew::ring
