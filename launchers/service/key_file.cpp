// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/key_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <sinew/error.hpp>
#include <span>

#include "src/base/env.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/secret_file.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

/// Of 32 random bytes, fewer than 16 different ones are expected once in 10^16 keys.
constexpr std::size_t least_different_bytes = 16;

}  // namespace

wire::Secret read_key(std::string const& path) {
    std::string line;
    try {
        line = read_secret_file(path);
    } catch (SystemError const& problem) {
        throw UsageError(text("the key ", problem.what(), ". sinew serve --new-key ", path,
                              " makes one; clients need the same as the server"));
    }
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    try {
        auto const secret = wire::Secret::from_hex(line);
        wipe(line);
        auto const bytes = secret.bytes();
        if (std::set<std::byte>(bytes.begin(), bytes.end()).size() < least_different_bytes)
            throw UsageError("it is not random");
        return secret;
    } catch (UsageError const& problem) {
        wipe(line);
        throw UsageError(text("the key in ", path, " is not usable (", problem.what(),
                              "). sinew serve --new-key FILE makes one"));
    }
}

void create_key(std::string const& path) {
    UniqueFd const file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        throw UsageError(text("the key ", path, " cannot be created (", std::strerror(errno),
                              "). Remove the file, or name another"));
    auto line = wire::Secret::random().hex() + "\n";
    bool const written =
        write_all(file.get(), std::as_bytes(std::span(line))) && ::fsync(file.get()) == 0;
    int const error = errno;
    wipe(line);
    if (written) return;
    ::unlink(path.c_str());
    throw SystemError(text("the key ", path, " cannot be written (", std::strerror(error), ")"),
                      error);
}

std::string key_path(std::string const& given) {
    return given.empty() ? configuration_folder() + "/key" : given;
}

std::string configuration_folder() {
    if (auto const folder = env("XDG_CONFIG_HOME"); folder && folder->front() == '/')
        return *folder + "/sinew";
    if (auto const home = env("HOME")) return *home + "/.config/sinew";
    throw UsageError("HOME is not set, so that there is no ~/.config/sinew. Set it, or name files");
}

}  // namespace sinew::launch::service
