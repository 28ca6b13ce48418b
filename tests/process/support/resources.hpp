// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "src/base/text.hpp"
#include "src/process/resources/memory_group.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::process::test {

/// The processors that a process may use.
inline std::vector<int> cpus_of(pid_t pid) {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(pid, sizeof set, &set), 0);
    std::vector<int> numbers;
    for (int number = 0; number < CPU_SETSIZE; ++number)
        if (CPU_ISSET(number, &set)) numbers.push_back(number);
    return numbers;
}

/// Names of the cgroups that this process has made to limit memory.
inline std::vector<std::string> groups_of(pid_t pid) {
    std::vector<std::string> found;
    auto const place = place_of_memory_groups();
    if (!place) return found;
    std::error_code none;
    for (auto const& each : std::filesystem::directory_iterator(*place, none))
        if (each.path().filename().string().starts_with(text("sinew-memory-", pid, '-')))
            found.push_back(each.path());
    return found;
}

[[noreturn]] inline void sleep_for_ever() {
    for (;;) ::pause();
}

class Variable {
public:
    Variable(char const* name, char const* value) : name_(name) {
        if (char const* const former = std::getenv(name)) former_ = former;
        ::setenv(name, value, 1);
    }
    ~Variable() {
        if (former_) ::setenv(name_, former_->c_str(), 1);
        else ::unsetenv(name_);
    }
    Variable(Variable const&) = delete;

private:
    char const* name_;
    std::optional<std::string> former_;
};

/// A fake file system.
class Root {
public:
    Root() : path_(testing::TempDir() + text("sinew-root-", ::getpid())) {}
    ~Root() { std::filesystem::remove_all(path_); }
    Root(Root const&) = delete;
    std::string const& path() const { return path_; }
    void file(std::string const& name, std::string const& words = "") const {
        std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
        std::ofstream(path_ + name) << words << '\n';
    }

private:
    std::string path_;
};

/// Expects that nothing remains when a test has ended.
struct Resources : testing::Test {
    ~Resources() override {
        EXPECT_TRUE(testing_support::eventually([] { return groups_of(::getpid()).empty(); }));
    }
    testing_support::LeakCheck leaks;
};

}  // namespace sinew::process::test
