// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/agent_main.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <sinew/error.hpp>

#include "launchers/agent/agent.hpp"
#include "launchers/agent/command_copy.hpp"
#include "launchers/agent/init_process.hpp"
#include "launchers/common/exit_codes.hpp"
#include "src/base/log.hpp"
#include "src/base/system/secret_file.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr char help[] =
    "sinew agent [--config FILE]\n"
    "sinew agent --copy-to FOLDER\n\n"
    "Serves one node of one job. It is started by `sinew run` (or by what --launch-agent names) "
    "and\n"
    "reads its configuration, one line of JSON with the job's secret in it, from standard input,\n"
    "or from FILE, which must be yours and readable by you alone.\n\n"
    "It dials the root, starts this node's ranks, carries their output, and ends them when told "
    "to,\n"
    "on SIGTERM (a planned leave), or when the root is gone. Good as process 1 of a container.\n\n"
    "--copy-to copies sinew into an empty folder, with its libraries: FOLDER/bin/sinew then runs "
    "in\n"
    "a container whose image has neither sinew nor these libraries (sinew run --agent-image).\n";

AgentConfig configuration(std::vector<std::string> const& arguments) {
    if (arguments.empty()) return parse_config(read_secret_line(STDIN_FILENO));
    if (arguments.size() == 2 && arguments[0] == "--config")
        return parse_config(read_secret_file(arguments[1]));
    throw UsageError(text("sinew agent does not know ", arguments[0], ". See sinew agent --help"));
}

void raise_file_limit() {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

int serve(AgentConfig const& config, JobFolder& folder) {
    try {
        ::signal(SIGPIPE, SIG_IGN);
        raise_file_limit();
        wire::Loop loop;
        Agent agent(loop, config, folder);
        auto const signals =
            loop.signals({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}, [&](int number) {
                if (init_process_is_gone())
                    agent.give_up("its init_process was killed; ending the ranks");
                else if (number != SIGUSR1 && number != SIGUSR2) agent.leave();
            });
        accept_signals();
        int const code = agent.run();
        if (init_process_is_gone()) folder.remove();
        return code;
    } catch (std::exception const& problem) {
        log_warning(text("agent on ", config.name, ": ", problem.what()));
        return exit_launcher_failed;
    }
}

}  // namespace

int agent_main(std::vector<std::string> const& arguments) {
    if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
        std::cout << help;
        return 0;
    }
    if (arguments.size() == 2 && arguments[0] == "--copy-to") {
        std::cout << copy_command_to(arguments[1]) << '\n';
        return 0;
    }
    auto const config = configuration(arguments);
    // The agent needs no further input, and no later reader of standard input may find the secret.
    UniqueFd const null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), STDIN_FILENO);
    remove_stale_folders();
    JobFolder folder(text(config.job, "-", config.node, "-", config.incarnation));
    return guarded(folder, config.name, [&] { return serve(config, folder); });
}

}  // namespace sinew::launch
