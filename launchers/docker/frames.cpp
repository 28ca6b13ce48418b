// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/frames.hpp"

#include <algorithm>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch::docker {

void FrameParser::feed(std::string_view bytes, Give const& give) {
    while (broken_ || !bytes.empty()) {
        if (broken_)
            throw Unavailable("the engine's stream of a container's output consists of no frames");
        if (left_ > 0) {
            auto const piece = bytes.substr(0, left_);
            left_ -= static_cast<std::uint32_t>(piece.size());
            bytes.remove_prefix(piece.size());
            give(stream_, piece);
            continue;
        }
        auto const piece = bytes.substr(0, head_.size() - head_size_);
        std::copy(piece.begin(), piece.end(), head_.begin() + static_cast<int>(head_size_));
        head_size_ += piece.size();
        bytes.remove_prefix(piece.size());
        if (head_size_ == head_.size()) begin_frame();
    }
}

void FrameParser::begin_frame() {
    head_size_ = 0;
    auto const number = [this](std::size_t at) { return static_cast<unsigned char>(head_[at]); };
    broken_ = number(0) > static_cast<unsigned char>(Stream::system) || number(1) != 0 ||
              number(2) != 0 || number(3) != 0;
    stream_ = static_cast<Stream>(number(0));
    left_ = 0;
    for (std::size_t at = 4; at < head_.size() && !broken_; ++at) left_ = left_ << 8 | number(at);
}

}  // namespace sinew::launch::docker
