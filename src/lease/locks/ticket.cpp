// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/ticket.hpp"

#include <sinew/error.hpp>

#include "src/lease/locks/layout.hpp"

namespace sinew::lease {
namespace {

// Two newcomers may find the same last ticket. If one of them gets a place behind it that the other
// has had and left, somebody may already be behind that place, who is first as far as he knows. So
// a place counts only if nobody is behind it once it is locked.
std::int64_t place_behind_all(LockFile const& file) {
    for (;;) {
        auto const last = file.highest_of_others(layout::queue);
        auto const mine = last ? *last + 1 : layout::queue.begin;
        if (!file.try_lock(layout::byte(mine))) continue;
        if (!file.lock_of_others({mine + 1, layout::queue.end})) return mine;
        file.unlock(layout::byte(mine));
    }
}

}  // namespace

Ticket::Ticket(LockFile const& file) : file_(file), position_(place_behind_all(file)) {}

Ticket::~Ticket() {
    try {
        file_.unlock(layout::byte(position_));
    } catch (Error const&) {
        // Closing the file unlocks it, too.
    }
}

std::optional<ByteRange> Ticket::predecessor() const {
    auto const last = file_.highest_of_others({layout::queue.begin, position_});
    if (!last) return std::nullopt;
    return layout::byte(*last);
}

std::size_t Ticket::ahead() const {
    return file_.positions_of_others({layout::queue.begin, position_}).size();
}

}  // namespace sinew::lease
