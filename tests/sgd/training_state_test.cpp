// SPDX-License-Identifier: Apache-2.0
// Commits of training on disk: complete or not there, whoever loses which file when.
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>

#include <sinew/sgd/training_state.hpp>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/stored_training.hpp"
#include "tests/support/socket_ranks.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class TrainingStates : public testing::Test {
protected:
    fs::path folder() const { return parent_.path() / "state"; }
    fs::path of_rank(int rank) const { return folder() / ("rank-" + std::to_string(rank)); }

    /// The files of a rank that hold a part of this step.
    std::vector<fs::path> files(int rank, std::uint64_t step) const {
        std::vector<fs::path> found;
        for (auto const& each : fs::directory_iterator(of_rank(rank)))
            if (each.path().filename().string().find("-step-" + std::to_string(step) + "-of-") !=
                std::string::npos)
                found.push_back(each.path());
        return found;
    }
    /// Commits these steps.
    void commit(std::vector<int> const& node_of, std::vector<std::uint64_t> const& steps,
                StateOptions options = {}) const {
        testing_support::run_socket_ranks(node_of, [&](Communicator& comm) {
            Training training(comm, folder(), options);
            for (std::uint64_t const step : steps) {
                training.set(comm.rank(), step);
                training.state.commit(step);
            }
        });
    }
    /// Restores in a new job, and expects this step.
    void expect_restored(std::vector<int> const& node_of, std::uint64_t step) const {
        testing_support::run_socket_ranks(node_of, [&](Communicator& comm) {
            Training training(comm, folder());
            EXPECT_EQ(training.state.restore(), step);
            training.expect(comm.rank(), step);
        });
    }
    static void damage(fs::path const& file) {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(-3, std::ios::end);
        stream.put('?');
    }

private:
    testing_support::TempFolder parent_;
};

TEST_F(TrainingStates, ComeBackInAnotherJob) {
    for (std::vector<int> const& node_of : {std::vector{0}, {0, 0, 0}, {0, 1, 1, 2}}) {
        fs::remove_all(folder());
        testing_support::run_socket_ranks(node_of, [&](Communicator& comm) {
            Training training(comm, folder());
            EXPECT_EQ(training.state.restore(), std::nullopt);
        });
        commit(node_of, {7, 30});
        expect_restored(node_of, 30);
        commit(node_of, {8});  // the newest, not the highest step
        expect_restored(node_of, 8);
    }
}

TEST_F(TrainingStates, GoBackInTheMiddleOfTraining) {
    run_thread_ranks(3, [&](Communicator& comm) {
        Training training(comm, folder());
        training.set(comm.rank(), 5);
        training.state.commit(5);
        training.set(comm.rank(), 6);
        EXPECT_EQ(training.state.restore(), 5u);
        training.expect(comm.rank(), 5);
    });
}

TEST_F(TrainingStates, KeepTheNewestOnly) {
    commit({0, 0}, {1, 2, 3, 4}, {.keep = 3});
    for (int rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(files(rank, 1).empty());
        for (std::uint64_t const step : {2u, 3u, 4u}) EXPECT_FALSE(files(rank, step).empty());
    }
}

TEST_F(TrainingStates, OutliveANodesDisk) {
    std::vector const node_of{0, 0, 1, 1, 2};
    for (int const lost : {0, 1, 2}) {
        fs::remove_all(folder());
        commit(node_of, {4, 9});
        for (int rank = 0; rank < 5; ++rank)
            if (node_of[static_cast<std::size_t>(rank)] == lost) fs::remove_all(of_rank(rank));
        expect_restored(node_of, 9);
    }
}

TEST_F(TrainingStates, OutliveDamage) {
    std::vector const node_of{0, 0, 1};
    commit(node_of, {4, 9});
    // One copy of each part is damaged.
    for (fs::path const& file : files(0, 9)) damage(file);
    expect_restored(node_of, 9);
    // Now all copies of one.
    for (int rank = 0; rank < 3; ++rank)
        for (fs::path const& file : files(rank, 9)) damage(file);
    expect_restored(node_of, 4);
    for (int rank = 0; rank < 3; ++rank)
        for (fs::path const& file : files(rank, 4)) fs::resize_file(file, 20);
    testing_support::run_socket_ranks(node_of, [&](Communicator& comm) {
        Training training(comm, folder());
        training.set(comm.rank(), 3);
        EXPECT_THAT(thrown_by<Error>([&] { training.state.restore(); }),
                    AllOf(HasSubstr("none is complete"), HasSubstr("2 of step 9")));
        training.expect(comm.rank(), 3);
        // The next commit is not mixed with what is left of those.
        training.state.commit(3);
    });
    expect_restored(node_of, 3);
}

// A job that was killed while its ranks wrote a commit has left some of its parts.
TEST_F(TrainingStates, ThatAreIncompleteDoNotCount) {
    std::vector const node_of{0, 0, 0};
    for (int missing = 0; missing < 3; ++missing) {
        fs::remove_all(folder());
        commit(node_of, {4, 9});
        for (fs::path const& file : files(missing, 9)) fs::remove(file);
        expect_restored(node_of, 4);
        // The same number again, with other contents, beside the old parts.
        commit(node_of, {10});
        expect_restored(node_of, 10);
    }
}

TEST_F(TrainingStates, ThatCannotBeWrittenLeaveTheOneBefore) {
    testing_support::run_socket_ranks({0, 0, 1}, [&](Communicator& comm) {
        Training training(comm, folder());
        training.set(comm.rank(), 1);
        training.state.commit(1);
        training.set(comm.rank(), 2);
        if (comm.rank() == 1) {  // a disk that is gone
            fs::remove_all(of_rank(1));
            fs::create_directories(of_rank(1));
        }
        comm.barrier();
        EXPECT_THAT(thrown_by<Error>([&] { training.state.commit(2); }),
                    AllOf(HasSubstr("step 2"), HasSubstr("rank 1 of 3 on "),
                          HasSubstr("cannot be written")));
        comm.barrier();
        EXPECT_TRUE(comm.rank() == 1 || files(comm.rank(), 2).empty());
    });
    expect_restored({0, 0, 1}, 1);  // rank 1's part from the other node
}

TEST_F(TrainingStates, AreRefusedIfTheProgramAddsOtherThings) {
    commit({0, 0}, {4});
    run_thread_ranks(2, [&](Communicator& comm) {
        std::vector<float> weights(999);
        TrainingState state(comm, folder());
        EXPECT_THAT(thrown_by<UsageError>([&] { state.restore(); }),
                    HasSubstr("nothing was added"));
        state.add_shared("weights", weights);
        EXPECT_THAT(thrown_by<UsageError>([&] { state.add_own("weights", weights); }),
                    HasSubstr("added before"));
        EXPECT_THAT(thrown_by<UsageError>([&] { state.restore(); }),
                    AllOf(HasSubstr("weights: f32 x 1000"), HasSubstr("weights: f32 x 999")));
        if (comm.rank() == 1) state.add_own("more", weights);
        EXPECT_THAT(thrown_by<UsageError>([&] { state.commit(1); }), HasSubstr("own \"more\""));
    });
    run_thread_ranks(2, [&](Communicator& comm) {
        Training training(comm, folder());
        EXPECT_THAT(thrown_by<UsageError>(
                        [&] { training.state.commit(static_cast<unsigned>(comm.rank())); }),
                    AllOf(HasSubstr("step 0"), HasSubstr("step 1")));
    });
}

TEST_F(TrainingStates, OfSharedElementsAloneFitAnyNumberOfRanks) {
    auto const run = [&](int ranks, auto const& use) {
        run_thread_ranks(ranks, [&](Communicator& comm) {
            std::vector<float> weights(100, static_cast<float>(comm.rank()));
            TrainingState state(comm, folder());
            state.add_shared("weights", weights);
            use(state, weights);
        });
    };
    run(4, [](TrainingState& state, std::vector<float>& weights) {
        state.sync(3);
        EXPECT_THAT(weights, Each(3.0f));
        state.commit(1);
    });
    run(2, [](TrainingState& state, std::vector<float>& weights) {
        EXPECT_EQ(state.restore(), 1u);
        EXPECT_THAT(weights, Each(3.0f));
    });
    commit({0, 0, 0}, {2});
    run_thread_ranks(2, [&](Communicator& comm) {
        Training training(comm, folder());
        EXPECT_THAT(thrown_by<UsageError>([&] { training.state.restore(); }),
                    AllOf(HasSubstr("is of 3 ranks"), HasSubstr("Start as many")));
    });
}

TEST_F(TrainingStates, BelongToOneJobOfOneUser) {
    run_thread_ranks(2, [&](Communicator& comm) {
        Training const training(comm, folder());
        EXPECT_EQ(fs::status(of_rank(comm.rank())).permissions(), fs::perms::owner_all);
        EXPECT_THAT(thrown_by<UsageError>([&] { TrainingState(comm, folder()); }),
                    AllOf(HasSubstr("rank 0 of 2 on "), HasSubstr("another process")));
        EXPECT_THAT(thrown_by<UsageError>([&] { TrainingState(comm, folder(), {.keep = 0}); }),
                    HasSubstr("keep is 0"));
        StateOptions const differs{.copies = 1 + comm.rank()};
        EXPECT_THAT(thrown_by<UsageError>([&] { TrainingState(comm, folder(), differs); }),
                    HasSubstr("copies 2"));
    });
}

}  // namespace
}  // namespace sinew::tests
