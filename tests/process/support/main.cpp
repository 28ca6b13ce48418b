// SPDX-License-Identifier: Apache-2.0
// main() of test programs whose processes run the program again.
#include <gmock/gmock.h>

#include <sinew/init.hpp>

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
