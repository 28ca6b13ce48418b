// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launchers/io/output_printer.hpp"
#include "launchers/verbs/job_source.hpp"

namespace sinew::launch {

/// Writes output to standard output and standard error, as `sinew run` does. Blocks while they are
/// not read. Throws SystemError if they cannot be written.
class LogPrinter final : public LogSink {
public:
    explicit LogPrinter(OutputPrinter::Options options) : printer_(std::move(options)) {}
    void output(OutputRecord const& record) override;
    void skipped(std::uint64_t bytes) override;
    /// Writes a line of our own to standard error, at the start of a line.
    void report(std::string const& line);

private:
    void write();
    OutputPrinter printer_;
};

/// "12 KiB": for people.
std::string in_units(std::uint64_t bytes);

}  // namespace sinew::launch
