// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT as a descriptor, while it lives. For one thread, before others
/// are started.
class Signals {
public:
    Signals();
    Signals(Signals const&) = delete;
    /// Restores what was before.
    ~Signals();

    /// Readable when a signal has arrived.
    int fd() const { return fd_.get(); }
    /// Takes one signal; 0: none has arrived.
    int take();
    /// How many have arrived since the last restart_count(); takes them.
    int count();
    void restart_count() { count_ = 0; }

private:
    sigset_t before_;
    UniqueFd fd_;
    int count_ = 0, last_ = 0;
};

}  // namespace sinew::launch
