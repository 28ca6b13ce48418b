// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "collectives/nccl/abi.hpp"
#include "src/base/system/shared_library.hpp"

namespace sinew::collectives::nccl {

/// NCCL, found at run time. An immutable value; thread-safe.
class Library {
public:
    /// The oldest version with communicators that do not block (2.14).
    static constexpr int oldest = 21400;
    static constexpr int first_with_revoke = 22807;
    static constexpr int first_with_all_to_all = 22803;

    /// Returns the NCCL of this process, which it looks for at the first call, in this order: the
    /// file that SINEW_NCCL_LIBRARY names (and no other then), the one that is loaded already (by
    /// PyTorch, for example: two of them in one process disturb each other), libnccl.so.2 where the
    /// dynamic loader finds it, and the folders of Python's package nvidia-nccl. Throws Unavailable,
    /// at every call, with all that was tried.
    static Library const& of_process();
    /// Does the same anew. `root` is put before the folders of Python's packages, for tests.
    static Library find(std::string const& root = "");

    Functions const& call() const { return functions_; }
    /// For example 22809.
    int version() const { return version_; }
    /// "2.28.9"
    std::string version_text() const { return version_text(version_); }
    static std::string version_text(int version);
    std::string const& path() const { return path_; }
    bool has_revoke() const { return functions_.revoke != nullptr; }
    bool has_all_to_all() const { return functions_.all_to_all != nullptr; }

    /// Returns "unhandled system error (ncclCommInitRank...: NCCL's last words)".
    std::string words(int result, Handle comm) const;
    /// Throws BackendError unless `result` is success, or in_progress.
    void check(int result, char const* function, Handle comm) const;

    /// The files that Python's package nvidia-nccl may have installed, those of an active virtual
    /// environment first.
    static std::vector<std::string> python_packages(std::string const& root = "");

private:
    explicit Library(SharedLibrary library);

    SharedLibrary library_;
    Functions functions_{};
    int version_ = 0;
    std::string path_;
};

}  // namespace sinew::collectives::nccl
