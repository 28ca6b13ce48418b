// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace sinew::process {

/// A message of a pipe as it arrives: its length (8 bytes) and its bytes. Never reads beyond the
/// message, so that the descriptor is readable as long as there is another. A claimed length
/// allocates 1 MiB at most.
class PipeMessage {
public:
    /// Where to read the next bytes to.
    std::span<std::byte> room() {
        if (got_ < sizeof size_) return std::as_writable_bytes(std::span(&size_, 1)).subspan(got_);
        auto const has = got_ - sizeof size_;
        if (has == body_.size())
            body_.resize(static_cast<std::size_t>(
                std::min<std::uint64_t>(size_, std::max(has * 2, first_room))));
        return std::span(body_).subspan(has);
    }
    void filled(std::size_t bytes) { got_ += bytes; }
    bool whole() const { return got_ >= sizeof size_ && got_ - sizeof size_ == size_; }
    std::vector<std::byte> take() {
        got_ = 0;
        return std::exchange(body_, {});
    }
    /// What has arrived of a message that is incomplete, or was not taken.
    std::vector<std::byte> begun() const {
        std::vector<std::byte> bytes(got_);
        auto const head = std::min(got_, sizeof size_);
        if (got_ > 0) std::memcpy(bytes.data(), &size_, head);
        if (got_ > head) std::memcpy(bytes.data() + head, body_.data(), got_ - head);
        return bytes;
    }
    /// Continues a message of which another end has received these bytes.
    void begin_with(std::span<std::byte const> bytes) {
        while (!bytes.empty() && !whole()) {
            auto const into = room();
            auto const count = std::min(into.size(), bytes.size());
            std::memcpy(into.data(), bytes.data(), count);
            filled(count);
            bytes = bytes.subspan(count);
        }
    }

private:
    static constexpr std::size_t first_room = std::size_t{1} << 20;
    std::uint64_t size_ = 0;
    std::size_t got_ = 0;  ///< of size and body
    std::vector<std::byte> body_;
};

}  // namespace sinew::process
