// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <sinew/detail/deadline.hpp>
#include <sinew/error.hpp>
#include <sinew/task/codec.hpp>

namespace sinew {

/// The queue is closed: it accepts no further items, and all its items have been taken.
class QueueClosed : public Error {
public:
    using Error::Error;
};

namespace detail {

/// An encoded item.
struct QueueItem {
    std::shared_ptr<void const> keeper;  ///< keeps the bytes alive
    std::span<std::byte const> bytes;
    std::uint64_t ticket = 0;  ///< for acknowledging
};

/// The state that all handles of one queue share in a process.
class QueueEnd {
public:
    virtual ~QueueEnd() = default;
    /// Returns false if there was no room by the deadline.
    virtual bool put(Writer item, Deadline deadline) = 0;
    /// Returns nothing if no item came by the deadline, or if the queue is closed and empty.
    virtual std::optional<QueueItem> take(Deadline deadline, bool acknowledge) = 0;
    virtual void acknowledge(std::uint64_t ticket) = 0;
    virtual void give_back(std::uint64_t ticket) = 0;
    virtual std::size_t size() = 0;
    virtual void close() = 0;
    virtual void encode_to(Writer& writer) = 0;
    /// Throws QueueClosed.
    [[noreturn]] void refuse_closed() const;
};

std::shared_ptr<QueueEnd> make_queue(std::size_t bound);
/// Decodes a handle; the queue may live in any process.
std::shared_ptr<QueueEnd> find_queue(Reader& reader);

}  // namespace detail
}  // namespace sinew
