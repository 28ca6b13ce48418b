// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/output_commit.hpp"

#include <set>
#include <utility>

namespace sinew::manager {
namespace {

// Bytes of states in flight per object: several small states fit, but only one large one.
constexpr std::size_t enough_under_way = std::size_t{256} << 10;

}  // namespace

void OutputCommit::add(ObjectId id, bool can_save, std::uint64_t every) {
    auto& object = objects_[id];
    object.can_save = can_save;
    object.every = every;
}

bool OutputCommit::can_save(ObjectId id) const {
    auto const found = objects_.find(id);
    return found != objects_.end() && found->second.can_save;
}

bool OutputCommit::end(ObjectId id) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    found->second.ended = true;
    if (found->second.records > 0) return false;
    objects_.erase(found);
    return true;
}

OutputCommit::Record OutputCommit::sent(ObjectId id) {
    auto const record = ++records_;
    under_way_[record].object = id;
    if (auto const found = objects_.find(id); found != objects_.end()) ++found->second.records;
    return record;
}

OutputCommit::Record OutputCommit::sent_made(ObjectId id) {
    auto const record = sent(id);
    if (auto const found = objects_.find(id); found != objects_.end()) found->second.made = record;
    return record;
}

OutputCommit::Decision OutputCommit::executed(ObjectId id, std::uint64_t calls, Saves saves,
                                              std::shared_ptr<HeldReplies> const& held) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return {};
    auto& object = found->second;
    depend(held, {object.made});
    if (!object.can_save) return {};
    object.since += calls;
    bool const changed = object.since > 0 || !object.waiting.empty();
    bool const due = saves == Saves::yes || (saves == Saves::if_changed && changed) ||
                     (object.every > 0 && object.since >= object.every);
    if (!due) {
        // If the state in flight were lost, this answer would be one more than may be missing.
        if (object.every > 0 && !object.states.empty())
            depend(held, {object.states.rbegin()->first});
        return {};
    }
    if (object.bytes >= enough_under_way) return hold(object, held);
    object.since = 0;
    auto const record = sent(id);
    object.states.emplace(record, 0);
    depend(held, {record});
    auto& depending = under_way_.at(record).held;
    for (auto& each : std::exchange(object.waiting, {})) depending.push_back(std::move(each));
    return {Decision::Kind::save, record};
}

OutputCommit::Decision OutputCommit::hold(Object& object,
                                          std::shared_ptr<HeldReplies> const& held) {
    object.waiting.push_back(held);
    ++held->missing;
    return {Decision::Kind::hold, 0};
}

void OutputCommit::saved(ObjectId id, Record record, std::size_t bytes) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return;
    found->second.states[record] = bytes;
    found->second.bytes += bytes;
}

void OutputCommit::depend(std::shared_ptr<HeldReplies> const& held,
                          std::vector<Record> const& records) {
    for (auto const record : records) {
        auto const found = under_way_.find(record);
        if (found == under_way_.end()) continue;
        found->second.held.push_back(held);
        ++held->missing;
    }
}

OutputCommit::Kept OutputCommit::kept(Record record) {
    Kept kept;
    auto const found = under_way_.find(record);
    if (found == under_way_.end()) return kept;
    auto const sent = std::move(found->second);
    under_way_.erase(found);
    for (auto const& held : sent.held)
        if (--held->missing == 0) kept.leave.push_back(held);
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

OutputCommit::HeldList OutputCommit::open() {
    std::set<std::shared_ptr<HeldReplies>> all;
    for (auto const& [record, sent] : under_way_) all.insert(sent.held.begin(), sent.held.end());
    for (auto const& [id, object] : objects_)
        all.insert(object.waiting.begin(), object.waiting.end());
    under_way_.clear();
    objects_.clear();
    return {all.begin(), all.end()};
}

std::vector<ObjectId> OutputCommit::changed() const {
    std::vector<ObjectId> found;
    for (auto const& [id, object] : objects_)
        if (object.can_save && object.since > 0) found.push_back(id);
    return found;
}

}  // namespace sinew::manager
