// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model/model_cache.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "src/base/cache_file.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

/// Removes "key=number " from the front of `rest`.
template <class Number>
bool take(std::string_view& rest, std::string_view key, Number& number) {
    if (!rest.starts_with(key)) return false;
    rest.remove_prefix(key.size());
    auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc{} || !rest.starts_with(' ')) return false;
    rest.remove_prefix(1);
    return true;
}

std::string to_line(CachedModel const& fitted) {
    return text("fitted=", fitted.fitted.time_since_epoch().count(), " topology=", fitted.topology,
                ' ', fitted.model.to_text());
}

std::optional<CachedModel> from_line(std::string const& line) noexcept try {
    CachedModel found;
    std::string_view rest = line;
    std::int64_t seconds = 0;
    if (!take(rest, "fitted=", seconds) || !take(rest, "topology=", found.topology))
        return std::nullopt;
    found.fitted = std::chrono::sys_seconds(std::chrono::seconds(seconds));
    found.model = collectives::Model::from_text(std::string(rest));
    return found;
} catch (...) {
    return std::nullopt;
}

bool is_current(CachedModel const& found, std::uint64_t topology, std::chrono::sys_seconds now) {
    return found.topology == topology && found.fitted <= now &&
           found.fitted >= now - ModelCache::longest_age;
}

}  // namespace

std::string ModelCache::name(std::size_t slot) const { return text("model-", key_, '-', slot + 1); }

std::vector<CachedModel> ModelCache::load(std::uint64_t topology,
                                          std::chrono::sys_seconds now) const noexcept try {
    std::vector<CachedModel> found;
    for (std::size_t slot = 0; slot < slots; ++slot) {
        auto const line = cached_line(name(slot));
        auto const model = line ? from_line(*line) : std::nullopt;
        if (model && is_current(*model, topology, now)) found.push_back(*model);
    }
    return found;
} catch (...) {
    return {};
}

void ModelCache::save(CachedModel const& fitted) const noexcept try {
    std::size_t place = 0;
    auto oldest = std::chrono::sys_seconds::max();
    for (std::size_t slot = 0; slot < slots; ++slot) {
        auto const line = cached_line(name(slot));
        auto const model = line ? from_line(*line) : std::nullopt;
        bool const kept = model && is_current(*model, fitted.topology, fitted.fitted);
        auto const age = kept ? model->fitted : std::chrono::sys_seconds::min();
        if (age >= oldest) continue;
        oldest = age;
        place = slot;
    }
    cache_line(name(place), to_line(fitted));
} catch (...) {
    // The model is not cached then.
}

}  // namespace sinew::detail
