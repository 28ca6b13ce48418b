// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <sinew/pool/options.hpp>

#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {

/// G15 (Fiber): nothing of a pool remains when a test has ended.
struct PoolTest : testing::Test {
    static PoolOptions quiet() {
        PoolOptions options;
        options.progress = Progress::off;
        return options;
    }
    /// For pools whose workers are killed at any time; deaths during the start do not mean that
    /// none can be started.
    static PoolOptions sturdy() {
        auto options = quiet();
        options.failing_starts = 1000;
        return options;
    }
    LeakCheck leaks;
};

}  // namespace sinew::testing_support
