// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace sinew {

/// Writes the last collective operations of all communicators of this process, up to 4,096 of each,
/// to `file` as JSON: their numbers, arguments, times and states. `sinew doctor --blackbox FOLDER`
/// compares the files of all ranks (rank-0.json, rank-1.json, ...) and tells which rank diverged first.
///
/// With SINEW_BLACKBOX=FOLDER every rank writes its file by itself when a communicator fails, and
/// whenever it gets SIGUSR2 or is stopped by SIGTERM (unless the program handles these signals).
///
/// Thread-safe. Throws std::system_error if the file cannot be written.
void write_black_box(std::filesystem::path const& file);

}  // namespace sinew
