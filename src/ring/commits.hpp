// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/ring/protocol.hpp"

namespace sinew::ring {

/// The states that members have given. The n-th commit is whole when all have made it, counts once
/// `settle` was called, and then replaces the one before: there are two of a member at most.
class Commits {
public:
    using States = std::vector<std::shared_ptr<State const>>;  ///< by rank; null: it has made none

    explicit Commits(int size);

    /// The `number`-th state of a member, which is the next for it. True: with it, the commit is whole.
    /// Throws DecodeError for any other number.
    bool add(int rank, std::uint64_t number, State state);
    /// The one that is whole counts.
    void settle();
    /// What an earlier ring of this size has left: commits up to this number, the last of which is this.
    void resume(std::uint64_t count, States last);
    /// How many count.
    std::uint64_t count() const { return count_; }
    /// Of the last that counts; null: there is none.
    std::shared_ptr<State const> const& state(int rank) const { return last_[at(rank)]; }
    /// Of the next one, as far as they have come.
    States const& next() const { return next_; }
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
    States last_, next_;
};

}  // namespace sinew::ring
