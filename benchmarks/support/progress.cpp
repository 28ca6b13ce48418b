// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace sinew::bench {

Progress::Progress(bool enabled) : enabled_(enabled && ::isatty(STDERR_FILENO) != 0) {}

void Progress::show(std::string const& words) {
    auto const now = std::chrono::steady_clock::now();
    if (!enabled_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\r\033[K%s", words.c_str());
    std::fflush(stderr);
}

void Progress::clear() {
    if (!shown_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_ = false;
}

}  // namespace sinew::bench
