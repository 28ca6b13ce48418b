// SPDX-License-Identifier: Apache-2.0
#include "src/wire/frame.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

// One read has room for many small frames, or for one of 64 KiB with its header.
constexpr std::size_t usual_capacity = std::size_t{128} << 10;
// A buffer up to here is kept for the next large frame.
constexpr std::size_t kept_capacity = std::size_t{1} << 20;

}  // namespace

std::array<std::byte, frame_header_size> encode(FrameHeader const& header) {
    std::array<std::byte, frame_header_size> bytes;
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(header.length >> (8 * i));
    bytes[4] = static_cast<std::byte>(header.kind);
    bytes[5] = static_cast<std::byte>(header.flags);
    bytes[6] = static_cast<std::byte>(header.stream);
    bytes[7] = static_cast<std::byte>(header.stream >> 8);
    return bytes;
}

FrameHeader decode_header(std::span<std::byte const, frame_header_size> bytes) {
    auto const at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    FrameHeader header;
    header.length = at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
    header.kind = static_cast<std::uint8_t>(at(4));
    header.flags = static_cast<std::uint8_t>(at(5));
    header.stream = static_cast<std::uint16_t>(at(6) | at(7) << 8);
    return header;
}

// Uses realloc, which moves large blocks by remapping pages.
void FrameReader::resize(std::size_t capacity) {
    auto* const moved = static_cast<std::byte*>(std::realloc(buffer_.get(), capacity));
    if (moved == nullptr) throw std::bad_alloc();
    (void)buffer_.release();
    buffer_.reset(moved);
    capacity_ = capacity;
}

std::span<std::byte> FrameReader::room() {
    if (size() == 0) {
        begin_ = end_ = 0;
        if (capacity_ > kept_capacity) {
            buffer_.reset();
            capacity_ = 0;
        }
        if (capacity_ == 0) resize(usual_capacity);
    }
    if (begin_ > 0 && (needed_ > capacity_ - begin_ || capacity_ - end_ < capacity_ / 2)) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, size());
        end_ -= begin_;
        begin_ = 0;
    }
    // The buffer is full: grows to at most twice the arrived bytes, and at most the frame's size.
    if (end_ == capacity_) resize(std::min(std::max(needed_, capacity_ + 1), 2 * capacity_));
    return {buffer_.get() + end_, capacity_ - end_};
}

std::optional<Frame> FrameReader::next() {
    needed_ = frame_header_size;
    if (size() < needed_ || !problem_.empty()) return std::nullopt;
    std::byte const* const bytes = buffer_.get() + begin_;
    Frame frame;
    frame.header = decode_header(std::span<std::byte const, frame_header_size>(bytes, 8));
    if (frame.header.length > limit_) {
        problem_ = text("a frame of ", frame.header.length, " bytes (the limit is ", limit_, ")");
        return std::nullopt;
    }
    if (frame.header.flags != 0) {
        problem_ = text("a frame with unknown flags ", +frame.header.flags);
        return std::nullopt;
    }
    needed_ += frame.header.length;
    if (size() < needed_) return std::nullopt;
    frame.payload = {bytes + frame_header_size, frame.header.length};
    begin_ += needed_;
    needed_ = frame_header_size;
    return frame;
}

}  // namespace sinew::wire
