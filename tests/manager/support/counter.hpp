// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sinew::testing_support {

/// What the tests' managers hold.
class Counter {
public:
    Counter() = default;
    explicit Counter(int first) : value_(first) {}
    Counter(std::string name, int first);
    ~Counter();

    int add(int more) { return value_ += more; }
    int value() const { return value_; }
    std::string const& name() const { return name_; }
    void fail(std::string const& what);
    int slowly(int milliseconds);
    /// When it began and ended, by the clock that all processes of the host share.
    std::pair<std::int64_t, std::int64_t> interval(int milliseconds);
    std::vector<std::uint8_t> echo(std::vector<std::uint8_t> const& bytes) { return bytes; }
    /// Appended to a file at the end of its life.
    void note_end(std::string const& path) { note_ = path; }
    int pid() const;
    int usable_cores() const;
    void die();
    /// How many calls of it run at this moment, at most so far.
    int crowd(int milliseconds);
    /// Notes what it is called with, in order.
    void note(int client, int number) { notes_.push_back({client, number}); }
    std::vector<std::pair<int, int>> notes() const { return notes_; }

private:
    int value_ = 0;
    std::string name_, note_;
    std::vector<std::pair<int, int>> notes_;
};

}  // namespace sinew::testing_support
