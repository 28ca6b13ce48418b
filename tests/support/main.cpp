// SPDX-License-Identifier: Apache-2.0
// main() of all test programs but those that mpiexec starts.
//
//   --files=wire/address_test.cpp,...      only the tests of these sources; error if there are none
//   --all-files=wire/address_test.cpp,...  no test; error if a test is in none of these sources
#include <gmock/gmock.h>

#include <cstdio>
#include <sinew/init.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/alternative_main.hpp"

namespace {

constexpr std::string_view files_flag = "--files=";
constexpr std::string_view all_files_flag = "--all-files=";

std::vector<std::string_view> split_at_commas(std::string_view list) {
    std::vector<std::string_view> parts;
    for (;;) {
        auto const comma = list.find(',');
        parts.push_back(list.substr(0, comma));
        if (comma == std::string_view::npos) return parts;
        list.remove_prefix(comma + 1);
    }
}

bool is_one_of(std::string_view path, std::vector<std::string_view> const& files) {
    for (auto const file : files)
        if (path.ends_with(file) &&
            (path.size() == file.size() || path[path.size() - file.size() - 1] == '/'))
            return true;
    return false;
}

/// Calls `visit` with each test of this program.
template <typename Visit>
void for_each_test(Visit visit) {
    auto const& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i)
        for (int j = 0; j < all.GetTestSuite(i)->total_test_count(); ++j)
            visit(*all.GetTestSuite(i)->GetTestInfo(j));
}

std::string full_name(testing::TestInfo const& test) {
    return std::string(test.test_suite_name()) + "." + test.name();
}

/// A --gtest_filter for the tests of these sources; empty if there are none.
std::string filter_of(std::vector<std::string_view> const& files) {
    std::string filter;
    for_each_test([&](testing::TestInfo const& test) {
        if (is_one_of(test.file(), files)) filter += full_name(test) + ":";
    });
    return filter;
}

int report_tests_outside(std::vector<std::string_view> const& files) {
    int outside = 0;
    for_each_test([&](testing::TestInfo const& test) {
        if (is_one_of(test.file(), files)) return;
        ++outside;
        std::fprintf(stderr, "%s (%s) is run by no ctest entry: add its source to one\n",
                     full_name(test).c_str(), test.file());
    });
    return outside == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    std::string_view const first = argc > 1 ? argv[1] : "";
    if (auto const instead = sinew::testing_support::AlternativeMain::find(first))
        return instead(argc, argv);
    testing::InitGoogleMock(&argc, argv);
    if (first.starts_with(all_files_flag))
        return report_tests_outside(split_at_commas(first.substr(all_files_flag.size())));
    // A filter given by the caller takes precedence.
    if (first.starts_with(files_flag) && testing::GTEST_FLAG(filter) == "*") {
        auto const filter = filter_of(split_at_commas(first.substr(files_flag.size())));
        if (filter.empty()) {
            std::fprintf(stderr, "no tests in %s\n", argv[1]);
            return 1;
        }
        testing::GTEST_FLAG(filter) = filter;
    }
    return RUN_ALL_TESTS();
}
