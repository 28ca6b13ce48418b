// SPDX-License-Identifier: Apache-2.0
// The `sinew` command: runs the verb that its first argument names, and reports failures.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <sinew/error.hpp>
#include <string>
#include <vector>

#include "launchers/acquire/acquire_main.hpp"
#include "launchers/agent/agent_main.hpp"
#include "launchers/cli/doctor.hpp"
#include "launchers/cli/info.hpp"
#include "launchers/cli/run_main.hpp"
#include "launchers/cli/serve_main.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/dashboard/dashboard_main.hpp"
#include "launchers/docker/container_main.hpp"
#include "launchers/pods/pod_main.hpp"
#include "launchers/service/job/supervisor.hpp"
#include "launchers/verbs/cluster/cluster_verbs.hpp"
#include "launchers/verbs/verbs.hpp"

namespace {

using namespace sinew::launch;

int perform(std::string const& verb, std::vector<std::string> const& arguments) {
    if (verb == "run") return run_main(arguments);
    if (verb == "agent") return is_for_pod(arguments) ? pod_main(arguments) : agent_main(arguments);
    if (verb == "acquire") return acquire_main(arguments);
    if (verb == "container") return container_main(arguments);
    if (verb == "serve") return serve_main(arguments, std::cout);
    if (verb == "registry") return registry_main(arguments, std::cout);
    if (verb == "supervise") return supervise_main(arguments);
    if (verb == "dashboard") return dashboard_main(arguments);
    if (verb == "info") return info_main(arguments, std::cout, std::cerr);
    if (verb == "doctor") return doctor_main(arguments, std::cout, std::cerr);
    if (verb == "ps") return ps_main(arguments, std::cout);
    if (verb == "logs") return logs_main(arguments, std::cout, std::cerr);
    if (verb == "attach") return attach_main(arguments, std::cout, std::cerr);
    if (verb == "stop") return stop_main(arguments, std::cout, std::cerr);
#if SINEW_HAVE_K8S
    if (verb == "scale") return scale_main(arguments, std::cout);
    if (verb == "cp") return cp_main(arguments, std::cout);
    if (verb == "events") return events_main(arguments, std::cout);
    if (verb == "forward") return forward_main(arguments, std::cout, std::cerr);
#endif
    return help_main(verb, arguments);
}

/// Throws Error if standard output could not be written, for example on a full file system.
int after_flush(int code) {
    if (std::cout.flush() && std::ferror(stdout) == 0) return code;
    throw sinew::Error("standard output cannot be written. Is its file system full?");
}

extern "C" void end_at_once(int number) { ::_exit(128 + number); }

// Process 1 of a container gets only signals that it handles. Until the verb has handlers of its own, this one ends the
// process, as would happen anywhere else; otherwise a pod that is deleted as it starts would use up its grace period. One that
// came before was blocked by sinew_start, and arrives now.
void end_as_init_process() {
    if (::getpid() != 1) return;
    sigset_t requests;
    ::sigemptyset(&requests);
    for (int const number : {SIGTERM, SIGINT}) {
        ::signal(number, end_at_once);
        ::sigaddset(&requests, number);
    }
    ::sigprocmask(SIG_UNBLOCK, &requests, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    end_as_init_process();
    std::vector<std::string> arguments(argv + 1, argv + argc);
    std::string const verb = arguments.empty() ? "help" : arguments.front();
    if (!arguments.empty()) arguments.erase(arguments.begin());
    try {
        return after_flush(perform(verb, arguments));
    } catch (sinew::UsageError const& problem) {
        std::cerr << "sinew " << verb << ": " << problem.what() << '\n';
        return exit_usage;
    } catch (std::exception const& problem) {
        std::cerr << "sinew " << verb << ": " << problem.what() << '\n';
        return exit_launcher_failed;
    }
}
