// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace sinew::launch::slurm {

/// A file that a job on another host appends to, whose content is copied to a descriptor.
class OutputFile {
public:
    /// `fd`: where to; not owned.
    OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
    /// Copies what is new, 1 MiB at most. Returns whether there may be more. Blocks while the
    /// descriptor takes nothing. Throws SystemError if it cannot be written.
    bool copy();
    /// Whether the last lines that were copied have these words.
    bool said(std::string_view words) const { return last_.find(words) != last_.npos; }
    /// Whether the file has been seen.
    bool there() const { return there_; }
    std::string const& path() const { return path_; }
    void remove() const;

private:
    std::string path_;
    int fd_;
    std::string last_;
    off_t next_ = 0;
    bool there_ = false;
};

}  // namespace sinew::launch::slurm
