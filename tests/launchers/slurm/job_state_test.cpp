// SPDX-License-Identifier: Apache-2.0
// What is understood of `scontrol show job`.
#include "launchers/slurm/job_state.hpp"

#include <gmock/gmock.h>

#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

using testing::HasSubstr;

JobState of(std::string const& state, std::string const& code = "0:0") {
    auto const job = parse_job(text("JobId=7 JobName=train UserId=me(1) JobState=", state,
                                    " Reason=None Restarts=2 BatchFlag=1 ExitCode=", code,
                                    " TimeLimit=00:10:00 BatchHost=n1 Command=./x JobState=NO"));
    EXPECT_TRUE(job);
    return job.value_or(JobState());
}

TEST(SlurmJobState, IsParsed) {
    auto const job = of("RUNNING");
    EXPECT_EQ(job.id, "7");
    EXPECT_EQ(job.state, "RUNNING");
    EXPECT_EQ(job.reason, "None");
    EXPECT_EQ(job.batch_host, "n1");
    EXPECT_EQ(job.restarts, 2);
    EXPECT_FALSE(job.waits() || job.ended());
    EXPECT_TRUE(of("PENDING").waits());
    EXPECT_FALSE(of("COMPLETING").ended());
    EXPECT_FALSE(parse_job("slurm_load_jobs error: Invalid job id specified"));
    EXPECT_FALSE(parse_job(""));
    EXPECT_FALSE(parse_job("JobId="));
    EXPECT_FALSE(parse_job("JobId=7 JobName=x"));
}

TEST(SlurmJobState, HasTheExitCodeOfTheLauncher) {
    struct Row {
        char const *state, *code;
        int expected;
    };
    for (auto const& row :
         {Row{"COMPLETED", "0:0", 0}, Row{"FAILED", "3:0", 3}, Row{"FAILED", "0:9", 137},
          Row{"TIMEOUT", "0:15", 124}, Row{"CANCELLED", "0:15", 143}, Row{"NODE_FAIL", "0:0", 125},
          Row{"PREEMPTED", "0:0", 125}, Row{"OUT_OF_MEMORY", "0:125", 137}}) {
        auto const job = of(row.state, row.code);
        EXPECT_TRUE(job.ended()) << row.state;
        EXPECT_EQ(exit_code_of(job), row.expected) << row.state;
    }
}

TEST(SlurmJobState, SaysWhatSlurmHasEndedAndWhy) {
    EXPECT_EQ(explain(of("COMPLETED")), "");
    EXPECT_EQ(explain(of("FAILED", "1:0")), "");
    EXPECT_EQ(explain(of("TIMEOUT")),
              "Slurm job 7: its time limit has passed (TIMEOUT, 00:10:00). Ask for more by --time");
    // While its processes are ended.
    auto completing = of("COMPLETING");
    EXPECT_EQ(explain(completing), "");
    completing.left = std::chrono::seconds(-3);
    EXPECT_EQ(explain(completing), explain(of("TIMEOUT")));
    EXPECT_THAT(explain(of("OUT_OF_MEMORY")), HasSubstr("--mem-per-cpu"));
    EXPECT_THAT(explain(of("NODE_FAIL")), HasSubstr("--requeue"));
}

TEST(SlurmJobState, KnowsHowLongTheJobMayRun) {
    auto const left = [](std::string const& run, std::string const& limit) {
        return parse_job(text("JobId=7 JobState=RUNNING RunTime=", run, " TimeLimit=", limit, " "))
            ->left;
    };
    EXPECT_EQ(left("00:00:20", "00:01:00"), std::chrono::seconds(40));
    EXPECT_EQ(left("1-00:00:00", "1-01:00:05"), std::chrono::seconds(3605));
    EXPECT_EQ(left("00:02:00", "00:01:00"), std::chrono::seconds(-60));
    EXPECT_FALSE(left("00:00:20", "UNLIMITED"));
    EXPECT_FALSE(left("00:00:20", "Partition_Limit"));
    EXPECT_FALSE(left("x", "00:01:00"));
}

TEST(SlurmJobState, TellsASignalBeforeTheLimit) {
    using std::chrono::seconds;
    auto job = of("RUNNING");
    EXPECT_EQ(explain_signal(job, seconds(60)), "");  // it has no limit
    job.left = seconds(119);
    EXPECT_THAT(explain_signal(job, seconds(60)), HasSubstr("before its time limit (00:10:00)"));
    EXPECT_EQ(explain_signal(job, std::nullopt), "");
    job.left = seconds(130);
    EXPECT_EQ(explain_signal(job, seconds(60)), "");
    EXPECT_EQ(explain_signal(of("TIMEOUT"), seconds(60)), explain(of("TIMEOUT")));
}

}  // namespace
}  // namespace sinew::launch::slurm
