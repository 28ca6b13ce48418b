// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace sinew {

/// Blocks all signals in this thread while it exists, also when something throws: a thread that is
/// started meanwhile inherits that, so that no handler of the program's runs in it.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(SignalsBlocked const&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

}  // namespace sinew
