// SPDX-License-Identifier: Apache-2.0
// Items of 64 MiB to 1 GiB there and back.
#include <gmock/gmock.h>

#include <sinew/queue.hpp>
#include <vector>

#include "tests/process/queue_support.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;

int echo(ChildStart& start) {
    Reader reader(start.message);
    auto in = decode<Queue<std::vector<char>>>(reader);
    auto out = decode<Queue<std::vector<char>>>(reader);
    while (auto const item = in.get_for(10min)) out.put(*item);
    return 0;
}
bool const added = (add_role({"echo", echo}), true);

TEST(QueueLarge, items_arrive_whole) {
    Queue<std::vector<char>> there, back;
    auto const child = test::start("echo", there, back);
    for (std::size_t const size : {std::size_t{64} << 20, std::size_t{1} << 30}) {
        std::vector<char> item(size);
        for (std::size_t i = 0; i < size; i += 4093) item[i] = static_cast<char>(i % 251);
        there.put(item);
        auto const got = back.get_for(10min);
        ASSERT_TRUE(got);
        EXPECT_TRUE(*got == item);
    }
    there.close();
    test::expect_success(*child);
}

}  // namespace
}  // namespace sinew::process
