// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/acquire/agent_main.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <sinew/detail/task.hpp>
#include <sinew/error.hpp>
#include <sinew/process.hpp>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/env.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/log.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/system/secret_file.hpp"
#include "src/base/text.hpp"
#include "src/nodes/acquire/agent_config.hpp"
#include "src/nodes/meeting.hpp"
#include "src/nodes/node_agent.hpp"
#include "src/wire/hello.hpp"

namespace sinew::nodes {
namespace {

using namespace std::chrono_literals;
constexpr auto join_patience = 30s;  ///< until the other end has answered
constexpr int exit_failed = 1;
constexpr std::initializer_list<int> ending_signals{SIGTERM, SIGINT, SIGHUP};

JoinMessage own_message(std::string const& id, Meta const& meta) {
    auto const memory = memory_bounds();
    return {.id = id,
            .host = process::Runtime::host_name(),
            .program = detail::program_identity().text,
            .cores = meta.cpu > 0 ? meta.cpu : cpu_count(),
            .gpus = static_cast<int>(visible_gpus().size()),
            .memory_mib = memory.cgroup.value_or(memory.host) >> 20};
}

std::string joined_words(std::vector<std::string> const& words) {
    std::string all;
    for (auto const& word : words) all += text(all.empty() ? "" : " or ", word);
    return all;
}

// Takes this node's share of the host's GPUs.
void take_gpus(AgentConfig const& config) {
    auto const index = env("SINEW_NODE_INDEX");
    ::unsetenv("SINEW_NODE_INDEX");
    if (config.gpus.empty() || !index) return;
    auto const each = static_cast<std::size_t>(config.meta.gpu);
    auto const first = std::strtoul(index->c_str(), nullptr, 10) * each;
    std::string words;
    for (auto i = first; i < std::min(first + each, config.gpus.size()); ++i)
        words += text(words.empty() ? "" : ",", config.gpus[i]);
    ::setenv("CUDA_VISIBLE_DEVICES", words.c_str(), 1);
}

/// The link of an agent that has joined, until it is answered. Requires: guard held.
struct Joining {
    std::unique_ptr<wire::Link> link;
    std::shared_ptr<Agent> agent;  ///< of one that is welcome
    std::string why;               ///< it is not
    std::condition_variable changed;

    void begin(process::Runtime& runtime, Agent::Setup const& setup) {
        link->on({.message =
                      [this, &runtime, setup](wire::Message const& message) {
                          if (!link) return;
                          if (message.kind == welcome) be_agent(runtime, setup);
                          else refuse(message.payload);
                          changed.notify_all();
                      },
                  .end =
                      [this](wire::LinkEnd const& end) {
                          why = end.text;
                          changed.notify_all();
                      }});
    }
    // At once, since orders may follow in the same piece.
    void be_agent(process::Runtime& runtime, Agent::Setup const& setup) {
        agent = std::make_shared<Agent>(runtime, std::move(link), setup);
        agent->begin();
    }
    void refuse(std::span<std::byte const> words) {
        why = wire::printable({reinterpret_cast<char const*>(words.data()), words.size()});
        close_in_order(std::move(link));
    }
};

// Returns the agent when the other end has accepted it. Throws Unavailable.
std::shared_ptr<Agent> join(process::Runtime& runtime, std::unique_ptr<wire::Link> link,
                            AgentConfig const& config, std::string const& id) {
    std::unique_lock lock(runtime.guard());
    cpu_set_t cpus;
    ::sched_getaffinity(0, sizeof cpus, &cpus);
    auto const joining = std::make_shared<Joining>();
    joining->link = std::move(link);
    auto const message = encode_join(own_message(id, config.meta));
    joining->begin(runtime, {.name = id,
                             .session = runtime.secret(),
                             .cpus = cpus,
                             .master = config.master,
                             .joined_at = process::lease_clock_ns()});
    joining->link->send_now(joined, 0, {message});
    bool const answered = joining->changed.wait_for(
        lock, join_patience, [&] { return joining->agent || !joining->why.empty(); });
    if (joining->agent) return joining->agent;
    joining->link = nullptr;
    auto const why =
        answered ? joining->why : text("no answer within ", join_patience.count(), " s");
    throw Unavailable(text(id, " is refused by ", config.master, ": ", why));
}

// Process 1 of a container does not get signals for which it has no handler. Until this node has
// joined there is nothing to end in order.
void end_by_signals() {
    if (::getpid() != 1) return;
    for (int const number : ending_signals) ::signal(number, [](int by) { ::_exit(128 + by); });
}

// `from`: "-" for standard input, the name of a file, or the configuration itself.
int serve(std::string from) {
    end_by_signals();
    bool const by_input = from == "-";
    auto line = by_input                ? read_secret_line(STDIN_FILENO)
                : from.starts_with('{') ? std::move(from)
                                        : read_secret_file(from);
    auto const config = parse_config(line);
    wipe(line);
    auto const id = env("SINEW_NODE_ID").value_or(env("SINEW_POD_NAME").value_or("node"));
    ::unsetenv("SINEW_NODE_ID");
    for (auto const& each : config.env) {
        auto const at = each.find('=');
        ::setenv(each.substr(0, at).c_str(), each.substr(at + 1).c_str(), 1);
    }
    take_gpus(config);
    ::prctl(PR_SET_NAME, "sinew node");
    auto const secret = wire::Secret::from_hex(config.session);
    process::Runtime::join_session(secret, text("agent of ", id));
    auto& runtime = process::Runtime::instance();
    std::string problem;
    auto link = dial_any(runtime, config.addresses, {secret, {.name = runtime.name()}},
                         link_options(), join_patience, problem);
    if (!link)
        throw SystemError(
            text(id, " cannot join ", config.master, " at ", joined_words(config.addresses), " (",
                 problem, "). This host must reach it by TCP. See NodesOptions::address"),
            0);
    auto const agent = join(runtime, std::move(link), config, id);
    std::unique_lock lock(runtime.guard());
    // They are ignored when the handle is gone: the end of this process removes its folder.
    for (int const number : ending_signals) ::signal(number, SIG_IGN);
    auto const withdraw = [agent](int) { agent->withdraw(); };
    auto const signals = runtime.loop().signals(ending_signals, withdraw);
    wire::Loop::Handle input;
    if (by_input)
        input = runtime.loop().readable(STDIN_FILENO, [agent, &input] {
            std::array<char, 256> ignored;
            ssize_t const count = ::read(STDIN_FILENO, ignored.data(), ignored.size());
            if (count > 0 || (count < 0 && errno == EINTR)) return;
            agent->withdraw();
            input = {};
        });
    lock.unlock();
    agent->wait_until_over();
    lock.lock();
    input = {};
    return 0;
}

}  // namespace

std::optional<std::string> is_node_agent() {
    auto found = env("SINEW_NODE_CONFIG");
    ::unsetenv("SINEW_NODE_CONFIG");
    return found;
}

int node_agent_main(std::string const& config) {
    try {
        return serve(config);
    } catch (std::exception const& problem) {
        log_warning(problem.what());
        return exit_failed;
    }
}

}  // namespace sinew::nodes
