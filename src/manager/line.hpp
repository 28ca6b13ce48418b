// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <sinew/encoding.hpp>
#include <sinew/keeping.hpp>

#include "src/process/queue_address.hpp"

namespace sinew::manager {

/// Of a process of a manager that is started anew when it dies: which one it is, and who makes the next.
/// Handles carry it, so that they find that.
struct Line {
    process::ProcessAddress maker;
    std::uint64_t lineage = 0;  ///< of its maker's managers
    std::uint32_t incarnation = 0, most_restarts = 0;
    Checkpoints checkpoints = {};
    /// By which the maker and the process know each other's letters; not in handles.
    std::uint64_t key = 0;

    /// There will be no other process.
    bool is_last() const { return incarnation >= most_restarts; }

    void encode_to(Writer& writer) const {
        maker.encode_to(writer);
        encode(writer, lineage);
        encode(writer, incarnation);
        encode(writer, most_restarts);
        encode(writer, checkpoints.every_calls);
        encode(writer, static_cast<std::int64_t>(checkpoints.interval.count()));
    }
    static Line decode_from(Reader& reader) {
        Line line;
        line.maker = process::ProcessAddress::decode_from(reader);
        line.lineage = decode<std::uint64_t>(reader);
        line.incarnation = decode<std::uint32_t>(reader);
        line.most_restarts = decode<std::uint32_t>(reader);
        line.checkpoints.every_calls = decode<std::uint64_t>(reader);
        line.checkpoints.interval = std::chrono::nanoseconds(decode<std::int64_t>(reader));
        return line;
    }
};

}  // namespace sinew::manager
