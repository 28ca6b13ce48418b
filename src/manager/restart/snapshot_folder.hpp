// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/state_folder.hpp"
#include "src/manager/restart/snapshot_store.hpp"

namespace sinew::manager {

/// Keeps published objects on disk, where they outlive the supervisor: for each object a file with
/// its constructor's arguments and names, and one with its last state.
class SnapshotFolder {
public:
    /// Reads what is there. Throws what StateFolder throws; UsageError (an object's type is not one
    /// of this program's); DecodeError.
    explicit SnapshotFolder(std::string const& path);

    /// The objects that an earlier supervisor has left, oldest first. Call it once.
    std::vector<SnapshotStore::Entry> found() { return std::move(found_); }
    /// A number for an object that has none.
    std::uint64_t new_number() { return ++numbers_; }
    /// Returns work that writes how the object was made and its names (`whole`), and its state if
    /// it has one. The work throws SystemError, and may run after the end of this object.
    std::function<void()> writing(SnapshotStore::Entry const& entry, bool whole) const;

    std::string path() const { return folder_->path().string(); }

private:
    void load();
    SnapshotStore::Entry read(std::uint64_t number) const;
    std::shared_ptr<StateFolder const> folder_;
    std::vector<SnapshotStore::Entry> found_;
    std::uint64_t numbers_ = 0;
};

}  // namespace sinew::manager
