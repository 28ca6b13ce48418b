// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace sinew::testing_support {

// Tasks for the tests of pools.
int square(int x);
std::string twice(std::string const& word);
int add(int a, int b);
void nothing(int);
std::string mebibyte(int);
pid_t who(int milliseconds);  ///< pid of the worker that slept
int picky(int x);             ///< throws std::out_of_range for 13, odd exceptions for others
std::vector<std::uint64_t> blow_up(std::uint64_t count);  ///< 0, 1, .. count-1
std::uint64_t total(std::vector<std::uint64_t> const& values);

// Tasks that end their worker.
int suicide_at(int x, int victim, int signal);
int leave_at(int x, int victim, int code);

/// Records executions of tasks in a file that all processes share.
class Ledger {
public:
    explicit Ledger(std::string const& name);
    Ledger(Ledger const&) = delete;
    ~Ledger();  ///< removes the file
    std::string const& path() const { return path_; }
    /// The number of times that each of `tasks` was begun.
    std::vector<int> counts(std::size_t tasks) const;

private:
    std::string path_;
};
/// Records that `task` begins; atomic.
void note(std::string const& ledger, int task);

}  // namespace sinew::testing_support
