// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/client/submission.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/command_line/flags.hpp"
#include "launchers/command_line/take_flag.hpp"
#include "launchers/common/job_name.hpp"
#include "launchers/common/quantity.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {
namespace {

using Words = std::vector<std::string>;

// Flags that JobRequest has in fields of their own, or that are for this end.
constexpr std::array<std::string_view, 21> taken_here{
    "np",       "npernode", "name",  "gpu",     "x",       "env",   "genv",
    "genvlist", "env-file", "mca",   "pmixmca", "wdir",    "cpu",   "memory",
    "stdin",    "timeout",  "grace", "backend", "dry-run", "quiet", "detach"};
// Flags that name other hosts, or that need the files of this one.
constexpr std::array<std::string_view, 6> of_hosts{"hostfile",     "host",         "nnodes",
                                                   "launch-agent", "root-address", "log-buffer"};
// Flags of other backends: the command line's check has let through those that several share.
constexpr std::array<std::string_view, 5> of_containers{"image", "image-pull-policy", "shm",
                                                        "label", "accelerate"};

template <class List>
bool contains(List const& list, std::string_view key) {
    return std::ranges::find(list, key) != list.end();
}

Words words_for_server(RunOptions const& options) {
    Words words, rest = options.words;
    if (options.gpus > 0) words = {"--gpu", std::to_string(options.gpus)};
    for (;;) {
        auto const before = rest;
        auto const flag = take_flag(rest);
        if (!flag) {
            // The program; "--" before it was taken.
            words.insert(words.end(), before.begin(), before.end());
            return words;
        }
        auto const* const about = find_key(flag->key);
        if (contains(of_hosts, flag->key) || contains(of_containers, flag->key))
            throw UsageError(text(flag->origin, " is not for jobs of a server (--at)"));
        bool const is_ours = about != nullptr && about->topic == "service";
        if (is_ours || contains(taken_here, flag->key)) continue;
        auto const count = before.size() - rest.size();
        words.insert(words.end(), before.begin(),
                     before.begin() + static_cast<std::ptrdiff_t>(count));
    }
}

std::string command_of(App const& app) {
    std::string command;
    for (auto const& word : app.argv) command += (command.empty() ? "" : " ") + word;
    constexpr std::size_t longest = 1000;
    if (command.size() > longest) command.resize(longest);
    return command;
}

}  // namespace

JobRequest make_job_request(RunOptions const& options) {
    if (options.apps.size() != 1)
        throw UsageError(text(options.apps.size(),
                              " programs (':') in one job, but a job of a server (--at) has one. "
                              "Submit several jobs"));
    if (options.stdin_to != "0" && options.stdin_to != "none")
        throw UsageError(text("--stdin ", options.stdin_to,
                              " (jobs of a server, --at, have no standard input)"));
    auto const& app = options.apps.front();
    JobRequest request;
    auto const program = std::string_view(app.argv.front());
    request.name =
        options.name.empty() ? make_job_name(program.substr(program.rfind('/') + 1)) : options.name;
    request.words = words_for_server(options);
    request.command = command_of(app);
    request.env = options.env;
    for (auto const& [name, value] : app.env) request.env[name] = value;
    request.folder = options.folder;
    request.working_folder = app.folder;
    request.ranks = app.ranks > 0 ? app.ranks : std::max(options.per_node, 1);
    request.needs.gpus = options.gpus * request.ranks;
    auto const& shared = options.kubernetes;
    if (shared.cpu_given)
        request.needs.cpus = static_cast<int>(std::ceil(amount_of(shared.cpu) * request.ranks));
    if (!shared.memory.empty())
        request.needs.memory =
            static_cast<std::uint64_t>(std::ceil(amount_of(shared.memory) * request.ranks));
    request.priority = options.service.priority;
    if (options.timeout)
        request.limit = std::chrono::ceil<std::chrono::milliseconds>(*options.timeout);
    request.grace = std::chrono::ceil<std::chrono::milliseconds>(options.grace);
    request.keep = options.service.keep || options.detach;
    return request;
}

}  // namespace sinew::launch::service
