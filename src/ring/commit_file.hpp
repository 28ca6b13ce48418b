// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/base/state_folder.hpp"
#include "src/ring/commits.hpp"

namespace sinew::ring {

/// The last commit of a ring on disk, where it outlives the process that runs the ring.
class CommitFile {
public:
    /// Throws what StateFolder throws.
    explicit CommitFile(std::string const& folder);

    /// Reads the commit of a ring of this size. Does nothing if there is no file. Throws UsageError
    /// (another size), DecodeError, SystemError.
    void load(int size, Commits& commits) const;
    /// Returns a function that replaces the commit by this one, and throws SystemError. It may be
    /// called after the end of this object.
    std::function<void()> writing(std::uint64_t number, Commits::States states) const;

private:
    std::shared_ptr<StateFolder const> folder_;
};

}  // namespace sinew::ring
