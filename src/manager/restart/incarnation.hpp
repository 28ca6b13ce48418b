// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <sinew/manager/persistence.hpp>
#include <sinew/task/encoding.hpp>

#include "src/process/rpc/process_address.hpp"

namespace sinew::manager {

/// Identifies a process of a manager that can be restarted, and its supervisor. Handles contain it,
/// so that they can find the next process.
struct Incarnation {
    process::ProcessAddress supervisor;
    std::uint64_t lineage = 0;  ///< number among its supervisor's managers
    std::uint32_t number = 0, most_restarts = 0;
    Checkpoints checkpoints = {};
    /// Proves the messages between supervisor and process; not in handles.
    std::uint64_t key = 0;

    /// There will be no other process.
    bool is_last() const { return number >= most_restarts; }

    void encode_to(Writer& writer) const {
        supervisor.encode_to(writer);
        encode(writer, lineage);
        encode(writer, number);
        encode(writer, most_restarts);
        encode(writer, checkpoints.every_calls);
        encode(writer, static_cast<std::int64_t>(checkpoints.interval.count()));
    }
    static Incarnation decode_from(Reader& reader) {
        Incarnation incarnation;
        incarnation.supervisor = process::ProcessAddress::decode_from(reader);
        incarnation.lineage = decode<std::uint64_t>(reader);
        incarnation.number = decode<std::uint32_t>(reader);
        incarnation.most_restarts = decode<std::uint32_t>(reader);
        incarnation.checkpoints.every_calls = decode<std::uint64_t>(reader);
        incarnation.checkpoints.interval = std::chrono::nanoseconds(decode<std::int64_t>(reader));
        return incarnation;
    }
};

}  // namespace sinew::manager
