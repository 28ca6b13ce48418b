// SPDX-License-Identifier: Apache-2.0
#include "src/manager/server/dispatcher.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sinew/manager/deferred.hpp>
#include <utility>

namespace sinew::manager {
namespace {}  // namespace

ObjectId Dispatcher::add(unsigned parallel, char const* type, Call making, ObjectId again) {
    auto const id = again != 0 ? again : ids_ + 1;
    ids_ = std::max(ids_, id);
    auto& object = objects_[id];
    object.parallel = std::max(1U, parallel);
    object.type = type;
    object.holders.insert(making.client);
    object.calls.push_back(std::move(making));
    list(id, object);
    return id;
}

bool Dispatcher::arrive(ObjectId id, std::uint64_t sequence, Call call,
                        process::Reservation place) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    auto& object = found->second;
    auto& row = object.rows[call.client];
    return enqueue(id, object, row, sequence, std::move(call), std::move(place));
}

ObjectId Dispatcher::add_made(unsigned parallel, char const* type, std::shared_ptr<void> instance,
                              Client holder) {
    auto const id = ++ids_;
    auto& object = objects_[id];
    object.parallel = std::max(1U, parallel);
    object.type = type;
    object.made = true;
    object.instance = std::move(instance);
    object.holders.insert(holder);
    return id;
}

bool Dispatcher::append(ObjectId id, Call call) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    found->second.calls.push_back(std::move(call));
    list(id, found->second);
    return true;
}

void Dispatcher::skip(ObjectId id, Client client, std::uint64_t sequence,
                      process::Reservation place) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return;
    auto& row = found->second.rows[client];
    enqueue(id, found->second, row, sequence, std::nullopt, std::move(place));
}

bool Dispatcher::enqueue(ObjectId id, Object& object, Row& row, std::uint64_t sequence,
                         std::optional<Call> call, process::Reservation place) {
    if (sequence < row.next) return false;
    if (sequence > row.next)
        return row.early.emplace(sequence, Early{std::move(call), std::move(place)}).second;
    ++row.next;
    if (call) object.calls.push_back(std::move(*call));
    for (auto first = row.early.begin(); first != row.early.end() && first->first == row.next;
         first = row.early.erase(first)) {
        ++row.next;
        if (first->second.call) object.calls.push_back(std::move(*first->second.call));
    }
    list(id, object);
    return true;
}

// Queues the object if it has calls to execute or must be destroyed.
void Dispatcher::list(ObjectId id, Object& object) {
    // Until the object is constructed, only its constructor runs.
    unsigned const limit = object.made ? object.parallel : 1;
    bool const destroy = object.calls.empty() && object.batches.empty() && !wanted(object);
    if (object.listed || object.batches.size() >= limit || (object.calls.empty() && !destroy))
        return;
    object.listed = true;
    turns_.push_back(id);
}

bool Dispatcher::cancel(ObjectId id, Client client, std::uint64_t number) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    auto& object = found->second;
    auto const is_it = [&](Call const& each) {
        return each.client == client && each.number == number;
    };
    if (std::erase_if(object.calls, is_it) > 0) return true;
    for (auto& [sequence, early] : object.rows[client].early) {
        if (!early.call || !is_it(*early.call)) continue;
        early.call.reset();  // later calls are executed all the same
        return true;
    }
    if (auto const ended = end_wait(id, object, client, number)) return *ended;
    for (auto const& batch : object.batches)
        for (std::size_t i = 0; i < batch->size(); ++i) {
            if (!is_it((*batch)[i])) continue;
            if (batch->claim(i)) return true;
            batch->withdraw(i);
            return false;
        }
    return false;
}

bool Dispatcher::hold(ObjectId id, Client client) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    found->second.holders.insert(client);
    found->second.rows.erase(client);
    return true;
}

void Dispatcher::release(ObjectId id, Client client) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return;
    found->second.holders.erase(client);
    found->second.rows.erase(client);
    list(id, found->second);
}

bool Dispatcher::detach(ObjectId id) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    found->second.detached = true;
    return true;
}

void Dispatcher::lost(Client client) {
    for (auto& [id, object] : objects_) {
        auto const dropped = [client](Call const& each) {
            return each.client == client && !each.oneway && !each.makes &&
                   each.notice == ObjectEvent::none;
        };
        std::erase_if(object.calls, dropped);
        for (auto const& batch : object.batches)
            for (std::size_t i = 0; i < batch->size(); ++i)
                if (dropped((*batch)[i])) batch->claim(i);
        object.rows.erase(client);
        object.holders.erase(client);
        lose_postponed(object, client);
        list(id, object);
    }
}

std::vector<Dropped> Dispatcher::drop_all() {
    std::vector<Dropped> dropped;
    ended_ = true;
    for (auto& [id, object] : objects_) {
        for (auto const& [key, call] : object.postponed)
            if (call->claim()) dropped.push_back({call->client, call->number, true});
        object.postponed.clear();
        for (auto const& batch : object.batches)
            for (std::size_t i = 0; i < batch->size(); ++i)
                if (batch->claim(i)) drop((*batch)[i], dropped);
        drop_waiting(object, dropped);
    }
    return dropped;
}

void Dispatcher::drop(Call const& call, std::vector<Dropped>& dropped) {
    if (call.notice == ObjectEvent::none) dropped.push_back({call.client, call.number});
}

void Dispatcher::drop_waiting(Object& object, std::vector<Dropped>& dropped) {
    for (auto const& call : object.calls) drop(call, dropped);
    object.calls.clear();
    for (auto const& [client, row] : object.rows)
        for (auto const& [sequence, early] : row.early)
            if (early.call) drop(*early.call, dropped);
    object.rows.clear();
}

bool Dispatcher::publish(ObjectId id, std::string const& name) {
    auto const found = objects_.find(id);
    if (found == objects_.end() || !names_.emplace(name, id).second) return false;
    found->second.detached = true;
    return true;
}

std::optional<Dispatcher::Published> Dispatcher::find(std::string const& name) const {
    auto const named = names_.find(name);
    if (named == names_.end()) return std::nullopt;
    return Published{named->second, objects_.at(named->second).type};
}

std::optional<Work> Dispatcher::take(std::size_t in_a_row) {
    while (!turns_.empty()) {
        auto const id = turns_.front();
        turns_.pop_front();
        auto& object = objects_.at(id);
        object.listed = false;
        Work work{id, object.instance, nullptr, object.parallel == 1};
        if (object.calls.empty()) {
            if (!object.batches.empty() || wanted(object))
                continue;  // the object is held again, or its calls were cancelled
            objects_.erase(id);
            return work;
        }
        std::size_t const most = object.made && object.parallel == 1 ? in_a_row : 1;
        std::vector<Call> calls;
        calls.reserve(std::min(most, object.calls.size()));
        while (!object.calls.empty() && calls.size() < most) {
            calls.push_back(std::move(object.calls.front()));
            object.calls.pop_front();
            if (calls.back().notice == ObjectEvent::withdrawn) object.withdrawn_noted = false;
        }
        work.calls = object.batches.emplace_back(std::make_shared<Batch>(std::move(calls)));
        list(id, object);
        return work;
    }
    return std::nullopt;
}

std::vector<Dropped> Dispatcher::finished(Work const& work, std::shared_ptr<void> instance) {
    auto const id = work.object;
    auto& object = objects_.at(id);
    std::erase(object.batches, work.calls);
    if (!object.made) {
        if (!instance) {
            std::vector<Dropped> unmade;
            drop_waiting(object, unmade);
            std::erase_if(names_, [id](auto const& each) { return each.second == id; });
            if (object.listed) std::erase(turns_, id);
            objects_.erase(id);
            return unmade;
        }
        object.made = true;
        object.instance = std::move(instance);
    }
    list(id, object);
    return {};
}

std::vector<std::shared_ptr<void>> Dispatcher::take_all() {
    std::vector<std::shared_ptr<void>> instances;
    for (auto& [id, object] : objects_) instances.push_back(std::move(object.instance));
    objects_.clear();
    names_.clear();
    turns_.clear();
    return instances;
}

bool Dispatcher::is_a(ObjectId id, char const* type) const {
    auto const found = objects_.find(id);
    return found == objects_.end() ||
           found->second.type == type ||  // the usual case, except across libraries
           (type != nullptr && std::strcmp(found->second.type, type) == 0);
}

std::size_t Dispatcher::waiting() const {
    std::size_t sum = 0;
    for (auto const& [id, object] : objects_) sum += object.calls.size();
    return sum;
}

// ---- postponed calls ----------------------------------------------------------------------------

namespace {

bool hears(std::shared_ptr<void> const& instance) {
    return std::get_deleter<detail::CallerObserver>(instance) != nullptr;
}

}  // namespace

Fate Dispatcher::postpone(Work const& work, std::size_t index,
                          std::shared_ptr<Postponed> const& call, bool caller_there) {
    auto fate = Fate::waits;
    if (ended_) fate = Fate::ended;
    else if (!caller_there) fate = Fate::lost;
    else if (work.calls->withdrawn(index)) fate = Fate::cancelled;
    if (fate != Fate::waits) return call->claim() ? fate : Fate::waits;
    if (!call->claimed())
        objects_.at(work.object).postponed.emplace(std::pair(call->client, call->number), call);
    return fate;
}

void Dispatcher::answered(ObjectId id, Client client, std::uint64_t number) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return;
    found->second.postponed.erase({client, number});
    list(id, found->second);
}

// One queued notice covers all calls that are withdrawn before it is executed.
void Dispatcher::note_withdrawn(Object& object) {
    if (!hears(object.instance) || std::exchange(object.withdrawn_noted, true)) return;
    Call notice;
    notice.notice = ObjectEvent::withdrawn;
    object.calls.push_back(std::move(notice));
}

// Returns nothing if the call does not wait for a deferred answer.
std::optional<bool> Dispatcher::end_wait(ObjectId id, Object& object, Client client,
                                         std::uint64_t number) {
    auto const found = object.postponed.find({client, number});
    if (found == object.postponed.end()) return std::nullopt;
    if (!found->second->claim()) return false;
    object.postponed.erase(found);
    note_withdrawn(object);
    list(id, object);
    return true;
}

bool Dispatcher::withdraw(ObjectId id, Client client, std::uint64_t number) {
    auto const found = objects_.find(id);
    if (found == objects_.end()) return false;
    auto& object = found->second;
    if (auto const ended = end_wait(id, object, client, number)) return *ended;
    auto const is_it = [&](Call const& each) {
        return each.client == client && each.number == number;
    };
    for (auto& each : object.calls)
        if (is_it(each)) each.withdrawn = true;
    for (auto& [sequence, early] : object.rows[client].early)
        if (early.call && is_it(*early.call)) early.call->withdrawn = true;
    for (auto const& batch : object.batches)
        for (std::size_t i = 0; i < batch->size(); ++i)
            if (is_it((*batch)[i])) batch->withdraw(i);
    return false;
}

// The notice follows the client's one-way calls that have not begun.
void Dispatcher::lose_postponed(Object& object, Client client) {
    auto later = object.postponed.lower_bound({client, 0});
    while (later != object.postponed.end() && later->first.first == client)
        later = later->second->claim() ? object.postponed.erase(later) : std::next(later);
    if (object.made && !hears(object.instance)) return;
    Call notice;
    notice.notice = ObjectEvent::lost;
    notice.client = client;
    object.calls.push_back(std::move(notice));
}

}  // namespace sinew::manager
