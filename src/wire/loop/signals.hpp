// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "src/wire/loop/poller.hpp"

namespace sinew::wire {

/// Calls `work` on a loop for each of these signals that this process gets. Several of one kind may
/// become one call.
///
/// The handler counts the signal and wakes every object of this class by an eventfd. A process has
/// one disposition for each signal: the first object that wants it sets ours, and the last one
/// restores the former.
class Signals final : public Loop::Handle::Body, public std::enable_shared_from_this<Signals> {
public:
    explicit Signals(std::function<void(int)> work) : work_(std::move(work)) {}
    ~Signals() override { cancel(); }
    /// Throws SystemError for a signal that cannot be handled, and if too many objects exist.
    void start(Poller& poller, std::initializer_list<int> numbers);
    void cancel() noexcept override;

private:
    struct Wanted {
        int number;
        std::uint64_t seen;  ///< how many of it were raised until now
    };
    void deliver(int event);

    std::function<void(int)> work_;
    std::vector<Wanted> wanted_;  ///< by number
    int slot_ = -1;               ///< of its eventfd; -1: none
    std::shared_ptr<Poller::Watch> watch_;
};

}  // namespace sinew::wire
