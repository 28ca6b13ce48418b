// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/service_settings.hpp"

#include <charconv>
#include <map>

#include "launchers/command_line/parse.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr int most_service_priority = 1000;

Setter service_word(std::string ServiceOptions::*field) {
    return [=](Draft& d, Setting const& s) { d.options.service.*field = to_words(s); };
}

// A path is relative to the folder of the setting's source.
Setter service_path(std::string ServiceOptions::*field) {
    return [=](Draft& d, Setting const& s) {
        auto const home = d.environment == nullptr ? "" : d.environment->home;
        d.options.service.*field = resolve(to_words(s), s.folder, home);
    };
}

void set_priority(Draft& draft, Setting const& setting) {
    int value = 0;
    auto const* const end = setting.value.data() + setting.value.size();
    auto const [last, error] = std::from_chars(setting.value.data(), end, value);
    if (error != std::errc() || last != end || value < -most_service_priority ||
        value > most_service_priority)
        bad_value(setting, text("a whole number from -", most_service_priority, " to ",
                                most_service_priority));
    draft.options.service.priority = value;
}

// clang-format off
std::map<std::string_view, Setter> const service_setters{
    {"at", service_word(&ServiceOptions::at)},
    {"key", service_path(&ServiceOptions::key)},
    {"registry", service_word(&ServiceOptions::registry)},
    {"services", service_path(&ServiceOptions::services)},
    {"priority", set_priority},
    {"keep", [](Draft& d, Setting const& s) { d.options.service.keep = to_flag(s); }},
};
// clang-format on

}  // namespace

Setter service_setter(std::string_view key) {
    auto const at = service_setters.find(key);
    if (at == service_setters.end()) return nullptr;
    return [set = at->second](Draft& draft, Setting const& setting) {
        set(draft, setting);
        if (auto& first = draft.options.service.first_flag; first.empty()) first = setting.origin;
    };
}

}  // namespace sinew::launch
