// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// A collective call as a black box has it.
struct RecordedOperation {
    std::uint64_t sequence = 0;  ///< its number on the communicator, from 1
    std::string call;            ///< "allreduce(f32 x 1000, sum)"
    bool running = false;
    std::optional<std::int64_t> entered;  ///< Unix time in ns by the rank's host, where it was read
};

/// A communicator as one of its ranks has it.
struct RecordedCommunicator {
    std::string name;                ///< the same on all ranks
    int rank = 0;                    ///< of the one that wrote this, in the communicator
    std::vector<std::string> hosts;  ///< by rank
    std::uint64_t entered = 0;       ///< number of the last operation that this rank entered
    bool inside = false;             ///< and has not left
    std::vector<RecordedOperation> operations;  ///< by number; earlier ones were dropped
};

/// What a process has written.
struct BlackBoxFile {
    std::string path;
    int rank = 0, size = 0;
    std::string host, reason;
    std::int64_t written = 0;  ///< Unix time in ns
    std::vector<RecordedCommunicator> communicators;
};

/// Parses a file of src/comm/black_box. Throws UsageError naming `path` if it is not one.
BlackBoxFile parse_black_box(std::string_view text, std::string const& path);

/// Reads all files rank-*.json of a folder, by rank. Throws UsageError if there is none, or naming
/// one that is no black box.
std::vector<BlackBoxFile> read_black_boxes(std::filesystem::path const& folder);

}  // namespace sinew::launch
