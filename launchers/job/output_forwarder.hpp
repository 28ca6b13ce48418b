// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/io/output_printer.hpp"
#include "launchers/io/output_writer.hpp"
#include "launchers/job/job_machine.hpp"
#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

/// Shows the output of ranks and the launcher's own lines, and gives each agent credit for what was
/// written. On the loop's thread.
class OutputForwarder {
public:
    struct Callbacks {
        /// This agent may send so many bytes more.
        std::function<void(int node, std::int64_t bytes)> credit;
        /// Called once, with the first failure: errno, and where the output went.
        std::function<void(int error, std::string const& where)> failed;
        /// Nothing waits any longer.
        std::function<void()> settled;
    };
    OutputForwarder(wire::Loop& loop, OutputPrinter::Options options, Callbacks callbacks);

    void from_rank(int node, std::string_view node_name, OutputHead const& head,
                   std::span<std::byte const> bytes);
    /// Writes a line (or several) of our own to standard error, at the start of a line.
    void report(std::string line);
    /// Writes to standard output, and calls `then` when that is done or has failed.
    void write_result(std::string bytes, std::function<void()> then);

    /// From now on a reader that takes nothing for 5 s is not waited for: the output that waits, and
    /// all that follows, is lost.
    void limit_patience();
    bool unread() const { return unread_; }
    bool idle() const { return writer_.idle(); }
    JobFacts::Output state() const;

private:
    /// The first of some writes that failed.
    struct Failure {
        int error = 0;  ///< 0: none failed
        std::string where;
    };
    using AllWritten = std::function<void(Failure const&)>;
    void write(std::vector<OutputWrite> writes, AllWritten written);
    void on_written(int node, std::int64_t bytes, Failure const& failure);
    void note(Failure const& failure);

    wire::Loop& loop_;
    Callbacks const callbacks_;
    OutputPrinter printer_;
    OutputWriter writer_;
    wire::Loop::Handle patience_;
    std::map<int, std::int64_t> unwritten_;  ///< bytes of output, by agent
    bool broken_ = false;                    ///< a failure was reported
    bool unread_ = false;
};

}  // namespace sinew::launch
