// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sinew::launch {

/// Processes that send each other messages, in simulated time. A message takes `latency` in
/// transit, and `handling` of the sender's and the receiver's time; a process handles one at a
/// time, in order of arrival. The size of messages does not matter.
class SimulatedNetwork {
public:
    using Microseconds = std::int64_t;
    using Task = std::function<void()>;
    struct Model {
        Microseconds latency = 50;
        Microseconds handling = 10;
    };
    struct Traffic {
        std::uint32_t sent = 0, received = 0;
        std::uint32_t all() const { return sent + received; }
    };

    SimulatedNetwork(int processes, Model model)
        : model_(model), busy_until_(static_cast<std::size_t>(processes)),
          traffic_(static_cast<std::size_t>(processes)) {}

    /// Calls `handle` in process `to` when the message has arrived and the process is free.
    void send(int from, int to, Task handle) {
        auto& busy = busy_until_[static_cast<std::size_t>(from)];
        busy = std::max(busy, now_) + model_.handling;
        ++traffic_[static_cast<std::size_t>(from)].sent;
        events_.push({busy + model_.latency, order_++, to, Kind::message, std::move(handle)});
    }
    /// Runs a task in this process now, without a message.
    void post(int process, Task task) {
        events_.push({now_, order_++, process, Kind::task, std::move(task)});
    }
    /// Runs until nothing is in transit.
    void run() {
        while (!events_.empty()) {
            Event event = std::move(const_cast<Event&>(events_.top()));
            events_.pop();
            now_ = event.time;
            start(std::move(event));
        }
    }
    Microseconds now() const { return now_; }
    Traffic const& traffic(int process) const {
        return traffic_[static_cast<std::size_t>(process)];
    }
    void clear_traffic() { traffic_.assign(traffic_.size(), {}); }

private:
    enum class Kind : std::uint8_t { message, task, free };
    struct Event {
        Microseconds time;
        std::uint64_t order;
        int process;
        Kind kind;
        Task task;
        bool operator<(Event const& other) const {  // the largest event is the queue's top
            return std::pair(time, order) > std::pair(other.time, other.order);
        }
    };

    Microseconds& busy_until(int process) { return busy_until_[static_cast<std::size_t>(process)]; }

    void start(Event event) {
        int const process = event.process;
        if (event.kind == Kind::free) return next(process);
        auto const line = waiting_.find(process);
        if (line != waiting_.end()) return line->second.push_back(std::move(event));
        if (busy_until(process) <= now_) return perform(event);
        waiting_[process].push_back(std::move(event));
        events_.push({busy_until(process), order_++, process, Kind::free, {}});
    }

    // Takes the next message of a free process, and determines when it is free again.
    void next(int process) {
        auto& line = waiting_.at(process);
        if (busy_until(process) <= now_) {
            Event event = std::move(line.front());
            line.pop_front();
            perform(event);
        }
        if (waiting_.at(process).empty()) waiting_.erase(process);
        else events_.push({std::max(busy_until(process), now_), order_++, process, Kind::free, {}});
    }

    void perform(Event& event) {
        if (event.kind == Kind::message) {
            ++traffic_[static_cast<std::size_t>(event.process)].received;
            busy_until(event.process) = now_ + model_.handling;
        }
        event.task();
    }

    Model model_;
    Microseconds now_ = 0;
    std::uint64_t order_ = 0;
    std::priority_queue<Event> events_;
    std::vector<Microseconds> busy_until_;
    std::unordered_map<int, std::deque<Event>> waiting_;  ///< messages for a busy process
    std::vector<Traffic> traffic_;
};

}  // namespace sinew::launch
