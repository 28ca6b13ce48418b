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
    next = std::make_shared<State const>(std::move(state));
    return ++arrived_ == next_.size();
}

void Commits::settle() {
    std::swap(last_, next_);
    ++count_;
    drop_pending();
}

void Commits::resume(std::uint64_t count, States last) {
    count_ = count;
    last_ = std::move(last);
}

void Commits::drop_pending() {
    for (auto& each : next_) each.reset();
    arrived_ = 0;
}

std::vector<int> Commits::those_with(bool made) const {
    std::vector<int> found;
    for (std::size_t rank = 0; rank < next_.size(); ++rank)
        if ((next_[rank] != nullptr) == made) found.push_back(static_cast<int>(rank));
    return found;
}

std::vector<int> Commits::waiting() const { return those_with(true); }
std::vector<int> Commits::missing() const { return those_with(false); }

}  // namespace sinew::ring
