// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <sinew/detail/deadline.hpp>
#include <sinew/error.hpp>
#include <sinew/task/codec.hpp>

namespace sinew {

/// The queue is closed: it takes no more items, and all it had have been taken.
class QueueClosed : public Error {
public:
    using Error::Error;
};

namespace detail {

/// An item as it travels.
struct QueueItem {
    std::shared_ptr<void const> keeper;  ///< of the bytes
    std::span<std::byte const> bytes;
    std::uint64_t ticket = 0;  ///< for acknowledging
};

/// What the handles of one queue share in one process.
class QueueEnd {
public:
    virtual ~QueueEnd() = default;
    /// False: no room in time.
    virtual bool put(Writer item, Deadline deadline) = 0;
    /// Nothing: none in time, or closed and empty.
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
/// The queue of an encoded handle, wherever it lives.
std::shared_ptr<QueueEnd> find_queue(Reader& reader);

}  // namespace detail
}  // namespace sinew
