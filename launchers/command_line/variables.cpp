// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <sinew/error.hpp>

#include "launchers/command_line/parse.hpp"
#include "launchers/command_line/values.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using Variables = std::map<std::string, std::string>;

/// Copies a variable of this process. An unset variable is not an error, because scripts use -x
/// LD_LIBRARY_PATH whether or not it is set.
void take_mine(Draft& draft, Setting const& setting, std::string const& name, Variables& into) {
    Variables const& mine = draft.environment->variables;
    if (!name.empty() && name.back() == '*') {
        std::string const prefix = name.substr(0, name.size() - 1);
        bool found = false;
        for (auto at = mine.lower_bound(prefix);
             at != mine.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at) {
            into[at->first] = at->second;
            found = true;
        }
        if (found) return;
    } else if (auto const at = mine.find(name); at != mine.end()) {
        into[name] = at->second;
        return;
    }
    draft.options.notes.push_back(
        text(setting.origin, " (", name, " is not set here, so the ranks do not get it)"));
}

/// Handles "VAR=VALUE", "VAR" and "VAR*".
void set_assignment(Draft& draft, Setting const& setting, std::string const& words,
                    Variables& into) {
    std::size_t const equals = words.find('=');
    std::string const name = words.substr(0, equals);
    if (name.empty() || name.find_first_of(" \t\n") != std::string::npos)
        bad_value(setting, "VAR=VALUE, or VAR to take mine");
    if (words.find('\0') != std::string::npos) bad_value(setting, "without a zero byte");
    if (equals == std::string::npos) take_mine(draft, setting, name, into);
    else into[name] = words.substr(equals + 1);
}

/// The flag that replaces an MCA parameter of Open MPI's launcher; null if there is none.
char const* replaced(std::string const& key) {
    struct Row {
        std::string_view prefix;
        char const* instead;
    };
    for (Row const& row :
         {Row{"plm_rsh_agent", "--launch-agent"}, Row{"plm_", "--backend"},
          Row{"ras_", "--backend"}, Row{"rmaps_base_oversubscribe", "--oversubscribe"},
          Row{"rmaps_", "--map-by"}, Row{"hwloc_base_binding_policy", "--bind-to"},
          Row{"orte_tag_output", "--tag-output"}, Row{"iof_", "--output"}})
        if (key.compare(0, row.prefix.size(), row.prefix) == 0) return row.instead;
    return nullptr;
}

/// Splits "KEY=VALUE" at the '=' or the blank. Flags with two words arrive joined by '='; in a file
/// they may be written as on the command line.
std::pair<std::string, std::string> take_apart(Setting const& setting) {
    std::size_t const at = setting.value.find_first_of("= ");
    if (at == 0 || at == std::string::npos) bad_value(setting, "a name and a value");
    std::string_view const value = std::string_view(setting.value).substr(at + 1);
    bool const by_blank = setting.value[at] == ' ';
    return {setting.value.substr(0, at), std::string(by_blank ? trim(value) : value)};
}

}  // namespace

void set_variable(Draft& draft, Setting const& setting) {
    set_assignment(draft, setting, setting.value, draft.env);
}

void set_variable_list(Draft& draft, Setting const& setting) {
    for (std::string const& name : split(setting.value, ',')) {
        if (name.empty() || name.find('=') != std::string::npos)
            bad_value(setting, "names of variables, separated by commas");
        take_mine(draft, setting, name, draft.job_env);
    }
}

void read_env_file(Draft& draft, Setting const& setting) {
    std::string const path = resolve(setting.value, setting.folder, draft.environment->home);
    std::size_t number = 0;
    for (std::string const& line : split(read_text(path, "the --env-file"), '\n')) {
        ++number;
        std::string_view const words = trim(line);
        if (words.empty() || words.front() == '#') continue;
        Setting const at{setting.key, std::string(words),
                         text(setting.value, ":", number, ": ", words), setting.folder};
        set_assignment(draft, at, at.value, draft.file_env);
    }
}

void set_mca(Draft& draft, Setting const& setting) {
    auto const [key, value] = take_apart(setting);
    if (char const* const instead = replaced(key))
        draft.options.notes.push_back(text(setting.origin, " (", key,
                                           " was for Open MPI's launcher and has no effect on "
                                           "this one). See ",
                                           instead));
    draft.job_env["OMPI_MCA_" + key] = value;
}

std::function<void(Draft&, Setting const&)> set_pair(std::string prefix) {
    return [prefix = std::move(prefix)](Draft& draft, Setting const& setting) {
        auto const [key, value] = take_apart(setting);
        (setting.key == "env" ? draft.env : draft.job_env)[prefix + key] = value;
    };
}

}  // namespace sinew::launch
