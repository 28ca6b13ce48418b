// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/state.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch::dashboard {
namespace {

constexpr auto pace_window = std::chrono::seconds(2);

template <class Entries>
auto from(Entries const& entries, std::uint64_t number) {
    std::vector<typename Entries::value_type> found;
    auto const first =
        std::ranges::lower_bound(entries, number, {}, [](auto const& each) { return each.number; });
    found.assign(first, entries.end());
    return found;
}

}  // namespace

std::string id_of(Pool const& pool) { return text(pool.node, '/', pool.pid, '/', pool.number); }

char const* name_of(RankState state) {
    constexpr std::array names{"starting", "running", "finished", "stopped", "failed", "lost"};
    return names[static_cast<std::size_t>(state)];
}

char const* name_of(Level level) {
    constexpr std::array names{"info", "warning", "error"};
    return names[static_cast<std::size_t>(level)];
}

// What was there before is destroyed after the lock.
template <class T>
void State::replace(Part<T>& part, T value) {
    auto next = std::make_shared<T const>(std::move(value));
    std::lock_guard const lock(mutex_);
    part.value.swap(next);
    part.version = ++view_.version;
}

void State::set(Job job) { replace(view_.job, std::move(job)); }
void State::set(Queue queue) { replace(view_.queue, std::move(queue)); }
void State::set(std::vector<Gpu> gpus) { replace(view_.gpus, std::move(gpus)); }
void State::set(std::vector<Lease> leases) { replace(view_.leases, std::move(leases)); }

void State::set(std::vector<Node> nodes, std::vector<Rank> ranks) {
    auto next_nodes = std::make_shared<std::vector<Node> const>(std::move(nodes));
    auto next_ranks = std::make_shared<std::vector<Rank> const>(std::move(ranks));
    std::lock_guard const lock(mutex_);
    view_.nodes.value.swap(next_nodes);
    view_.ranks.value.swap(next_ranks);
    view_.nodes.version = view_.ranks.version = ++view_.version;
}

void State::set(Pool pool, Time now) {
    auto const key = id_of(pool);
    auto const at = std::chrono::steady_clock::now();
    auto const ended = pool.done + pool.failed;
    std::lock_guard const lock(mutex_);
    auto& pace = paces_[key];
    if (!pace.empty() && ended < pace.back().ended) pace.clear();
    pace.push_back({at, ended});
    while (pace.size() > 2 && at - pace[1].at >= pace_window) pace.pop_front();
    std::chrono::duration<double> const span = at - pace.front().at;
    if (pace.size() > 1 && span.count() > 0 && !pool.ended)
        pool.rate = static_cast<double>(ended - pace.front().ended) / span.count();
    else pool.rate = 0;
    auto pools = *view_.pools.value;
    for (auto& loss : pool.losses) loss.time = std::min(loss.time, now);
    pools.insert_or_assign(key, std::move(pool));
    while (pools.size() > most_pools) {
        auto victim = std::ranges::find_if(
            pools, [&](auto const& each) { return each.second.ended && each.first != key; });
        if (victim == pools.end())
            victim =
                std::ranges::find_if(pools, [&](auto const& each) { return each.first != key; });
        paces_.erase(victim->first);
        pools.erase(victim);
    }
    view_.pools.value = std::make_shared<Pools const>(std::move(pools));
    view_.pools.version = ++view_.version;
}

void State::end_pools_of(std::string const& node, pid_t pid) {
    std::lock_guard const lock(mutex_);
    auto pools = *view_.pools.value;
    bool changed = false;
    for (auto& [key, pool] : pools) {
        if (pool.pid != pid || pool.node != node || pool.ended) continue;
        pool.ended = changed = true;
        pool.rate = 0;
    }
    if (!changed) return;
    view_.pools.value = std::make_shared<Pools const>(std::move(pools));
    view_.pools.version = ++view_.version;
}

void State::add_event(Level level, std::string text, Time now) {
    if (text.size() > most_line) text.resize(most_line);
    std::lock_guard const lock(mutex_);
    events_.push_back({view_.next_event++, now, level, std::move(text)});
    if (events_.size() > most_events) events_.pop_front();
    view_.first_event = events_.front().number;
    ++view_.version;
}

void State::add_output(std::optional<int> rank, int stream, std::string_view bytes, Time now) {
    add_lines(bytes, {.time = now, .rank = rank, .stream = stream});
}

void State::add_job_output(std::string const& job, int stream, std::string_view bytes, Time now) {
    add_lines(bytes, {.time = now, .stream = stream, .job = job});
}

// A piece may have many thousand lines, of which only the last are looked at.
void State::add_lines(std::string_view bytes, LogLine const& like) {
    if (bytes.ends_with('\n')) bytes.remove_suffix(1);
    auto const count = static_cast<std::size_t>(std::ranges::count(bytes, '\n')) + 1;
    auto const kept = std::min(count, most_lines);
    std::size_t begin = bytes.size();
    for (std::size_t i = 0; i < kept && begin != std::string_view::npos; ++i)
        begin = begin == 0 ? std::string_view::npos : bytes.rfind('\n', begin - 1);
    bytes.remove_prefix(begin == std::string_view::npos ? 0 : begin + 1);
    std::lock_guard const lock(mutex_);
    view_.next_line += count - kept;
    for (std::size_t i = 0; i < kept; ++i) {
        auto const end = std::min(bytes.find('\n'), bytes.size());
        auto& line = lines_.emplace_back(like);
        line.number = view_.next_line++;
        line.text = bytes.substr(0, std::min(end, most_line));
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    while (lines_.size() > most_lines) lines_.pop_front();
    view_.first_line = lines_.front().number;
    ++view_.version;
}

std::uint64_t State::version() const {
    std::lock_guard const lock(mutex_);
    return view_.version;
}

State::View State::view() const {
    std::lock_guard const lock(mutex_);
    return view_;
}

std::vector<Event> State::events_from(std::uint64_t number) const {
    std::lock_guard const lock(mutex_);
    return from(events_, number);
}

std::vector<LogLine> State::lines_from(std::uint64_t number) const {
    std::lock_guard const lock(mutex_);
    return from(lines_, number);
}

}  // namespace sinew::launch::dashboard
