// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model_cache.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/base/env.hpp"

namespace sinew::detail {

namespace fs = std::filesystem;

namespace {

std::optional<fs::path> folder() {
    if (auto const cache = env("XDG_CACHE_HOME")) return fs::path(*cache) / "sinew";
    if (auto const home = env("HOME")) return fs::path(*home) / ".cache" / "sinew";
    return std::nullopt;
}

fs::path file_of(fs::path const& folder, std::string const& key) {
    return folder / ("model-" + key + ".txt");
}

}  // namespace

std::optional<collectives::Model> load_model(std::string const& key) noexcept try {
    auto const where = folder();
    if (!where) return std::nullopt;
    std::ifstream file(file_of(*where, key));
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return collectives::Model::from_text(line);
} catch (...) {
    return std::nullopt;
}

void save_model(std::string const& key, collectives::Model const& model) noexcept try {
    auto const where = folder();
    if (!where) return;
    fs::create_directories(*where);
    fs::permissions(*where, fs::perms::owner_all);
    // Written aside and renamed: a reader sees a whole file or none.
    fs::path const aside = file_of(*where, key + "." + std::to_string(::getpid()));
    {
        std::ofstream file(aside);
        file << model.to_text() << '\n';
        if (!file.flush()) return fs::remove(aside), void();
    }
    fs::rename(aside, file_of(*where, key));
} catch (...) {
    // No cache then.
}

}  // namespace sinew::detail
