// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/slurm_settings.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using SlurmText = std::string SlurmOptions::*;

// A word of Slurm's command lines. The commands check what it means.
std::string to_slurm_word(Setting const& setting) {
    auto const is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (setting.value.empty() || std::ranges::any_of(setting.value, is_control))
        bad_value(setting, "a value for Slurm, without control characters");
    return setting.value;
}

Setter slurm_word(SlurmText field) {
    return [=](Draft& d, Setting const& s) { d.options.slurm.*field = to_slurm_word(s); };
}

Setter slurm_flag(bool SlurmOptions::*field) {
    return [=](Draft& d, Setting const& s) { d.options.slurm.*field = to_flag(s); };
}

void set_slurm_time(Draft& draft, Setting const& setting) {
    auto const is_part = [](char c) { return (c >= '0' && c <= '9') || c == ':' || c == '-'; };
    bool const is_time = !setting.value.empty() && std::ranges::all_of(setting.value, is_part);
    if (!is_time && lower(setting.value) != "unlimited")
        bad_value(setting, "minutes, or a time as Slurm writes it: 30, 1:30:00, 2-12");
    draft.options.slurm.time = setting.value;
}

void add_slurm_argument(Draft& draft, Setting const& setting) {
    struct Own {
        std::string_view name, instead;
    };
    // What `sinew run` finds its own job and output by.
    static constexpr std::array own{Own{"--job-name", "--name"},
                                    Own{"-J", "--name"},
                                    Own{"--output", "-d, or redirect the output"},
                                    Own{"-o", "-d, or redirect the output"},
                                    Own{"--error", "-d, or redirect the output"},
                                    Own{"-e", "-d, or redirect the output"},
                                    Own{"--comment", "--name"},
                                    Own{"--parsable", "-d"},
                                    Own{"--wrap", "the program"},
                                    Own{"--array", "several jobs"},
                                    Own{"-a", "several jobs"},
                                    Own{"--wait", "no -d"},
                                    Own{"-W", "no -d"},
                                    Own{"--chdir", "--wdir"},
                                    Own{"-D", "--wdir"}};
    auto const word = to_slurm_word(setting);
    if (word.front() != '-')
        bad_value(setting, "an option of sbatch in one word: --slurm-arg=--mem=4G");
    auto const name = std::string_view(word).substr(0, word.find('='));
    for (auto const& each : own) {
        bool const is_short = each.name.size() == 2 && word.starts_with(each.name);
        if (name == each.name || is_short)
            bad_value(setting, text("another option, as sinew run sets ", each.name, ". Use ",
                                    each.instead));
    }
    draft.options.slurm.arguments.push_back(word);
}

// clang-format off
std::map<std::string_view, Setter> const slurm_setters{
    {"partition", slurm_word(&SlurmOptions::partition)},
    {"account", slurm_word(&SlurmOptions::account)},
    {"qos", slurm_word(&SlurmOptions::qos)},
    {"time", set_slurm_time},
    {"gres", slurm_word(&SlurmOptions::gres)},
    {"constraint", slurm_word(&SlurmOptions::constraint)},
    {"exclusive", slurm_flag(&SlurmOptions::exclusive)},
    {"slurm-arg", add_slurm_argument},
    {"native", slurm_flag(&SlurmOptions::native)},
};
// clang-format on

}  // namespace

Setter slurm_setter(std::string_view key) {
    auto const at = slurm_setters.find(key);
    if (at == slurm_setters.end()) return nullptr;
    return [set = at->second](Draft& draft, Setting const& setting) {
        set(draft, setting);
        if (auto& first = draft.options.slurm.first_flag; first.empty()) first = setting.origin;
    };
}

}  // namespace sinew::launch
