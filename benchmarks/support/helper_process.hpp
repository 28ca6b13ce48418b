// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sinew::bench {

/// A program that answers each line with a line. When this is destroyed its input ends; what is left
/// of it and of all it started, 15 s later, is killed.
class HelperProcess {
public:
    explicit HelperProcess(std::vector<std::string> const& command);
    HelperProcess(HelperProcess const&) = delete;
    HelperProcess& operator=(HelperProcess const&) = delete;
    ~HelperProcess();

    /// Throws Error, with the last line of its standard error, when it ends instead, and Timeout.
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
