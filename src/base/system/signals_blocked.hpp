// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace sinew {

/// Blocks all signals in the calling thread during its lifetime. Threads started meanwhile inherit
/// the mask, so that the program's signal handlers do not run in them.
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
