// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <sinew/init.hpp>
#include <sinew/ring.hpp>
#include <string_view>

namespace {

// A ring at work, for a test that kills it: its members' pids are lines on standard output.
int be_a_parent() {
    sinew::Ring ring(3, [](sinew::RingMember& me) {
        double value = 1;
        me.communicator().allreduce(std::span(&value, 1), sinew::sum);
        std::printf("%d\n", ::getpid());
        std::fflush(stdout);
        for (;;) {
            if (me.rank() == 0) ::pause();
            me.communicator().allreduce(std::span(&value, 1), sinew::sum);
        }
    });
    ring.run();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    if (argc == 2 && argv[1] == std::string_view("--be-a-parent")) return be_a_parent();
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
