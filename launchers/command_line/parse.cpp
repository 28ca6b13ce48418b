// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/parse.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>

#include <sinew/error.hpp>

#include "launchers/command_line/config.hpp"
#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/hosts/allocation.hpp"
#include "launchers/command_line/hosts/hostfile.hpp"
#include "launchers/command_line/take_flag.hpp"
#include "launchers/command_line/values.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

po::options_description const& description() {
    static po::options_description const keys = [] {
        po::options_description all;
        for (Flag const& flag : all_flags())
            all.add_options()(std::string(flag.key).c_str(), po::value<Words>());
        return all;
    }();
    return keys;
}

/// One program with its flags: the words up to a ':'.
struct Section {
    std::vector<Setting> settings;
    Words program;
};

std::vector<Words> split_programs(Words const& arguments) {
    std::vector<Words> sections(1);
    for (std::string const& word : arguments) {
        if (word == ":") sections.emplace_back();
        else sections.back().push_back(word);
    }
    return sections;
}

Section parse_section(Words const& words, std::string const& folder) {
    Section section;
    // All words after the program's name belong to the program. This function therefore splits the
    // words, as Boost's extra style parser; Boost sees no word that it could guess at.
    auto const take = [&](Words& rest) -> std::vector<po::option> {
        if (auto found = take_flag(rest)) {
            po::option option;
            option.string_key = found->key;
            option.value = {found->value};
            option.original_tokens = {found->origin};
            return {option};
        }
        section.program = std::move(rest);
        rest.clear();
        return {};
    };
    po::parsed_options const parsed =
        po::command_line_parser(words).options(description()).extra_style_parser(take).run();
    for (po::option const& option : parsed.options)
        section.settings.push_back(
            {option.string_key, option.value.front(), option.original_tokens.front(), folder});
    return section;
}

bool is_for_program(Setting const& setting) {
    return find_key(setting.key)->whose == Flag::For::program;
}

/// Merges the sources of settings. The nearest source must be added first.
class Sources {
public:
    explicit Sources(ProcessContext const& environment) : environment_(environment) {}

    void add(std::vector<Setting> const& settings) {
        Draft draft = check(settings);
        env_.merge(draft.env);
        env_.merge(draft.job_env);
        env_.merge(draft.file_env);
        for (std::string& note : draft.options.notes) notes_.push_back(std::move(note));
        bool const had_hosts = has_hosts_;
        if (!had_hosts) take_hosts(draft);
        po::parsed_options parsed(&description());
        for (Setting const& setting : settings)
            for (Setting const& part : expand(setting))
                if (!(had_hosts && part.key == "fake-nodes"))
                    parsed.options.emplace_back(part.key, Words{stored(part)});
        po::store(parsed, known_);  // does not overwrite known keys
    }

    /// Returns all except the programs. -n and --wdir of sources are in `ranks` and `wdir`.
    Draft finish() {
        Draft draft;
        draft.environment = &environment_;
        for (auto const& [key, values] : known_) {
            // add() has taken these from each source separately.
            static Words const done{"x",   "env",     "genv",     "genvlist", "env-file",
                                    "mca", "pmixmca", "hostfile", "host"};
            if (std::find(done.begin(), done.end(), key) != done.end()) continue;
            for (std::string const& value : values.as<Words>())
                apply(draft, {key, value, key, environment_.folder});
        }
        draft.options.env = std::move(env_);
        draft.options.hosts = std::move(hosts_);
        draft.options.notes = std::move(notes_);
        return draft;
    }

    bool has_hosts() const { return has_hosts_; }

    Draft check(std::vector<Setting> const& settings) const {
        Draft draft;
        draft.environment = &environment_;
        for (Setting const& setting : settings)
            for (Setting const& part : expand(setting)) apply(draft, part);
        return draft;
    }

private:
    /// Paths are relative to the folder of their source, so they are resolved while it is known.
    std::string stored(Setting const& part) const {
        static Words const paths{"wdir", "output-filename", "pod-template", "kubeconfig",
                                 "key",  "services"};
        // What follows a ':' is a path of containers.
        if (part.key == "mount")
            return resolve(part.value.substr(0, part.value.find(':')), part.folder,
                           environment_.home) +
                   part.value.substr(std::min(part.value.find(':'), part.value.size()));
        bool const path = std::find(paths.begin(), paths.end(), part.key) != paths.end();
        return path ? resolve(part.value, part.folder, environment_.home) : part.value;
    }

    void take_hosts(Draft const& draft) {
        has_hosts_ =
            !draft.hostfiles.empty() || !draft.host_lists.empty() || draft.options.fake_nodes > 0;
        for (Setting const& file : draft.hostfiles)
            for (HostRequest& host :
                 read_hostfile(resolve(file.value, file.folder, environment_.home)))
                hosts_.push_back(std::move(host));
        if (draft.host_lists.empty()) return;
        bool const selects = !draft.hostfiles.empty();
        std::vector<HostRequest> chosen;
        for (Setting const& list : draft.host_lists) {
            auto wanted = parse_host_list(list.value, list.origin, selects ? 0 : 1);
            if (selects) wanted = select_hosts(hosts_, wanted, list.origin);
            chosen.insert(chosen.end(), wanted.begin(), wanted.end());
        }
        hosts_ = std::move(chosen);
    }

    ProcessContext const& environment_;
    po::variables_map known_;
    std::map<std::string, std::string> env_;
    std::vector<HostRequest> hosts_;
    std::vector<std::string> notes_;
    bool has_hosts_ = false;
};

/// Throws UsageError for job-wide flags after a ':', which would have no effect.
void refuse_job_flags(Section const& section) {
    for (Setting const& setting : section.settings)
        if (!is_for_program(setting))
            throw UsageError(text(setting.origin,
                                  " after a ':' (it is for the whole job). Put it "
                                  "before the first program"));
}

App make_app(Sources const& sources, Section const& section, ProcessContext const& environment) {
    std::vector<Setting> settings;
    std::copy_if(section.settings.begin(), section.settings.end(), std::back_inserter(settings),
                 is_for_program);
    Draft const draft = sources.check(settings);
    std::string const folder =
        draft.wdir.empty() ? "" : resolve(draft.wdir, environment.folder, environment.home);
    return {section.program, draft.ranks, folder, draft.env};
}

void check_program(Section const& section, std::size_t index, std::size_t count) {
    if (!section.program.empty() && !section.program.front().empty()) return;
    if (count > 1)
        throw UsageError(text("program ", index + 1, " of ", count,
                              " is missing (each goes between two ':'). Name it after its flags"));
    throw UsageError("no program to run. Name it after the flags: sinew run -n 4 ./program");
}

std::vector<Section> parse_sections(Words const& arguments, ProcessContext const& environment) {
    std::vector<Section> sections;
    for (Words const& words : split_programs(arguments)) {
        sections.push_back(parse_section(words, environment.folder));
        if (sections.size() > 1) refuse_job_flags(sections.back());
    }
    return sections;
}

void add_files(Sources& sources, ProcessContext const& environment) {
    auto const xdg = environment.variables.find("XDG_CONFIG_HOME");
    std::string base = environment.home.empty() ? "" : environment.home + "/.config";
    if (xdg != environment.variables.end() && xdg->second.rfind('/', 0) == 0) base = xdg->second;
    if (!base.empty()) base += "/sinew";
    if (!environment.folder.empty()) sources.add(read_folder_config(environment, base));
    if (base.empty()) return;
    std::string const path = base + "/config";
    sources.add(read_config(path, path, environment.user));
}

/// Uses the image that programs that acquire nodes use, too, if no other is named.
void take_image(RunOptions& options, ProcessContext const& environment) {
    for (auto const* name : {"SINEW_IMAGE", "FIBER_IMAGE"})
        if (auto const at = environment.variables.find(name);
            options.kubernetes.image.empty() && at != environment.variables.end())
            options.kubernetes.image = at->second;
}

/// Uses the allocation's hosts unless --backend is local. Requires: no source names hosts.
void take_allocation(RunOptions& options, ProcessContext const& environment) {
    if (options.backend == "local" || options.backend == "docker" || !options.service.at.empty())
        return;
    auto found = find_allocation(environment);
    if (!found || (options.backend == "slurm" && !found->of_slurm)) return;
    options.hosts = std::move(found->hosts);
    options.hosts_from = std::move(found->source);
    options.by_srun = found->by_srun;
}

}  // namespace

ProcessContext ProcessContext::of_process() {
    ProcessContext environment;
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
        std::string_view const entry = *at;
        std::size_t const equals = entry.find('=');
        if (equals != std::string_view::npos && equals > 0)
            environment.variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    std::error_code gone;  // a current folder may have been removed
    environment.folder = std::filesystem::current_path(gone).string();
    if (auto const home = environment.variables.find("HOME"); home != environment.variables.end())
        environment.home = home->second;
    environment.user = ::geteuid();
    return environment;
}

RunOptions parse_run(Words const& arguments, ProcessContext const& environment) {
    std::vector<Section> sections = parse_sections(arguments, environment);
    bool const single = sections.size() == 1;
    Sources sources(environment);
    std::vector<App> apps;
    for (Section const& section : sections) apps.push_back(make_app(sources, section, environment));
    std::vector<Setting>& first = sections.front().settings;
    if (!single)  // they belong to the first program only
        first.erase(std::remove_if(first.begin(), first.end(), is_for_program), first.end());
    sources.add(first);
    if (RunOptions const asked = sources.check(first).options; asked.help || asked.version)
        return asked;
    for (std::size_t i = 0; i < sections.size(); ++i)
        check_program(sections[i], i, sections.size());
    sources.add(environment_settings(environment));
    add_files(sources, environment);

    Draft draft = sources.finish();
    if (!sources.has_hosts()) take_allocation(draft.options, environment);
    for (App& app : apps) {
        if (single) app.env.clear();  // they are in the job's environment
        if (single && app.ranks == 0) app.ranks = draft.ranks;
        if (app.folder.empty()) app.folder = draft.wdir;
        if (!single && app.ranks == 0)
            throw UsageError(text(app.argv.front(),
                                  " has no -n (each of several programs needs "
                                  "its own)"));
    }
    // Configuration files may have settings for backends that are not used.
    RunOptions const said = sources.check(first).options;
    draft.options.kubernetes.first_flag = said.kubernetes.first_flag;
    draft.options.detach_flag = said.detach_flag;
    draft.options.kubernetes.shared_flag = said.kubernetes.shared_flag;
    draft.options.slurm.first_flag = said.slurm.first_flag;
    draft.options.docker.first_flag = said.docker.first_flag;
    draft.options.service.first_flag = said.service.first_flag;
    if (draft.options.backend == "docker") take_image(draft.options, environment);
    draft.options.words = arguments;
    draft.options.folder = environment.folder;
    draft.options.apps = std::move(apps);
    return std::move(draft.options);
}

}  // namespace sinew::launch
