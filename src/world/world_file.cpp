// SPDX-License-Identifier: Apache-2.0
#include "src/world/world_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew {

namespace {

constexpr std::string_view file_magic = "sinew-world";
constexpr std::string_view version = "1";
constexpr int most = 1 << 24;                            // nodes, and ranks
constexpr std::size_t max_bytes = std::size_t{1} << 30;  // size of a file

/// Reads lines of the form `word value` in the order in which they must come.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}

    /// Returns the value of the next line, which must begin with `word`.
    std::string_view value(std::string_view word) {
        auto const found = optional_value(word);
        if (!found) fail(text("does not say '", word, "'"));
        return *found;
    }
    /// Returns nothing, and does not consume the line, if it begins with another word.
    std::optional<std::string_view> optional_value(std::string_view word) {
        auto const end = rest_.find('\n');
        std::string_view const line = rest_.substr(0, end);
        if (end == std::string_view::npos || line.substr(0, word.size()) != word ||
            line.size() < word.size() + 2 || line[word.size()] != ' ')
            return std::nullopt;
        rest_.remove_prefix(end + 1);
        ++number_;
        return line.substr(word.size() + 1);
    }
    /// Requires the next line to be the last one, with this word alone.
    void finish(std::string_view word) {
        if (rest_ != std::string(word) + "\n") fail(text("is not a last line '", word, "'"));
    }

    /// Throws UsageError naming the next line.
    [[noreturn]] void fail(std::string const& why) const {
        throw UsageError(text("world file: line ", number_ + 1, ' ', why,
                              ". Does the agent have the version of this program's sinew?"));
    }
    /// Throws UsageError naming the line that `value` returned last.
    [[noreturn]] void fail_last(std::string const& why) {
        --number_;
        fail(why);
    }

    template <class Number>
    Number number(std::string_view digits, Number low, Number high) {
        Number result = 0;
        auto const [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), result);
        if (error != std::errc() || end != digits.data() + digits.size() || result < low ||
            result > high)
            fail_last(text("has '", digits, "' (expected a number from ", low, " to ", high, ')'));
        return result;
    }

private:
    std::string_view rest_;
    int number_ = 0;
};

wire::Address address_in(Lines& lines, std::string_view value) {
    try {
        return wire::Address::parse(value);
    } catch (UsageError const& error) {
        lines.fail_last(text("has no address: ", error.what()));
    }
}

wire::Secret key_in(Lines& lines) {
    auto const digits = lines.value("key");
    try {
        return wire::Secret::from_hex(digits);
    } catch (UsageError const&) {
        lines.fail_last("has no key of 64 hexadecimal digits");
    }
}

WorldFile::Rank rank_in(Lines& lines, int nodes) {
    WorldFile::Rank rank;
    auto const place = lines.value("rank");
    auto const blank = std::min(place.find(' '), place.size());
    rank.node = lines.number(place.substr(0, blank), 0, nodes - 1);
    rank.local_rank = lines.number(place.substr(std::min(blank + 1, place.size())), 0, most - 1);
    rank.local = address_in(lines, lines.value("local"));
    if (auto const remote = lines.optional_value("remote"))
        rank.remote = address_in(lines, *remote);
    return rank;
}

std::string const& one_line(std::string const& value, char const* what) {
    bool const printable = std::none_of(value.begin(), value.end(), [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    });
    if (value.empty() || !printable)
        throw UsageError(text("world file: ", what,
                              " is empty or has control characters in it. "
                              "Choose another name"));
    return value;
}

/// Opens without trusting the folder: another user may have put a symbolic link or a pipe there.
UniqueFd open_own(std::string const& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0)
        throw_errno(sinew::text("cannot open the world file ", path),
                    "Is the agent that wrote it still running?");
    auto const refuse = [&](auto const&... why) {
        throw UsageError(text("the world file ", path, " cannot be trusted (", why...,
                              "). Leave SINEW_WORLD_FILE to sinew run"));
    };
    if (!S_ISREG(info.st_mode)) refuse("it is not a plain file");
    if (info.st_uid != ::geteuid()) refuse("it belongs to user ", info.st_uid);
    if ((info.st_mode & 077) != 0) refuse("others may read or write it");
    if (static_cast<std::size_t>(info.st_size) > max_bytes) refuse(info.st_size, " bytes long");
    return fd;
}

}  // namespace

std::string WorldFile::text() const {
    std::string out;
    auto const line = [&](auto const&... words) { out += sinew::text(words..., '\n'); };
    line(file_magic, ' ', version);
    line("job ", one_line(job, "the job's name"));
    line("epoch ", epoch);
    line("key ", key.hex());
    line("nodes ", nodes.size());
    for (std::string const& node : nodes) line("node ", one_line(node, "a node's name"));
    line("ranks ", ranks.size());
    for (Rank const& rank : ranks) {
        line("rank ", rank.node, ' ', rank.local_rank);
        line("local ", one_line(rank.local.text(), "an address"));
        if (rank.remote) line("remote ", one_line(rank.remote->text(), "an address"));
    }
    line("end");
    return out;
}

WorldFile WorldFile::parse(std::string_view text) {
    Lines lines(text);
    if (auto const found = lines.value(file_magic); found != version)
        lines.fail_last(sinew::text("has version '", found, "' (expected ", version, ')'));
    std::string const job = one_line(std::string(lines.value("job")), "the job's name");
    auto const epoch = lines.number(lines.value("epoch"), 0U, ~std::uint32_t{0});
    WorldFile file{job, epoch, key_in(lines), {}, {}};
    int const nodes = lines.number(lines.value("nodes"), 1, most);
    for (int node = 0; node < nodes; ++node)
        file.nodes.push_back(one_line(std::string(lines.value("node")), "a node's name"));
    int const ranks = lines.number(lines.value("ranks"), 1, most);
    for (int rank = 0; rank < ranks; ++rank) file.ranks.push_back(rank_in(lines, nodes));
    lines.finish("end");
    return file;
}

WorldFile WorldFile::read(std::string const& path) {
    UniqueFd const fd = open_own(path);
    std::string contents;
    char buffer[1 << 14];
    for (;;) {
        auto const got = ::read(fd.get(), buffer, sizeof(buffer));
        if (got == 0) break;
        if (got > 0) contents.append(buffer, static_cast<std::size_t>(got));
        else if (errno != EINTR)
            throw_errno(sinew::text("cannot read ", path), "Is its disk in order?");
    }
    try {
        return parse(contents);
    } catch (UsageError const& error) {
        throw UsageError(sinew::text(path, ": ", error.what()));
    }
}

void WorldFile::write(std::string const& path) const {
    std::string const contents = text();
    std::string const draft = sinew::text(path, ".", ::getpid(), ".new");
    ::unlink(draft.c_str());
    UniqueFd const fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) throw_errno(sinew::text("cannot create ", draft), "May this user write there?");
    try {
        if (!write_all(fd.get(), std::as_bytes(std::span(contents))))
            throw_errno(sinew::text("cannot write ", draft), "Is the disk full?");
        if (::rename(draft.c_str(), path.c_str()) != 0)
            throw_errno(sinew::text("cannot rename ", draft, " to ", path),
                        "Is there a folder in its place?");
    } catch (...) {
        ::unlink(draft.c_str());
        throw;
    }
}

wire::Address const& WorldFile::address(int from, int to) const {
    Rank const& peer = ranks.at(static_cast<std::size_t>(to));
    if (ranks.at(static_cast<std::size_t>(from)).node == peer.node) return peer.local;
    if (!peer.remote)
        throw UsageError(sinew::text("rank ", from, " cannot reach rank ", to, " on ",
                                     nodes.at(static_cast<std::size_t>(peer.node)),
                                     " (it listens for its own node only). Was the world file "
                                     "written for this job?"));
    return *peer.remote;
}

std::string presence_file(std::string const& folder, int rank) {
    return folder + "/in-world-" + std::to_string(rank);
}

}  // namespace sinew
