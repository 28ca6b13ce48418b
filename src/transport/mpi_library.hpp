// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew {

/// Initializes MPI, at MPI_THREAD_MULTIPLE, unless the application has done so; it must then
/// finalize it, too. Construct it and call leave() in the same thread.
///
/// The destructor does nothing: MPI_Finalize waits for the other ranks, so only leave() calls it,
/// and a rank that has lost the others does not call it.
class MpiLibrary {
public:
    /// Initializes MPI if needed; that is collective over the job. MPI cannot change the arguments.
    /// Throws Unavailable if MPI was finalized, BackendError if MPI_Init_thread fails.
    explicit MpiLibrary(int argc = 0, char** argv = nullptr);
    MpiLibrary(MpiLibrary const&) = delete;
    MpiLibrary& operator=(MpiLibrary const&) = delete;

    /// Finalizes MPI if this object initialized it and it is not finalized yet. Collective; waits
    /// for the others without a deadline.
    void leave();

    /// Returns whether MPI is initialized and not finalized.
    static bool usable();
    /// Returns "Open MPI 4.1.4" or "MPICH 4.0.2". Can be called at any time.
    static std::string version();
    /// Extracts the same from the text of MPI_Get_library_version.
    static std::string version_in(std::string_view library_version);

private:
    bool ours_ = false;
};

}  // namespace sinew
