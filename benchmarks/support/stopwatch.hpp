// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace sinew::bench {

class Stopwatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace sinew::bench
