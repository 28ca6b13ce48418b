// SPDX-License-Identifier: Apache-2.0
// Items of 64 MiB to 1 GiB there and back, of 4 GiB with SINEW_TEST_LARGE=1; arguments of 1.25 GiB.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <vector>

#include "tests/process/queue/queue_support.hpp"

namespace sinew::process {
namespace {

using namespace std::chrono_literals;

int echo_large(ChildStart& start) {
    Reader reader(start.message);
    auto in = decode<Queue<std::vector<char>>>(reader);
    auto out = decode<Queue<std::vector<char>>>(reader);
    while (auto const item = in.get_for(10min)) out.put(*item);
    return 0;
}
bool const queue_large_roles_added = (add_role({"echo large items", echo_large}), true);

TEST(QueueLarge, items_arrive_whole) {
    Queue<std::vector<char>> there, back;
    auto const child = test::start("echo large items", there, back);
    constexpr std::size_t stride = 4093;
    auto const mark = [](std::size_t i) { return static_cast<char>(i % 251); };
    std::vector<std::size_t> sizes{std::size_t{64} << 20, std::size_t{1} << 30};
    if (std::getenv("SINEW_TEST_LARGE") != nullptr) sizes = {(std::size_t{4} << 30) + 5};
    for (auto const size : sizes) {
        {
            std::vector<char> item(size);
            for (std::size_t i = 0; i < size; i += stride) item[i] = mark(i);
            there.put(item);
        }
        auto const got = back.get_for(10min);
        ASSERT_TRUE(got);
        ASSERT_EQ(got->size(), size);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < size; ++i)
            wrong += (*got)[i] != (i % stride == 0 ? mark(i) : 0);
        EXPECT_EQ(wrong, 0u);
    }
    there.close();
    test::expect_success(*child);
}

void check_ends(std::vector<char> const& bytes, std::size_t size) {
    if (bytes.size() != size || bytes.front() != 'a' || bytes.back() != 'z') std::exit(1);
}

// Larger than a message of a link may be.
TEST(ProcessLarge, arguments_arrive_whole) {
    std::size_t const size = (std::size_t{5} << 28) + 7;
    std::vector<char> bytes(size);
    bytes.front() = 'a';
    bytes.back() = 'z';
    Process process(check_ends, bytes, size);
    bytes = {};
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), 0);
}

}  // namespace
}  // namespace sinew::process
