// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sinew/error.hpp>

#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/parse.hpp"
#include "launchers/command_line/values.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::string_view prefix = "SINEW_RUN_";
constexpr std::size_t longest_file = std::size_t{1} << 20;

/// Whether `key` can be set outside of the command line, which help and version cannot.
bool is_key(std::string_view key) {
    return key != "help" && key != "version" && find_key(key) != nullptr;
}

std::string_view nearest_key(std::string_view key) {
    std::vector<std::string_view> keys;
    for (Flag const& flag : all_flags())
        if (is_key(flag.key)) keys.push_back(flag.key);
    return nearest(key, keys);
}

std::string variable_of(std::string_view key) {
    std::string name(prefix);
    for (char const c : key) {
        if (c == '-') name += '_';
        else name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return name;
}

std::string_view without_comment(std::string_view line) {
    for (std::size_t at = 0; at < line.size(); ++at)
        if (line[at] == '#' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t'))
            return line.substr(0, at);
    return line;
}

void check_owner(struct stat const& file, std::string const& shown, unsigned user) {
    if (!S_ISREG(file.st_mode)) throw UsageError(text(shown, " (not a regular file). Remove it"));
    if (file.st_uid != user && file.st_uid != 0)
        throw UsageError(text(shown, " belongs to user ", file.st_uid, " (it must be yours, user ",
                              user,
                              ", as it may say which commands are run). Remove it, or run "
                              "from another folder"));
    if ((file.st_mode & (S_IWOTH | S_IWGRP)) != 0)
        throw UsageError(text(shown, " can be written by ",
                              (file.st_mode & S_IWOTH) != 0 ? "everybody" : "its group",
                              " (and it may say which commands are run). Run: chmod go-w ", shown));
}

std::string read_all(int fd, std::string const& shown) {
    std::string content;
    char buffer[4096];
    for (;;) {
        ssize_t const bytes = ::read(fd, buffer, sizeof buffer);
        if (bytes == 0) return content;
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0)
            throw UsageError(text(shown, " cannot be read (", std::strerror(errno), ")"));
        content.append(buffer, static_cast<std::size_t>(bytes));
        if (content.size() > longest_file)
            throw UsageError(text(shown, " is longer than ", longest_file, " bytes. Shorten it"));
    }
}

// Whether `key` sets commands to run, or variables, which may name commands and libraries.
bool is_for_trusted(std::string_view key) {
    constexpr std::array<std::string_view, 7> keys{"launch-agent", "x",   "env",    "genv",
                                                   "env-file",     "mca", "pmixmca"};
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

std::vector<Setting> environment_settings(ProcessContext const& environment) {
    std::vector<Setting> settings;
    auto at = environment.variables.lower_bound(std::string(prefix));
    for (; at != environment.variables.end(); ++at) {
        auto const& [name, value] = *at;
        if (name.compare(0, prefix.size(), prefix) != 0) break;
        if (value.empty()) continue;
        std::string key = lower(name.substr(prefix.size()));
        std::replace(key.begin(), key.end(), '_', '-');
        if (!is_key(key)) {
            std::string_view const like = nearest_key(key);
            throw UsageError(text("unknown variable ", name, "=", value,
                                  like.empty() ? ". 'sinew help environment' lists them. Unset it"
                                               : ". Did you mean " + variable_of(like) + "?"));
        }
        settings.push_back({key, value, text(name, "=", value), environment.folder});
    }
    return settings;
}

std::vector<Setting> parse_config(std::string_view content, std::string const& name) {
    std::vector<Setting> settings;
    std::size_t number = 0;
    for (std::string const& line : split(content, '\n')) {
        ++number;
        std::string_view const words = trim(without_comment(line));
        if (words.empty()) continue;
        std::string const origin = text(name, ":", number, ": ", words);
        std::size_t const equals = words.find('=');
        if (equals == std::string_view::npos)
            throw UsageError(text(origin, " (must be key = value, such as tag-output = yes)"));
        std::string const key(trim(words.substr(0, equals)));
        if (!is_key(key)) {
            std::string_view const like = nearest_key(key);
            throw UsageError(text(origin, " (unknown key ", key, ")",
                                  like.empty() ? ". 'sinew help environment' lists them"
                                               : text(". Did you mean ", like, "?")));
        }
        settings.push_back({key, std::string(trim(words.substr(equals + 1))), origin, ""});
    }
    return settings;
}

std::vector<Setting> read_config(std::string const& path, std::string const& shown, unsigned user) {
    // Opens without blocking, because the file may be a pipe.
    UniqueFd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) {
        if (errno == ENOENT || errno == ENOTDIR) return {};
        throw UsageError(text(shown, " cannot be opened (", std::strerror(errno),
                              "). Make it readable, or remove it"));
    }
    struct stat file {};
    if (::fstat(fd.get(), &file) != 0)
        throw UsageError(text(shown, " cannot be examined (", std::strerror(errno), ")"));
    check_owner(file, shown, user);
    std::vector<Setting> settings = parse_config(read_all(fd.get(), shown), shown);
    std::string const folder = path.substr(0, path.rfind('/'));
    for (Setting& setting : settings) setting.folder = folder;
    return settings;
}

std::vector<Setting> read_folder_config(ProcessContext const& environment,
                                        std::string const& configuration_folder) {
    auto settings = read_config(environment.folder + "/.sinewrc", ".sinewrc", environment.user);
    auto const doubtful =
        std::find_if(settings.begin(), settings.end(),
                     [](Setting const& setting) { return is_for_trusted(setting.key); });
    if (doubtful == settings.end()) return settings;
    std::string const list = configuration_folder + "/trusted";
    UniqueFd const fd(::open(list.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat file {};
    if (!configuration_folder.empty() && fd && ::fstat(fd.get(), &file) == 0) {
        check_owner(file, list, environment.user);
        for (std::string const& line : split(read_all(fd.get(), list), '\n'))
            if (trim(line) == environment.folder) return settings;
    }
    throw UsageError(text(doubtful->origin,
                          " (it may say which commands are run, and came with the folder ",
                          environment.folder,
                          ", which is not among those that you trust). Say it by a flag, or, "
                          "if you know who wrote it: echo '",
                          environment.folder, "' >> ",
                          configuration_folder.empty() ? "~/.config/sinew/trusted" : list));
}

}  // namespace sinew::launch
