// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

namespace sinew::testing_support {

/// The workers that this process has started, for its pool or its node.
std::vector<pid_t> own_workers();

/// A thread that disturbs this process's workers during its lifetime.
class Havoc {
public:
    struct Plan {
        enum class Kind { none, kill, throttle } kind = Kind::none;
        /// The initial period; it grows by a tenth each time, so that jobs end on slow machines,
        /// too.
        std::chrono::milliseconds period{};
        std::size_t victims = 1;  ///< workers at a time, chosen at random
    };
    explicit Havoc(Plan const& plan);
    Havoc(Havoc const&) = delete;
    ~Havoc();

private:
    bool over_within(std::chrono::milliseconds time);
    void kill(Plan const& plan);
    void throttle();

    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace sinew::testing_support
