// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model/find_model.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include <gmock/gmock.h>

#include "tests/support/thread_ranks.hpp"

namespace sinew::detail {
namespace {

using collectives::Model;
using ::testing::ElementsAre;
namespace fs = std::filesystem;

/// Has a cache folder of its own.
class FindModel : public ::testing::Test {
protected:
    FindModel() {
        std::string pattern = (fs::temp_directory_path() / "sinew-cache-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    }
    ~FindModel() override {
        ::unsetenv("XDG_CACHE_HOME");
        fs::remove_all(folder_);
    }

    fs::path folder_;
    ModelCache cache_{"key"};
};

/// What three ranks find, and how often they measured.
struct Search {
    std::set<std::string> models;
    int vitals = 0;
    int fits = 0;
};

/// All ranks measure `vital`; if a model is fitted it is `fitted`.
Search search(ModelCache const& cache, std::uint64_t topology, collectives::Vital const& vital,
              Model const& fitted) {
    Search result;
    std::mutex mutex;
    sinew::testing::run_ranks(3, [&](collectives::Channel& channel) {
        int vitals = 0, fits = 0;
        Model const model = find_model(channel, cache, topology, false,
                                       {.vital =
                                            [&] {
                                                ++vitals;
                                                return vital;
                                            },
                                        .calibrate =
                                            [&] {
                                                ++fits;
                                                return fitted;
                                            }});
        std::lock_guard const lock(mutex);
        result.models.insert(model.to_text());
        result.vitals += vitals;
        result.fits += fits;
    });
    return result;
}

// A virtual machine's cores are near each other or far apart, from boot to boot.
TEST_F(FindModel, ServesBothStatesOfTheMachine) {
    Model near, far;
    for (double& seconds : far.node.seconds) seconds *= 4;
    auto const vital = [](Model const& model) {
        return collectives::Vital{model.node.exchange(8), model.node.exchange(65536)};
    };
    auto const expect = [&](Model const& state, int vitals, int fits) {
        Search const found = search(cache_, 17, vital(state), state);
        EXPECT_THAT(found.models, ElementsAre(state.to_text()));
        EXPECT_EQ(found.vitals, vitals);
        EXPECT_EQ(found.fits, fits);
    };
    expect(near, 0, 3);  // nothing is known
    expect(near, 3, 0);
    expect(far, 3, 3);  // what is known does not hold
    expect(far, 3, 0);
    expect(near, 3, 0);
    Search const elsewhere = search(cache_, 18, vital(near), near);
    EXPECT_EQ(elsewhere.vitals, 0);
    EXPECT_EQ(elsewhere.fits, 3);
}

TEST_F(FindModel, TellsTopologiesApart) {
    NodeLayout one_node{.node_of = {0, 0}, .hosts = {"a"}},
        other_host = one_node, two_nodes{.node_of = {0, 1}, .hosts = {"a", "b"}};
    other_host.hosts = {"b"};
    std::vector<Processors> anywhere(2), bound(2);
    CPU_SET(3, &bound[1].allowed);
    std::set<std::uint64_t> hashes{topology_of(one_node, anywhere),
                                   topology_of(other_host, anywhere),
                                   topology_of(two_nodes, anywhere), topology_of(one_node, bound)};
    {
        ::setenv("OMPI_MCA_btl", "tcp,self", 1);
        hashes.insert(topology_of(one_node, anywhere));
        ::unsetenv("OMPI_MCA_btl");
    }
    EXPECT_EQ(hashes.size(), 5U);
    EXPECT_TRUE(hashes.contains(topology_of(one_node, anywhere)));
}

}  // namespace
}  // namespace sinew::detail
