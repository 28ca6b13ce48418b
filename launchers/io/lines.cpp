// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/lines.hpp"

#include <algorithm>

namespace sinew::launch {

LineAssembler::LineAssembler(Clock::duration patience, std::size_t longest)
    : patience_(patience), longest_(std::max<std::size_t>(longest, 1)) {}

void LineAssembler::feed(std::string_view bytes, Clock::time_point now, Sink const& sink) {
    if (bytes.empty()) return;
    auto const end = bytes.rfind('\n');
    if (end == std::string_view::npos) {
        keep(bytes, now, sink);
        return;
    }
    auto whole = bytes.substr(0, end + 1);
    // Completes the part kept from before; the other whole lines are passed on without a copy.
    if (!part_.empty()) {
        auto const first = whole.substr(0, whole.find('\n') + 1);
        part_ += first;
        whole.remove_prefix(first.size());
        give_part(sink);
    }
    if (!whole.empty()) give(whole, sink);
    keep(bytes.substr(end + 1), now, sink);
}

void LineAssembler::keep(std::string_view bytes, Clock::time_point now, Sink const& sink) {
    if (bytes.empty()) return;
    if (part_.empty()) since_ = now;
    part_ += bytes;
    if (part_.size() >= longest_) give_part(sink);
}

void LineAssembler::wait_anew(Clock::time_point now) { since_ = now; }

void LineAssembler::flush_stale(Clock::time_point now, Sink const& sink) {
    if (!part_.empty() && now - since_ >= patience_) give_part(sink);
}

void LineAssembler::finish(Sink const& sink) {
    if (!part_.empty()) give_part(sink);
    continued_ = false;
}

LineAssembler::Clock::time_point LineAssembler::due() const {
    return part_.empty() ? Clock::time_point::max() : since_ + patience_;
}

void LineAssembler::give_part(Sink const& sink) {
    std::string part;
    part.swap(part_);  // empty before the sink is called, in case it throws
    give(part, sink);
    part.clear();
    if (part_.empty()) part_.swap(part);  // reuses its memory for the next part
}

void LineAssembler::give(std::string_view bytes, Sink const& sink) {
    bool const starts = !continued_;
    bool const ends = bytes.back() == '\n';
    continued_ = !ends;
    sink({bytes, starts, ends});
}

}  // namespace sinew::launch
