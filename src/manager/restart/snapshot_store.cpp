// SPDX-License-Identifier: Apache-2.0
#include "src/manager/restart/snapshot_store.hpp"

#include <utility>

namespace sinew::manager {

void SnapshotStore::made(ObjectId object, std::uint64_t constructor, std::uint64_t parallel,
                         Bytes arguments) {
    auto& entry = entries_[object];
    entry.constructor = constructor;
    entry.parallel = parallel;
    entry.arguments = std::make_shared<Bytes const>(std::move(arguments));
}

void SnapshotStore::named(ObjectId object, std::string name) {
    auto& entry = entries_[object];
    entry.names.insert(std::move(name));
    entry.detached = true;
}

void SnapshotStore::state(ObjectId object, std::uint64_t version, Bytes state) {
    auto& entry = entries_[object];
    if (version < entry.version) return;
    entry.version = version;
    entry.state = std::make_shared<Bytes const>(std::move(state));
}

// Each incarnation of a manager numbers its objects from the lower end of its range of 2^40 ids.
void SnapshotStore::take_up(Entry entry) {
    constexpr ObjectId of_earlier_supervisors = ObjectId{1} << 39;
    auto const id = of_earlier_supervisors + entry.file;
    entries_[id] = std::move(entry);
}

SnapshotStore::Entry* SnapshotStore::find(ObjectId object) {
    auto const found = entries_.find(object);
    return found == entries_.end() ? nullptr : &found->second;
}

void SnapshotStore::restart() {
    std::erase_if(entries_, [](auto const& each) { return each.second.constructor == 0; });
    for (auto& [object, entry] : entries_) entry.version = 0;
}

}  // namespace sinew::manager
