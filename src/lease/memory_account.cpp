// SPDX-License-Identifier: Apache-2.0
#include "src/lease/memory_account.hpp"

#include <algorithm>
#include <deque>

namespace sinew::lease {
namespace {

std::uint64_t size(ByteRange part) { return static_cast<std::uint64_t>(part.end - part.begin); }

}  // namespace

std::vector<ByteRange> free_parts(LockFile const& file, ByteRange range) {
    std::vector<ByteRange> free;
    std::deque<ByteRange> unknown{range};
    while (!unknown.empty()) {
        auto const part = unknown.front();
        unknown.pop_front();
        if (part.begin >= part.end) continue;
        if (auto const locked = file.lock_of_others(part)) {
            unknown.push_back({part.begin, locked->begin});
            unknown.push_back({locked->end, part.end});
        } else {
            free.push_back(part);
        }
    }
    std::ranges::sort(free, {}, &ByteRange::begin);
    return free;
}

std::uint64_t total(std::vector<ByteRange> const& parts) {
    std::uint64_t sum = 0;
    for (auto const& part : parts) sum += size(part);
    return sum;
}

std::vector<ByteRange> take_from(std::vector<ByteRange> const& free, std::uint64_t bytes) {
    auto const beginning = [](ByteRange part, std::uint64_t room) {
        return ByteRange{part.begin, part.begin + static_cast<std::int64_t>(room)};
    };
    for (auto const& part : free)
        if (size(part) >= bytes) return {beginning(part, bytes)};
    std::vector<ByteRange> taken;
    for (auto const& part : free) {
        auto const room = std::min(bytes, size(part));
        if (room > 0) taken.push_back(beginning(part, room));
        bytes -= room;
    }
    return taken;
}

}  // namespace sinew::lease
