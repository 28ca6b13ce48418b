// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/output_log.hpp"

#include <algorithm>

namespace sinew::launch {

// What a record takes besides its bytes counts too, or short lines would take ten times as much.
std::size_t OutputLog::cost(OutputRecord const& record) {
    return record.bytes.size() + sizeof(OutputRecord);
}

void OutputLog::append(OutputRecord record) {
    if (record.bytes.empty()) return;
    auto const added = cost(record);
    records_.push_back(std::move(record));
    size_ += added;
    history_size_ += added;
    trim();
}

void OutputLog::trim() {
    while (history_size_ > history_)
        history_size_ -= cost(records_[static_cast<std::size_t>(history_first_++ - first_)]);
    auto const limit = readers_.empty() ? history_ : std::max(history_, window_);
    while (size_ > limit) {
        auto const& oldest = records_.front();
        for (auto* const reader : readers_) {
            if (reader->next != first_) continue;
            if (reader->wants(oldest.rank)) reader->missed += oldest.bytes.size() - reader->offset;
            reader->offset = 0;
            ++reader->next;
        }
        size_ -= cost(oldest);
        records_.pop_front();
        ++first_;
    }
}

void OutputLog::open(Reader& reader, std::optional<int> tail) {
    readers_.push_back(&reader);
    reader.next = history_first_;
    if (!tail) return;
    auto const last = end();
    reader.next = last;
    // Backward, until enough lines have begun.
    for (auto at = last, begun = std::uint64_t{0}; at > history_first_;) {
        auto const& record = records_[static_cast<std::size_t>(--at - first_)];
        if (!reader.wants(record.rank)) continue;
        for (std::size_t i = record.bytes.size(); i > 0;) {
            --i;
            bool const begins = i == 0 ? record.starts_line : record.bytes[i - 1] == '\n';
            if (!begins) continue;
            if (begun == static_cast<std::uint64_t>(*tail)) return;
            ++begun;
            reader.next = at;
            reader.offset = i;
        }
    }
}

void OutputLog::close(Reader& reader) {
    std::erase(readers_, &reader);
    trim();
}

std::optional<OutputLog::Piece> OutputLog::read(Reader& reader) const {
    while (reader.next < end()) {
        auto const& record = records_[static_cast<std::size_t>(reader.next++ - first_)];
        auto const offset = std::exchange(reader.offset, 0);
        if (!reader.wants(record.rank)) continue;
        auto bytes = record.piece();
        bytes.bytes.remove_prefix(offset);
        if (offset > 0) bytes.starts_line = true;
        return Piece{&record, bytes};
    }
    return std::nullopt;
}

}  // namespace sinew::launch
