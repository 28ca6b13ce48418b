// SPDX-License-Identifier: Apache-2.0
#include "launchers/slurm/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/common/write_output.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

constexpr off_t most_at_once = 1 << 20;
constexpr std::size_t most_kept = 4096;

void print(int fd, std::string_view bytes) {
    if (int const error = write_output(fd, bytes); error != 0)
        throw SystemError(text("output of the job cannot be written (", std::strerror(error), ")"),
                          error);
}

}  // namespace

// NFS asks its server for the present length of a file only when it is opened.
bool OutputFile::copy() {
    UniqueFd const file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return false;
    there_ = true;
    std::array<char, 65536> buffer;
    off_t const end = next_ + most_at_once;
    while (next_ < end) {
        ssize_t const count = ::pread(file.get(), buffer.data(), buffer.size(), next_);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next_ += count;
        std::string_view const bytes(buffer.data(), static_cast<std::size_t>(count));
        last_ += bytes;
        last_.erase(0, last_.size() - std::min(last_.size(), most_kept));
        print(fd_, bytes);
    }
    return true;
}

void OutputFile::remove() const { ::unlink(path_.c_str()); }

}  // namespace sinew::launch::slurm
