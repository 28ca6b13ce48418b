// SPDX-License-Identifier: Apache-2.0
#include "launchers/cli/preflight.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <sinew/error.hpp>

#include "launchers/agent/rank_environment.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

void check_folders(RunOptions const& options) {
    for (auto const& app : options.apps) {
        bool const elsewhere = app.folder.starts_with('/');
        if (options.folder.empty() && !elsewhere)
            throw UsageError(text("the working folder has been deleted, so ", app.argv.front(),
                                  " cannot be started in it. Change to another, or name one by "
                                  "--wdir /PATH"));
    }
    auto const& output = options.output_folder;
    if (output.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(output, error);
    if (!error && ::access(output.c_str(), W_OK | X_OK) != 0)
        error = std::error_code(errno, std::generic_category());
    if (error)
        throw UsageError(text("--output-filename ", output, " (no files can be created there: ",
                              error.message(), "). Name a folder that you may write to"));
}

void check_root_address(RunOptions const& options) {
    if (options.root_address.empty()) return;
    addrinfo const hints{.ai_flags = 0,
                         .ai_family = AF_UNSPEC,
                         .ai_socktype = SOCK_STREAM,
                         .ai_protocol = 0,
                         .ai_addrlen = 0,
                         .ai_addr = nullptr,
                         .ai_canonname = nullptr,
                         .ai_next = nullptr};
    addrinfo* found = nullptr;
    int const error = ::getaddrinfo(options.root_address.c_str(), nullptr, &hints, &found);
    if (error == 0) return ::freeaddrinfo(found);
    throw UsageError(text("--root-address ", options.root_address,
                          " (must be an address of this "
                          "host, or a name of it: ",
                          ::gai_strerror(error), ")"));
}

FirstCause check_programs(RunOptions const& options, JobMap const& map) {
    FirstCause found;
    std::set<int> seen;
    for (int rank = 0; rank < map.size(); ++rank) {
        auto const& place = map.ranks[rank];
        if (!seen.insert(place.app).second) continue;
        auto const& app = options.apps[place.app];
        FirstCause::Who const who{.rank = rank, .node = map.nodes[place.node].name, .pid = 0};
        if (!app.folder.empty() && ::access(app.folder.c_str(), X_OK) != 0) {
            found.rank_not_started(who, errno, "change to the folder " + app.folder);
            continue;
        }
        auto variables = own_variables();
        for (auto const& [name, value] : options.env) variables.insert_or_assign(name, value);
        auto const kind = inspect(app.argv, app.folder.empty() ? options.folder : app.folder,
                                  variables["PATH"], as_list(variables));
        if (kind.error != 0) found.rank_not_started(who, kind.error, kind.why);
    }
    return found;
}

}  // namespace sinew::launch
