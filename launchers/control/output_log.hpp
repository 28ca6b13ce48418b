// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/io/output_record.hpp"

namespace sinew::launch {

/// The last output of a job, and who is reading it. Keeps `history` bytes for readers to come, and
/// while there are readers at least `window` bytes for them. A reader that falls further behind
/// misses output, and can learn how much. Pure: no sockets, no clock.
class OutputLog {
public:
    /// Reads on from its place. Must be closed before it is destroyed.
    struct Reader {
        std::optional<std::set<int>> ranks;  ///< no value: all
        std::uint64_t next = 0;              ///< number of the next record to read
        std::size_t offset = 0;              ///< of that record's bytes, are left out
        std::uint64_t missed = 0;            ///< bytes that were dropped before it read them
        bool wants(int rank) const { return !ranks || ranks->contains(rank); }
    };

    explicit OutputLog(std::size_t history, std::size_t window = std::size_t{4} << 20)
        : history_(history), window_(window) {}

    void append(OutputRecord record);
    /// Puts the reader at the beginning of what is kept, or at the last `tail` lines of its ranks.
    void open(Reader& reader, std::optional<int> tail);
    void close(Reader& reader);
    /// Returns the reader's next record, or nothing; `next` moves on. The view of its bytes is
    /// valid until the next `append`.
    struct Piece {
        OutputRecord const* record;
        LineAssembler::Piece bytes;
    };
    std::optional<Piece> read(Reader& reader) const;
    std::size_t size() const { return size_; }
    /// The number of the next record to be appended.
    std::uint64_t end() const { return first_ + records_.size(); }

private:
    static std::size_t cost(OutputRecord const& record);
    void trim();

    std::size_t const history_, window_;
    std::deque<OutputRecord> records_;
    std::uint64_t first_ = 0;  ///< number of the first record
    std::size_t size_ = 0;     ///< of all records
    std::uint64_t history_first_ = 0;
    std::size_t history_size_ = 0;  ///< of those from history_first_
    std::vector<Reader*> readers_;
};

}  // namespace sinew::launch
