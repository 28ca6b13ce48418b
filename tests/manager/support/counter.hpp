// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sinew::testing_support {

/// An object with methods for the manager's tests.
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
    /// Start and end of the call, by the clock that all processes of the host share.
    std::pair<std::int64_t, std::int64_t> interval(int milliseconds);
    std::vector<std::uint8_t> echo(std::vector<std::uint8_t> const& bytes) { return bytes; }
    /// The destructor appends a line to this file.
    void note_end(std::string const& path) { note_ = path; }
    int pid() const;
    int usable_cores() const;
    void die();
    /// The maximum number of calls that ran at the same time so far.
    int crowd(int milliseconds);
    /// Records its arguments, in order.
    void note(int client, int number) { notes_.push_back({client, number}); }
    std::vector<std::pair<int, int>> notes() const { return notes_; }

private:
    int value_ = 0;
    std::string name_, note_;
    std::vector<std::pair<int, int>> notes_;
};

}  // namespace sinew::testing_support
