// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::launch {

Signals::Signals() {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&wanted, number);
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    fd_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_) throw SystemError(text("signalfd failed (", std::strerror(errno), ")"), errno);
}

Signals::~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int Signals::count() {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        last_ = static_cast<int>(info.ssi_signo);
        ++count_;
    }
    return count_;
}

int Signals::take() {
    count();
    return std::exchange(last_, 0);
}

}  // namespace sinew::launch
