// SPDX-License-Identifier: Apache-2.0
// From a job whose ranks wait for each other to the words of `sinew doctor --blackbox`.
#include <gmock/gmock.h>

#include "tests/launchers/run/launched.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::testing_support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BlackBoxes : public RunTest {
protected:
    /// What doctor says of a job of three ranks of the program that writes to `folder`.
    Ended diagnosis(std::string const& what) {
        Ended const job = run({"-n", "3", std::getenv("SINEW_TEST_WORLD_PROGRAM"), what, "1"},
                              {.env = {{"SINEW_BLACKBOX", folder.path()},
                                       {"SINEW_TIMEOUT", "1s"},
                                       {"SINEW_LATE_TIMEOUT", "1s"},
                                       {"SINEW_CHECK", "0"}}});
        EXPECT_NE(job.code, 0);
        EXPECT_THAT(job.err, HasSubstr("'sinew doctor --blackbox' compares the ranks"));
        return run({}, {.command = {std::getenv("SINEW_TEST_COMMAND"), "doctor", "--blackbox",
                                    folder.path()}});
    }
    TempFolder folder;
};

TEST_F(BlackBoxes, NameTheRankThatMadeAnotherCall) {
    Ended const doctor = diagnosis("differ");
    EXPECT_EQ(doctor.code, 1) << doctor.err;
    EXPECT_THAT(doctor.out,
                AllOf(HasSubstr("3 of 3 ranks have written a black box"),
                      HasSubstr("world (3 ranks): not the same call as #2"),
                      HasSubstr("ranks 0, 2: allreduce(f32 x 100000, sum)"),
                      HasSubstr("rank 1 on "), HasSubstr(": broadcast(f32 x 100000, root 0)")));
}

TEST_F(BlackBoxes, NameTheRankThatDidNotCome) {
    Ended const doctor = diagnosis("sleep");
    EXPECT_EQ(doctor.code, 1) << doctor.err;
    EXPECT_THAT(doctor.out, AllOf(HasSubstr("ranks 0, 2 entered #2 allreduce(f32 x 100000, sum)"),
                                  HasSubstr(": last was in #1 barrier()")));
}

}  // namespace
}  // namespace sinew::testing_support
