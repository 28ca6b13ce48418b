// SPDX-License-Identifier: Apache-2.0
// The header of C in C++: it compiles with all warnings, and its functions have C names.
#include <sinew/sinew.h>

#include <gtest/gtest.h>

TEST(CHeader, IsForCppToo) {
    sinew_options const options = SINEW_OPTIONS_INIT;
    EXPECT_EQ(options.size, sizeof options);
    EXPECT_STREQ(sinew_last_error(), "");
    EXPECT_EQ(sinew_last_error_code(), 0);
    EXPECT_EQ(sinew_barrier(nullptr, &options), SINEW_ERROR_USAGE);
    EXPECT_STRNE(sinew_last_error(), "");
}
