// SPDX-License-Identifier: Apache-2.0
#include "src/base/cache_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "src/base/env.hpp"

namespace sinew {

namespace fs = std::filesystem;

namespace {

std::optional<fs::path> cache_folder() {
    if (auto const cache = env("XDG_CACHE_HOME")) return fs::path(*cache) / "sinew";
    if (auto const home = env("HOME")) return fs::path(*home) / ".cache" / "sinew";
    return std::nullopt;
}

fs::path cache_path(fs::path const& folder, std::string const& name) {
    return folder / (name + ".txt");
}

}  // namespace

std::optional<std::string> cached_line(std::string const& name) noexcept try {
    auto const where = cache_folder();
    if (!where) return std::nullopt;
    std::ifstream file(cache_path(*where, name));
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return line;
} catch (...) {
    return std::nullopt;
}

void cache_line(std::string const& name, std::string const& line) noexcept try {
    auto const where = cache_folder();
    if (!where) return;
    fs::create_directories(*where);
    fs::permissions(*where, fs::perms::owner_all);
    // Write a temporary file and rename it, so that a reader sees a whole file or none.
    fs::path const aside = cache_path(*where, name + "." + std::to_string(::getpid()));
    {
        std::ofstream file(aside);
        file << line << '\n';
        if (!file.flush()) return fs::remove(aside), void();
    }
    fs::rename(aside, cache_path(*where, name));
} catch (...) {
    // The line is not cached then.
}

std::optional<std::string> cache_file(std::string const& name) {
    auto const where = cache_folder();
    if (!where) return std::nullopt;
    return cache_path(*where, name).string();
}

std::string cache_word(std::string word) {
    std::replace_if(
        word.begin(), word.end(),
        [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.'; },
        '_');
    return word;
}

}  // namespace sinew
