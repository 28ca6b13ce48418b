// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include <sinew/communicator.hpp>

namespace sinew {

/// Records when each rank was in which collective call, and in which bucket of GradientBuckets, and
/// writes the events of all ranks as one file in the trace-event format, which chrome://tracing and
/// Perfetto show. Times are those of rank 0's clock: the offset of each rank's is measured by round
/// trips when the file is written, and is right to about half of the shortest one.
///
/// A World makes one of its own if SINEW_TIMELINE names a file on rank 0, and writes it at its end.
///
/// A call takes about 0.6 us longer while it is recorded. The first 2^20 events of each rank are
/// kept; the file says how many more there were.
class Timeline {
public:
    /// From now on, calls of `comm` are recorded, and of the communicators and GradientBuckets that
    /// are made from it later. `file` matters on rank 0. Makes a communicator of its own. Collective.
    /// Throws UsageError if `comm` has a Timeline already.
    Timeline(Communicator& comm, std::filesystem::path file);
    Timeline(Timeline&&) noexcept;
    Timeline& operator=(Timeline&&) noexcept;
    /// Ends the recording of `comm`, which must exist still if it was made by the program. Not
    /// collective; writes nothing.
    ~Timeline();

    /// Writes the events so far, in place of an earlier file. Collective. Throws Error on all ranks if
    /// rank 0 cannot write; its text has the reason.
    void write();

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
