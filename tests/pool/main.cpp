// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ranges>
#include <sinew/init.hpp>
#include <sinew/pool.hpp>
#include <string_view>
#include <thread>

namespace {

// A pool at work, for a test that kills it: a byte says that its workers are there.
int be_a_master(int end) {
    sinew::Pool pool(2);
    pool.wait_until_workers_up();
    auto const hold = pool.map_async(
        [](int fd) {
            std::this_thread::sleep_for(std::chrono::seconds(60));
            return fd;
        },
        std::vector(2, end));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (::write(end, "!", 1) != 1) return 1;
    hold.wait();
    return 0;
}

// A pool at a task that takes longer than a worker of another host would do without its master, for a
// test that stops the master meanwhile.
int be_a_stopped_master(int end) {
    sinew::Pool pool(1);
    sinew::TaskOptions once;
    once.at_most_once = true;
    pool.wait_until_workers_up();
    auto const result = pool.with(once).apply_async(
        [](int answer) {
            std::this_thread::sleep_for(std::chrono::seconds(9));
            return answer;
        },
        42);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (::write(end, "!", 1) != 1) return 2;
    return result.get() == 42 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    if (argc == 3 && argv[1] == std::string_view("--be-a-master"))
        return be_a_master(std::atoi(argv[2]));
    if (argc == 3 && argv[1] == std::string_view("--be-a-stopped-master"))
        return be_a_stopped_master(std::atoi(argv[2]));
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
