// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model_cache.hpp"

#include "src/base/cache_file.hpp"

namespace sinew::detail {

std::optional<collectives::Model> load_model(std::string const& key) noexcept try {
    auto const line = cached_line("model-" + key);
    if (!line) return std::nullopt;
    return collectives::Model::from_text(*line);
} catch (...) {
    return std::nullopt;
}

void save_model(std::string const& key, collectives::Model const& model) noexcept try {
    cache_line("model-" + key, model.to_text());
} catch (...) {
    // The model is not cached then.
}

}  // namespace sinew::detail
