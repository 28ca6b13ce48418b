// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <unordered_map>

#include "src/pool/protocol.hpp"

namespace sinew::pool {

/// Bytes that grow in place where the kernel can move pages.
class Blob {
public:
    Blob() = default;
    explicit Blob(std::span<std::byte const> bytes) { append(bytes, bytes.size()); }
    /// `expected`: its final size; it never takes more than twice the memory of what has arrived.
    void append(std::span<std::byte const> bytes, std::size_t expected);
    std::span<std::byte const> bytes() const { return {bytes_.get(), size_}; }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<std::byte[], Free> bytes_;
    std::size_t size_ = 0, capacity_ = 0;
};

/// Payloads that arrive in pieces.
class Transfers {
public:
    /// True: the transfer is complete, and may be taken. Throws DecodeError if the pieces do not
    /// fit.
    bool add(PieceHead const& head, std::span<std::byte const> bytes);
    bool complete(std::uint64_t transfer) const;
    Blob take(std::uint64_t transfer);
    /// Nobody will take the transfer: drops what has arrived, and what arrives later.
    void discard(std::uint64_t transfer);
    std::size_t size() const { return open_.size(); }

private:
    struct Open {
        Blob blob;
        std::uint64_t total = 0, arrived = 0;
        bool known = false, unwanted = false;
    };
    std::unordered_map<std::uint64_t, Open> open_;
};

}  // namespace sinew::pool
