// SPDX-License-Identifier: Apache-2.0
// main() of the tests that mpiexec starts: every rank runs every test, in step.
//
//   SINEW_TEST_MPI_THREAD   thread level to ask for: single, funneled, serialized, multiple (default)
//   SINEW_TEST_LIMIT        seconds that one test may take before the job is ended (default 50)
#include <gmock/gmock.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int skipped_status = 77;  // ctest's SKIP_RETURN_CODE, see cmake/SinewTest.cmake
constexpr int hung_status = 124;    // as timeout(1)

int world_rank = 0;
std::array<char, 512> hang_message{};  // prepared for a signal handler

void end_hung_job(int) {
    auto const length = std::strlen(hang_message.data());
    if (::write(STDERR_FILENO, hang_message.data(), length) < 0) ::_exit(hung_status + 1);
    ::_exit(hung_status);  // the launcher ends the other ranks
}

/// Keeps the ranks in step, and ends the job if a test takes too long.
class Conductor final : public testing::EmptyTestEventListener {
public:
    Conductor() {
        if (char const* const text = std::getenv("SINEW_TEST_LIMIT")) limit_ = std::atoi(text);
        std::signal(SIGALRM, end_hung_job);
    }
    void OnTestStart(testing::TestInfo const& test) override {
        std::snprintf(hang_message.data(), hang_message.size(),
                      "rank %d: %s.%s did not end within %d s\n", world_rank,
                      test.test_suite_name(), test.name(), limit_);
        ::alarm(static_cast<unsigned>(limit_));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    void OnTestEnd(testing::TestInfo const&) override {
        MPI_Barrier(MPI_COMM_WORLD);
        ::alarm(0);
    }

private:
    int limit_ = 50;
};

/// Prints failures of the ranks above 0.
class FailurePrinter final : public testing::EmptyTestEventListener {
    void OnTestStart(testing::TestInfo const& test) override {
        // Stored here: OnTestPartResult is called with UnitTest's lock held, so it cannot ask
        // UnitTest.
        test_ = std::string(test.test_suite_name()) + "." + test.name();
    }
    void OnTestPartResult(testing::TestPartResult const& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "rank %d: %s: %s:%d: Failure\n%s\n", world_rank, test_.c_str(),
                     result.file_name() ? result.file_name() : "?", result.line_number(),
                     result.summary());
    }
    std::string test_;
};

int wanted_thread_level() {
    char const* const text = std::getenv("SINEW_TEST_MPI_THREAD");
    std::string const level = text ? text : "multiple";
    if (level == "single") return MPI_THREAD_SINGLE;
    if (level == "funneled") return MPI_THREAD_FUNNELED;
    if (level == "serialized") return MPI_THREAD_SERIALIZED;
    if (level == "multiple") return MPI_THREAD_MULTIPLE;
    std::fprintf(stderr,
                 "SINEW_TEST_MPI_THREAD=%s (must be single, funneled, serialized or "
                 "multiple).\n",
                 text);
    std::exit(2);
}

/// The same status on all ranks: failed if any rank failed, skipped if no rank ran a test.
int common_status(bool failed) {
    auto const& tests = *testing::UnitTest::GetInstance();
    int const ran = tests.test_to_run_count() - tests.skipped_test_count();
    std::array<int, 2> mine{failed ? 1 : 0, ran > 0 || tests.test_to_run_count() == 0 ? 1 : 0};
    std::array<int, 2> any{};
    MPI_Allreduce(mine.data(), any.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any[0] != 0) return 1;
    return any[1] != 0 ? 0 : skipped_status;
}

}  // namespace

int main(int argc, char** argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted_thread_level(), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    // In MPICH, errors of transfers reach the handlers of these communicators; see mpi_library.cpp.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    testing::InitGoogleMock(&argc, argv);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (world_rank != 0) {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailurePrinter);
    }
    listeners.Append(new Conductor);
    bool const failed = RUN_ALL_TESTS() != 0;

    ::alarm(20);  // also for the rest of the program
    int const status = common_status(failed);
    MPI_Finalize();
    return status;
}
