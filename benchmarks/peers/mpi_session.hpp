// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::bench {

/// The level of thread support that the benchmark asks MPI for, as an application does.
enum class MpiThread : std::uint8_t { single, multiple };

constexpr std::string_view name(MpiThread level) {
    return level == MpiThread::single ? "single" : "multiple";
}

/// MPI as an application has it: initialized before the World, which then uses it as it is, and
/// finalized after the World. World alone would ask for MPI_THREAD_MULTIPLE, at which every call
/// of the MPI library takes locks that most applications do not pay for.
class MpiSession {
public:
    /// Initializes MPI if a World of this process will use it; else does nothing. `peers` are those
    /// of the command line: some need settings of the MPI library that it reads only now.
    /// Collective over the job. Throws BackendError if MPI_Init_thread fails.
    MpiSession(int argc, char** argv, MpiThread level, std::vector<std::string> const& peers);
    MpiSession(MpiSession const&) = delete;
    MpiSession& operator=(MpiSession const&) = delete;

    /// Finalizes MPI if this object initialized it. Waits for the other ranks without a deadline,
    /// so a rank that has lost them must not call it.
    void leave();

private:
    bool ours_ = false;
};

/// Returns the level that MPI provides: "single", "funneled", "serialized" or "multiple"; empty if
/// MPI is not initialized.
std::string mpi_thread_level();

}  // namespace sinew::bench
