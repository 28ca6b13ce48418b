// SPDX-License-Identifier: Apache-2.0
#include "src/ring/commits.hpp"

#include <utility>

#include "src/base/text.hpp"

namespace sinew::ring {

Commits::Commits(int size) : last_(at(size)), next_(at(size)) {}

bool Commits::add(int rank, std::uint64_t number, State state) {
    auto& next = next_.at(at(rank));
    if (number != count_ + 1 || next)
        throw DecodeError(text("rank ", rank, " of a ring made commit ", number, " where ",
                               count_ + 1, " was due"));
    next = std::move(state);
    if (++arrived_ < next_.size()) return false;
    std::swap(last_, next_);
    ++count_;
    drop_pending();
    return true;
}

void Commits::drop_pending() {
    for (auto& each : next_) each.reset();
    arrived_ = 0;
}

std::vector<int> Commits::those_with(bool made) const {
    std::vector<int> found;
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
        if (next_[rank].has_value() == made) found.push_back(static_cast<int>(rank));
    return found;
}

std::vector<int> Commits::waiting() const { return those_with(true); }
std::vector<int> Commits::missing() const { return those_with(false); }

}  // namespace sinew::ring
