// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/manager/ids.hpp"

namespace sinew::manager {

/// What a supervisor keeps of a manager's objects, so that they can be made again in another
/// process: how they were made, their names, and their last states. Without threads, links or time.
class SnapshotStore {
public:
    using Bytes = std::vector<std::byte>;
    struct Entry {
        std::uint64_t constructor = 0;  ///< detail::TaskId; 0: only its state has arrived so far
        std::uint64_t parallel = 1;
        bool detached = false;
        std::set<std::string> names;
        std::shared_ptr<Bytes const> arguments;
        std::uint64_t file = 0;     ///< its number in the supervisor's folder; 0: it is not there
        std::uint64_t version = 0;  ///< of the state
        std::shared_ptr<Bytes const> state;
    };

    void made(ObjectId object, std::uint64_t constructor, std::uint64_t parallel, Bytes arguments);
    void detached(ObjectId object) { entries_[object].detached = true; }
    void named(ObjectId object, std::string name);
    /// Of several states, the one with the highest version counts, in whatever order they arrive.
    void state(ObjectId object, std::uint64_t version, Bytes state);
    void ended(ObjectId object) { entries_.erase(object); }
    /// Adds an object of an earlier supervisor, under an id that no other object has.
    void take_up(Entry entry);

    /// The process is dead: what had not arrived completely never will, and the next process counts
    /// its versions from 1.
    void restart();
    /// The objects that can be made again.
    std::map<ObjectId, Entry> const& entries() const { return entries_; }
    /// Null: there is none.
    Entry* find(ObjectId object);

private:
    std::map<ObjectId, Entry> entries_;
};

}  // namespace sinew::manager
