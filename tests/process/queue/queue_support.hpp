// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <sinew/queue.hpp>
#include <sinew/task/encoding.hpp>
#include <span>
#include <string>
#include <vector>

#include "tests/process/support/children.hpp"

namespace sinew::process::test {

/// Starts a process of this program in a role, with these values as its message.
template <class... Values>
std::unique_ptr<Heard> start(std::string role, Values const&... values) {
    Writer writer;
    (encode(writer, values), ...);
    auto const bytes = writer.bytes();
    return std::make_unique<Heard>(ChildSpec{.role = std::move(role),
                                             .name = "a test's process",
                                             .message = {bytes.begin(), bytes.end()},
                                             .cpus = {},
                                             .env = {}});
}

/// Called at the end of a child that was not killed.
inline void expect_success(Heard& child) {
    auto const& end = child.wait_for_end();
    EXPECT_EQ(end.code, 0) << end.log;
    EXPECT_EQ(end.signal, 0) << end.log;
}

/// An item that identifies its writer.
struct Record {
    int writer = 0, number = 0;
    friend bool operator==(Record const&, Record const&) = default;
    friend auto operator<=>(Record const&, Record const&) = default;
};

}  // namespace sinew::process::test
