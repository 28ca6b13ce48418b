// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// A place in the queue of all who ask for a lease. The queue consists of locks alone: a process
/// that dies leaves it at once.
class Ticket {
public:
    /// Takes the place behind all others. Throws SystemError.
    explicit Ticket(LockFile const& file);
    Ticket(Ticket const&) = delete;
    ~Ticket();

    /// The lock of the last one before this ticket; none: this one is first.
    std::optional<ByteRange> predecessor() const;
    /// How many are before this one.
    std::size_t ahead() const;

private:
    LockFile const& file_;
    std::int64_t position_;
};

}  // namespace sinew::lease
