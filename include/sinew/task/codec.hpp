// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include <sinew/error.hpp>

namespace sinew {

/// Bytes that are not a value of the type they are decoded as: they are truncated, or claim more
/// elements than they can hold. No memory was allocated beyond what the bytes could hold.
class DecodeError : public Error {
public:
    using Error::Error;
};

/// A growing buffer of encoded values. Not thread-safe.
class Writer {
public:
    void write(void const* bytes, std::size_t size) {
        if (size == 0) return;  // bytes_ may be null
        if (capacity_ - size_ < size) grow(size);
        std::memcpy(bytes_.get() + size_, bytes, size);
        size_ += size;
    }
    std::span<std::byte const> bytes() const { return {bytes_.get(), size_}; }
    std::size_t size() const { return size_; }
    /// Removes the contents; keeps the memory.
    void clear() { size_ = 0; }
    /// Replaces `size` bytes from `offset` on; they must have been written before.
    void overwrite(std::size_t offset, void const* bytes, std::size_t size) {
        std::memcpy(bytes_.get() + offset, bytes, size);
    }
    /// Removes everything after the first `size` bytes.
    void truncate(std::size_t size) { size_ = size; }

private:
    [[gnu::cold]] void grow(std::size_t wanted);
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<std::byte[], Free> bytes_;
    std::size_t size_ = 0, capacity_ = 0;
};

/// Reads encoded values in order from memory that the caller keeps alive. Not thread-safe.
class Reader {
public:
    explicit Reader(std::span<std::byte const> bytes) : bytes_(bytes) {}
    void read(void* into, std::size_t size) {
        if (size > 0) std::memcpy(into, take(size).data(), size);
    }
    /// Returns the next `size` bytes, in place. Throws DecodeError if there are fewer.
    std::span<std::byte const> take(std::size_t size) {
        if (size > bytes_.size()) cut_short(size);
        auto const taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return taken;
    }
    /// Number of bytes that have not been read.
    std::size_t left() const { return bytes_.size(); }
    /// Reads a number of elements. Throws DecodeError if the remaining bytes cannot hold so many
    /// elements of at least `least` bytes each; call it before allocating.
    std::size_t count(std::size_t least = 1);

private:
    [[noreturn, gnu::cold]] void cut_short(std::size_t wanted) const;
    std::span<std::byte const> bytes_;
};

/// Types that define their own encoding:
///   void encode_to(Writer&) const;    static T decode_from(Reader&);
/// Handles of queues and pipes do.
template <class T>
concept EncodesItself = requires(T const& value, Writer& writer, Reader& reader) {
    value.encode_to(writer);
    { T::decode_from(reader) } -> std::same_as<T>;
};

}  // namespace sinew
