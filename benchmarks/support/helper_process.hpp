// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sinew::bench {

/// A program that answers each line with a line. The destructor closes its input, waits for at most
/// 15 s, and then kills all processes that the program has left.
class HelperProcess {
public:
    explicit HelperProcess(std::vector<std::string> const& command);
    HelperProcess(HelperProcess const&) = delete;
    HelperProcess& operator=(HelperProcess const&) = delete;
    ~HelperProcess();

    /// Sends a line and returns the answer. Throws Error, with the last line of the program's
    /// standard error, if it has ended, and Timeout after `limit` seconds.
    std::string ask(std::string const& line, double limit);

private:
    std::string last_words() const;
    bool ended();
    void kill_all() const;

    std::string name_, marker_;
    pid_t pid_ = -1;
    int to_ = -1, from_ = -1, errors_ = -1;
};

}  // namespace sinew::bench
