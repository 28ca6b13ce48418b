// SPDX-License-Identifier: Apache-2.0
#include "src/manager/escrow.hpp"

#include <utility>

namespace sinew::manager {
namespace {

// Small states follow one another; of large ones there is one at a time.
constexpr std::size_t enough_under_way = std::size_t{256} << 10;

}  // namespace

void Escrow::add(ObjectId id, bool can_save, std::uint64_t every) {
    auto& object = objects_[id];
    object.can_save = can_save;
    object.every = every;
}

bool Escrow::can_save(ObjectId id) const {
    auto const found = objects_.find(id);
    return found != objects_.end() && found->second.can_save;
}

bool Escrow::end(ObjectId id) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    found->second.ended = true;
    if (found->second.records > 0) return false;
    objects_.erase(found);
    return true;
}

Escrow::Record Escrow::sent(ObjectId id) {
    auto const record = ++records_;
    under_way_[record].object = id;
    if (auto const found = objects_.find(id); found != objects_.end()) ++found->second.records;
    return record;
}

Escrow::Record Escrow::sent_made(ObjectId id) {
    auto const record = sent(id);
    if (auto const found = objects_.find(id); found != objects_.end()) found->second.made = record;
    return record;
}

Escrow::Decision Escrow::executed(ObjectId id, std::uint64_t calls, Saves saves,
                                  std::shared_ptr<Parcel> const& parcel) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return {};
    auto& object = found->second;
    depend(parcel, {object.made});
    if (!object.can_save) return {};
    object.since += calls;
    bool const changed = object.since > 0 || !object.waiting.empty();
    bool const due = saves == Saves::yes || (saves == Saves::if_changed && changed) ||
                     (object.every > 0 && object.since >= object.every);
    if (!due) {
        // Behind a state that may be lost, it would be one answered call too many.
        if (object.every > 0 && !object.states.empty())
            depend(parcel, {object.states.rbegin()->first});
        return {};
    }
    if (object.bytes >= enough_under_way) return hold(object, parcel);
    object.since = 0;
    auto const record = sent(id);
    object.states.emplace(record, 0);
    depend(parcel, {record});
    auto& parcels = under_way_.at(record).parcels;
    for (auto& each : std::exchange(object.waiting, {})) parcels.push_back(std::move(each));
    return {Decision::Kind::save, record};
}

Escrow::Decision Escrow::hold(Object& object, std::shared_ptr<Parcel> const& parcel) {
    object.waiting.push_back(parcel);
    ++parcel->missing;
    return {Decision::Kind::hold, 0};
}

void Escrow::saved(ObjectId id, Record record, std::size_t bytes) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return;
    found->second.states[record] = bytes;
    found->second.bytes += bytes;
}

void Escrow::depend(std::shared_ptr<Parcel> const& parcel, std::vector<Record> const& records) {
    for (auto const record : records) {
        auto const found = under_way_.find(record);
        if (found == under_way_.end()) continue;
        found->second.parcels.push_back(parcel);
        ++parcel->missing;
    }
}

Escrow::Kept Escrow::kept(Record record) {
    Kept kept;
    auto const found = under_way_.find(record);
    if (found == under_way_.end()) return kept;
    auto const sent = std::move(found->second);
    under_way_.erase(found);
    for (auto const& parcel : sent.parcels)
        if (--parcel->missing == 0) kept.leave.push_back(parcel);
    auto const owner = objects_.find(sent.object);
    if (owner == objects_.end()) return kept;
    auto& object = owner->second;
    if (auto const state = object.states.find(record); state != object.states.end()) {
        object.bytes -= state->second;
        object.states.erase(state);
    }
    if (!object.waiting.empty() && object.bytes < enough_under_way) kept.save = sent.object;
    if (--object.records > 0 || !object.ended) return kept;
    kept.ended = sent.object;
    objects_.erase(owner);
    return kept;
}

Escrow::Parcels Escrow::open() {
    std::set<std::shared_ptr<Parcel>> all;
    for (auto const& [record, sent] : under_way_)
        all.insert(sent.parcels.begin(), sent.parcels.end());
    for (auto const& [id, object] : objects_)
        all.insert(object.waiting.begin(), object.waiting.end());
    under_way_.clear();
    objects_.clear();
    return {all.begin(), all.end()};
}

std::vector<ObjectId> Escrow::changed() const {
    std::vector<ObjectId> found;
    for (auto const& [id, object] : objects_)
        if (object.can_save && object.since > 0) found.push_back(id);
    return found;
}

}  // namespace sinew::manager
