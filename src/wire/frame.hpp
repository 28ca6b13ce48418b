// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sinew::wire {

/// Precedes each payload. docs/internals/wire.md shows the bytes.
struct FrameHeader {
    std::uint32_t length = 0;  ///< of the payload
    std::uint8_t kind = 0;
    std::uint8_t flags = 0;  ///< none yet: must be 0
    std::uint16_t stream = 0;
};

inline constexpr std::size_t frame_header_size = 8;

/// Kinds of frames that the link uses itself; users have those below `first_reserved`.
namespace frame_kind {
inline constexpr std::uint8_t first_reserved = 240, hello = 240, refusal = 241, heartbeat = 242,
                              farewell = 243;
}  // namespace frame_kind

struct Frame {
    FrameHeader header;
    std::span<std::byte const> payload;
};

std::array<std::byte, frame_header_size> encode(FrameHeader const& header);
FrameHeader decode_header(std::span<std::byte const, frame_header_size> bytes);

/// Writes numbers and text in the wire's byte order.
class ByteWriter {
public:
    template <std::unsigned_integral Number>
    void number(Number value) {
        for (std::size_t i = 0; i < sizeof value; ++i)
            bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    void raw(std::string_view text) { bytes_ += text; }
    std::span<std::byte const> bytes() const { return std::as_bytes(std::span(bytes_)); }

private:
    std::string bytes_;
};

/// Reads what a ByteWriter wrote. Beyond the end it returns zeros, and becomes false.
class ByteReader {
public:
    explicit ByteReader(std::span<std::byte const> bytes) : bytes_(bytes) {}
    template <std::unsigned_integral Number>
    Number number() {
        std::uint64_t value = 0;
        auto const raw = this->raw(sizeof(Number));
        for (std::size_t i = 0; i < raw.size(); ++i)
            value |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
        return static_cast<Number>(value);
    }
    /// Empty if fewer bytes are left.
    std::span<std::byte const> raw(std::size_t size) {
        if (size > bytes_.size()) {
            good_ = false;
            size = 0;
        }
        auto const taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return taken;
    }
    explicit operator bool() const { return good_; }

private:
    std::span<std::byte const> bytes_;
    bool good_ = true;
};

/// Finds the frames in a stream of bytes, in place.
///
/// A frame that does not fit into the buffer gets a buffer of its size, which grows as its bytes
/// arrive: a claimed length takes no memory.
class FrameReader {
public:
    explicit FrameReader(std::size_t limit) : limit_(limit) {}

    /// Applies from the next frame on.
    void limit(std::size_t largest) { limit_ = largest; }
    /// Where to put the next bytes; never empty. Invalidates the frames that were returned.
    std::span<std::byte> room();
    /// So many bytes were put there.
    void filled(std::size_t bytes) { end_ += bytes; }
    /// The next complete frame. Nothing: more bytes are needed, or there is a problem.
    std::optional<Frame> next();
    /// Why the bytes cannot be frames; empty: no problem. Final.
    std::string const& problem() const { return problem_; }

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::size_t size() const { return end_ - begin_; }
    void resize(std::size_t capacity);

    std::unique_ptr<std::byte, Free> buffer_;
    std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
    std::size_t needed_ = frame_header_size;  ///< of the frame that is incomplete
    std::size_t limit_;
    std::string problem_;
};

}  // namespace sinew::wire
