// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "launchers/io/output_printer.hpp"
#include "launchers/io/output_record.hpp"

namespace sinew::launch::kubernetes {

/// Shows the output of ranks, lines about the job, and a line about its progress that is replaced by
/// the next one (on a terminal; elsewhere changes of it are written at most every 2 s). Writes block.
class Console {
public:
    /// `verbosity`: below 0, only output and failures are shown. `give_up` is asked while a reader
    /// takes nothing; true: the rest of the output is lost.
    Console(OutputPrinter::Options options, int verbosity, std::function<bool()> give_up);
    ~Console();

    void output(OutputRecord const& record);
    /// A line for the user on standard error, without newline.
    void notice(std::string_view line, int verbosity = 0);
    /// A line on standard output.
    void result(std::string_view line);
    void progress(std::string const& line);
    /// Removes the line about the progress.
    void end_progress();
    /// Whether notice() has shown a line with these words.
    bool has_said(std::string_view words) const;
    /// The errno of the first write that failed, ECANCELED after giving up; 0: none. Nothing is
    /// written after it.
    int error() const { return error_; }

private:
    void flush();
    void write(int fd, std::string_view bytes);

    OutputPrinter printer_;
    int const verbosity_;
    std::function<bool()> const give_up_;
    bool const terminal_;
    bool progress_shown_ = false;
    std::string progress_;
    long long progress_at_ms_ = 0;
    std::string said_;
    std::set<std::string> begun_;  ///< files that were emptied
    int error_ = 0;
};

}  // namespace sinew::launch::kubernetes
