// SPDX-License-Identifier: Apache-2.0
// Tasks in a shared library, built with build-ids and without.
#include "tests/pool/library/library.hpp"

#include <gmock/gmock.h>

#include <sinew/detail/task.hpp>
#include <sinew/process.hpp>

#include "src/task/registry.hpp"
#include "tests/pool/pool_fixture.hpp"

namespace sinew::testing_support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using PoolLibrary = PoolTest;

TEST_F(PoolLibrary, FunctionsOfALibraryAreTasks) {
    Pool pool(2, quiet());
    EXPECT_THAT(pool.map<testing_library::cube>(std::vector{1, 2, 3}), ElementsAre(1, 8, 27));
}

TEST_F(PoolLibrary, ALibraryHasTasksOfItsOwn) {
    EXPECT_THAT(detail::task_table().modules, SizeIs(2)) << "the program, and the library";
    Pool pool(2, quiet());
    EXPECT_THAT(testing_library::fourth_powers(pool, {1, 2, 3}), ElementsAre(1, 16, 81));
    EXPECT_THAT(pool.map([](int x) { return -x; }, std::vector{1, 2}), ElementsAre(-1, -2));
}

TEST_F(PoolLibrary, ProcessesHaveThemToo) {
    Process process([](int x) { std::exit(testing_library::cube(x)); }, 3);
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), 27);
}

// Without build-ids, the contents of the files are used.
TEST_F(PoolLibrary, TheProgramIsKnownByItsBuild) {
    std::string const identity = detail::program_identity().text;
    EXPECT_THAT(identity, HasSubstr(" + ")) << "the library's build, too";
    EXPECT_EQ(identity.find("sha256:") != std::string::npos, SINEW_TEST_NO_BUILD_ID != 0)
        << identity;
}

}  // namespace
}  // namespace sinew::testing_support
