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

/// What a manager's supervisor keeps of objects that have names, where it outlives the supervisor: of each object
/// a file that tells how it was made and its names, and one with its last state.
class SnapshotFolder {
public:
    /// Reads what is there. Throws what StateFolder throws; UsageError: an object's type is none of this
    /// program's; DecodeError.
    explicit SnapshotFolder(std::string const& path);

    /// What an earlier supervisor has left, by age. Once.
    std::vector<SnapshotStore::Entry> found() { return std::move(found_); }
    /// For an object that has none.
    std::uint64_t new_number() { return ++numbers_; }
    /// Writes how it was made, and its names (`whole`), and its state if it has one. Throws SystemError.
    /// Outlives this object.
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
