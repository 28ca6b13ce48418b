// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sinew::launch::docker {

/// Takes apart the output of a container without a terminal, as the Engine API multiplexes it: frames
/// of a head of 8 bytes (the stream, three zeros, the length in big-endian) and bytes. Keeps at most
/// a head, whatever length a frame has.
class FrameParser {
public:
    enum class Stream : std::uint8_t { in = 0, out = 1, err = 2, system = 3 };
    using Give = std::function<void(Stream, std::string_view bytes)>;

    /// Gives the pieces of output that `bytes` contain. Throws Unavailable, now and ever after, if
    /// they are no frames.
    void feed(std::string_view bytes, Give const& give);
    /// Whether the stream may end here: between two frames.
    bool between_frames() const { return head_size_ == 0 && left_ == 0 && !broken_; }

private:
    void begin_frame();

    std::array<char, 8> head_{};
    std::size_t head_size_ = 0;
    std::uint32_t left_ = 0;  ///< bytes of the present frame that are still to come
    Stream stream_ = Stream::out;
    bool broken_ = false;
};

}  // namespace sinew::launch::docker
