// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model/tuned_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include <sinew/error.hpp>

#include "src/base/cache_file.hpp"
#include "src/base/log.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

constexpr std::string_view version = "sinew-tuned 1\n";

/// FNV-1a.
std::uint64_t check_of(std::string_view words) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (char const c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

std::int64_t seconds_of(TunedCache::Time time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

bool skip(std::string_view& rest, std::string_view words) {
    if (!rest.starts_with(words)) return false;
    rest.remove_prefix(words.size());
    return true;
}

/// Removes a number that is written as text() does.
template <class Number>
bool take_number(std::string_view& rest, Number& number) {
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    auto const length = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || text(number) != rest.substr(0, length)) return false;
    rest.remove_prefix(length);
    return true;
}

SystemError failure(char const* call, int error) {
    return {text(call, ": ", std::generic_category().message(error)), error};
}

std::string name_of_file(std::string const& key) { return text("tuned-", key); }

/// Returns the file's contents; nothing if there is no file. Throws UsageError if it cannot be trusted,
/// SystemError if it cannot be read.
std::optional<std::string> contents_of(std::string const& path) {
    int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0 && errno == ENOENT) return std::nullopt;
    if (file < 0 && errno == ELOOP) throw UsageError("it is a symbolic link");
    if (file < 0) throw failure("open", errno);
    ScopeExit const closed([file] { ::close(file); });
    struct ::stat facts {};
    if (::fstat(file, &facts) != 0) throw failure("fstat", errno);
    if (!S_ISREG(facts.st_mode)) throw UsageError("it is no regular file");
    if (facts.st_uid != ::geteuid())
        throw UsageError(text("it belongs to user ", facts.st_uid, ", not to ", ::geteuid()));
    if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw UsageError("other users may write it (mode must be 0600)");
    if (facts.st_size > static_cast<::off_t>(TunedCache::most_bytes))
        throw UsageError(
            text("it has ", facts.st_size, " bytes (at most ", TunedCache::most_bytes, ')'));
    std::string words(static_cast<std::size_t>(facts.st_size), '\0');
    for (std::size_t at = 0; at < words.size();) {
        ::ssize_t const got = ::read(file, words.data() + at, words.size() - at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw failure("read", errno);
        if (got == 0) throw UsageError("it has become shorter while it was read");
        at += static_cast<std::size_t>(got);
    }
    return words;
}

/// Replaces a file by another with this text, readable for its owner alone. Throws SystemError.
void replace_file(std::string const& path, std::string_view words) {
    std::string const aside = text(path, '.', ::getpid());
    ::unlink(aside.c_str());
    int const file = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) throw failure("open", errno);
    int error = 0;
    while (!words.empty() && error == 0) {
        ::ssize_t const put = ::write(file, words.data(), words.size());
        if (put >= 0) words.remove_prefix(static_cast<std::size_t>(put));
        else if (errno != EINTR) error = errno;
    }
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && ::rename(aside.c_str(), path.c_str()) == 0) return;
    if (error == 0) error = errno;
    ::unlink(aside.c_str());
    throw failure("write", error);
}

}  // namespace

std::string TunedCache::Contents::text() const {
    std::string words =
        sinew::text(version, "topology ", topology, " saved ", saved, '\n', table.to_text());
    return sinew::text(words, "check ", check_of(words), '\n');
}

TunedCache::Contents TunedCache::Contents::parse(std::string_view words) {
    constexpr std::string_view last = "\ncheck ";
    if (!words.starts_with(version)) throw UsageError("it is not of this version of sinew");
    std::size_t const end = words.rfind(last);
    if (end == words.npos) throw UsageError("its end is missing");
    std::string_view const body = words.substr(0, end + 1);
    std::string_view rest = words.substr(end + last.size());
    std::uint64_t check = 0;
    if (!take_number(rest, check) || rest != "\n" || check != check_of(body))
        throw UsageError("its contents do not match its check sum");
    Contents found;
    rest = body.substr(version.size());
    if (!skip(rest, "topology ") || !take_number(rest, found.topology) || !skip(rest, " saved ") ||
        !take_number(rest, found.saved) || !skip(rest, "\n"))
        throw UsageError("line 2 does not say of which nodes it is, and from when");
    found.table = collectives::TunedTable::from_text(rest);
    return found;
}

collectives::TunedTable TunedCache::load(std::uint64_t topology, Time now) const noexcept try {
    auto const path = cache_file(name_of_file(key_));
    if (!path) return {};
    try {
        auto const words = contents_of(*path);
        if (!words) return {};
        Contents found = Contents::parse(*words);
        std::int64_t const today = seconds_of(now);
        if (found.topology != topology)
            throw UsageError("it is of other nodes, processors or network settings");
        if (found.saved > today || found.saved < today - seconds_of(Time(longest_age)))
            throw UsageError(
                text("it is older than ", longest_age.count(), " days, or from the future"));
        return std::move(found.table);
    } catch (Error const& error) {
        log_warning(text(*path, " is not used (", error.what(),
                         "). A job with SINEW_TUNE=online replaces it, or remove it"));
        return {};
    }
} catch (...) {
    return {};
}

void TunedCache::save(collectives::TunedTable const& table, std::uint64_t topology,
                      Time now) const noexcept try {
    auto const path = cache_file(name_of_file(key_));
    if (!path) return;
    try {
        std::filesystem::path const folder = std::filesystem::path(*path).parent_path();
        std::filesystem::create_directories(folder);
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
        replace_file(*path, Contents{topology, seconds_of(now), table}.text());
    } catch (std::exception const& error) {
        log_warning(text(*path, " cannot be written (", error.what(),
                         "), so the next job measures its calls again"));
    }
} catch (...) {
    // The next job measures again.
}

}  // namespace sinew::detail
