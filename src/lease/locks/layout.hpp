// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "src/lease/locks/lock_file.hpp"

/// What a lock on each byte of the lock file means. Changing it separates old programs from new
/// ones, which then have the same GPU: use another name of the file instead.
namespace sinew::lease::layout {

/// Tickets: whoever has one waits until no lower one is locked. The lowest has the system lock.
inline constexpr ByteRange queue{0, std::int64_t{1} << 40};
/// A byte for each lease, as long as it is held.
inline constexpr ByteRange holders{queue.end, std::int64_t{1} << 41};

/// Shared by the leases of GPUs that go by numbers, and of those that go by UUIDs: both at once
/// might have the same GPU.
inline constexpr ByteRange by_number{holders.end, holders.end + 1};
inline constexpr ByteRange by_uuid{holders.end + 1, holders.end + 2};

constexpr ByteRange byte(std::int64_t position) { return {position, position + 1}; }
constexpr ByteRange gpu_number(int index) { return byte(holders.end + (1 << 20) + index); }
constexpr ByteRange cpu(int number) { return byte(holders.end + (1 << 30) + number); }
/// UUIDs are spread over 2^60 positions by a hash.
ByteRange gpu_uuid(std::string const& uuid);

/// A byte for each byte of the host's memory.
inline constexpr ByteRange memory{std::int64_t{1} << 61, std::int64_t{1} << 62};

}  // namespace sinew::lease::layout
