// SPDX-License-Identifier: Apache-2.0
#include "launchers/slurm/native.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sinew/error.hpp>

#include "launchers/slurm/submission.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::slurm {
namespace {

void refuse_what_agents_do(RunOptions const& options) {
    auto const refuse = [](bool asked, std::string_view what, std::string_view instead) {
        if (asked)
            throw UsageError(
                text(what, " with --native (srun starts the ranks, and has none). ", instead));
    };
    std::string_view const without = "Leave out --native";
    refuse(options.apps.size() > 1, "several programs", without);
    refuse(options.max_restarts > 0, "--max-restarts", without);
    refuse(options.timeout.has_value(), "--timeout", "Say --time");
    refuse(options.output == OutputFormat::json, "--output json", without);
    refuse(!options.output_folder.empty(), "--output-filename", without);
    refuse(options.timestamp_output, "--timestamp-output", without);
    refuse(!options.accelerate.empty(), "--accelerate", without);
    refuse(options.detach, "--detach", without);
    refuse(!options.hosts.empty() && options.hosts_from.empty(), "-H or --hostfile",
           "Say --slurm-arg=--nodelist=HOSTS");
}

}  // namespace

Words native_words(RunOptions const& options) {
    refuse_what_agents_do(options);
    static constexpr char const* mpis[] = {"pmix", "pmix", "pmi2", "none"};
    static constexpr char const* bindings[] = {"", "cores", "sockets", "none"};
    auto const& app = options.apps.front();
    Words words{"srun", text("--mpi=", mpis[static_cast<int>(options.mpi)]),
                text("--kill-on-bad-exit=", options.kill_on_failure ? 1 : 0), "--export=ALL"};
    for (auto& word : resource_words(options)) words.push_back(std::move(word));
    if (options.gpus > 0) words.push_back(text("--gpus-per-task=", options.gpus));
    if (options.map_by == MapBy::node) words.emplace_back("--distribution=cyclic");
    if (options.oversubscribe.value_or(false)) words.emplace_back("--overcommit");
    if (auto const* const binding = bindings[static_cast<int>(options.bind_to)]; *binding != 0)
        words.push_back(text("--cpu-bind=", binding));
    if (options.tag_output) words.emplace_back("--label");
    if (!app.folder.empty()) words.push_back("--chdir=" + app.folder);
    words.push_back("--input=" + options.stdin_to);  // srun's default is all
    words.insert(words.end(), app.argv.begin(), app.argv.end());
    return words;
}

int run_native(RunOptions const& options) {
    auto words = native_words(options);
    if (options.dry_run) {
        for (auto const& word : words) std::cout << word << ' ';
        std::cout << "\nbackend: slurm (native)\n";
        return 0;
    }
    for (auto const& [name, value] : options.env) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv.front(), argv.data());
    throw SystemError(text("srun cannot be executed (", std::strerror(errno),
                           "). Debian: apt-get install slurm-client"),
                      errno);
}

}  // namespace sinew::launch::slurm
