// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/output_follower.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

constexpr std::size_t follower_piece = std::size_t{64} << 10;
/// The last lines are looked for in no more than this.
constexpr std::uint64_t longest_tail = std::uint64_t{1} << 20;

}  // namespace

OutputFollower::OutputFollower(std::string const& path, MessageKind kind, std::uint64_t begin,
                               std::optional<int> tail)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), kind_(kind), offset_(begin) {
    if (!file_) throw_errno(text(path, " cannot be opened"));
    if (tail) skip_to_tail(*tail);
}

void OutputFollower::skip_to_tail(int lines) {
    struct ::stat about {};
    if (::fstat(file_.get(), &about) != 0) return;
    auto const size = static_cast<std::uint64_t>(about.st_size);
    auto const begin = size - std::min(size, longest_tail);
    std::string bytes(static_cast<std::size_t>(size - begin), '\0');
    ssize_t const count =
        ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin));
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    std::size_t at = bytes.size();
    // The newline at the end belongs to the last line.
    for (int left = lines; left > 0 && at > 0; --left) {
        auto const before = at < 2 ? bytes.npos : bytes.rfind('\n', at - 2);
        at = before == bytes.npos ? 0 : before + 1;
    }
    offset_ = begin + at;
}

OutputFollower::Progress OutputFollower::send_some(wire::Link& link) {
    std::array<std::byte, follower_piece> piece;
    ssize_t const count =
        ::pread(file_.get(), piece.data(), piece.size(), static_cast<off_t>(offset_));
    if (count <= 0) return Progress::none;
    auto const bytes = std::span(piece).first(static_cast<std::size_t>(count));
    auto const flow = link.send(static_cast<std::uint8_t>(kind_), 0, {bytes});
    offset_ += static_cast<std::uint64_t>(count);
    return flow == wire::Flow::full ? Progress::full : Progress::some;
}

}  // namespace sinew::launch::service
