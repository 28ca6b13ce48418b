// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew {

/// MPI as a whole, as this process finds it: initialised already by the application, which then
/// keeps it and finalises it, or by us, at MPI_THREAD_MULTIPLE. Make and leave it in one thread.
///
/// The destructor does nothing: MPI_Finalize waits for the other ranks, so it is called by leave(),
/// and not at all by a rank that has lost them.
class MpiLibrary {
public:
    /// Initialises MPI if nobody did; MPI may see the arguments but not change them. Collective
    /// over the job when it initialises. Throws Unavailable when MPI is finalised already.
    explicit MpiLibrary(int argc = 0, char** argv = nullptr);
    MpiLibrary(MpiLibrary const&) = delete;
    MpiLibrary& operator=(MpiLibrary const&) = delete;

    /// Finalises MPI if we initialised it and nobody finalised it since. Collective; waits for the
    /// others without a limit.
    void leave();

    /// Whether MPI may be called: initialised, and not finalised.
    static bool usable();
    /// "Open MPI 4.1.4", "MPICH 4.0.2"; callable at any time.
    static std::string version();
    /// The part of it that a user wants, of the text that MPI_Get_library_version gives.
    static std::string version_in(std::string_view library_version);

private:
    bool ours_ = false;
};

}  // namespace sinew
