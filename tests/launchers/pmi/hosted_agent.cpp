// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>

#include "launchers/pmi/mpi_environment.hpp"
#include "launchers/pmi/open_mpi_shortcuts.hpp"
#include "launchers/pmi/pmix_server.hpp"
#include "src/base/text.hpp"
#include "tests/launchers/pmi/hosted_job.hpp"
#include "tests/launchers/pmi/message.hpp"

namespace sinew::test {
namespace {

using Kind = Message::Kind;
using launch::PmixServer;

int count_entries(std::string const& folder, bool recursive) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (recursive)
        return static_cast<int>(std::distance(fs::recursive_directory_iterator(folder, error),
                                              fs::recursive_directory_iterator{}));
    return static_cast<int>(
        std::distance(fs::directory_iterator(folder, error), fs::directory_iterator{}));
}

class Agent {
public:
    Agent(HostedJob const& job, int node, int hub, std::string folder)
        : job_(job), node_(node), hub_(hub), folder_(std::move(folder)) {}

    void run() {
        server_ = PmixServer::start({.node_name = name_of(node_), .folder = folder_}, upcalls());
        tell({.kind = Kind::started});
        while (auto message = wait_for_message()) {
            if (message->kind == Kind::quit) break;
            handle(*message);
        }
        kill(-1);
        server_.reset();
        PmixServer::end_library();
    }

private:
    std::string name_of(int node) const { return text(job_.node_prefix, node); }

    void tell(Message message) {
        std::lock_guard const lock(mutex_);
        send_message(hub_, message);
    }

    // Called on libpmix's thread.
    void ask(Message message, PmixServer::Reply reply) {
        {
            std::lock_guard const lock(mutex_);
            message.id = ++last_id_;
            replies_.emplace(message.id, std::move(reply));
        }
        tell(std::move(message));
    }

    PmixServer::Upcalls upcalls() {
        PmixServer::Upcalls calls;
        calls.fence = [this](auto ranks, auto data, auto reply) {
            ask({.kind = Kind::fence, .ranks = ranks, .data = data}, std::move(reply));
        };
        calls.modex = [this](int rank, auto reply) {
            ask({.kind = Kind::modex, .rank = rank}, std::move(reply));
        };
        calls.abort = [this](int rank, int status, auto message) {
            tell({.kind = Kind::aborted, .rank = rank, .status = status, .text = message});
        };
        calls.connected = [this](int rank) { tell({.kind = Kind::connected, .rank = rank}); };
        calls.finalized = [this](int rank) { tell({.kind = Kind::finalized, .rank = rank}); };
        calls.publish = [this](auto key, auto value, auto reply) {
            ask({.kind = Kind::publish, .text = key, .data = value}, std::move(reply));
        };
        calls.lookup = [this](auto key, auto reply) {
            ask({.kind = Kind::lookup, .text = key}, std::move(reply));
        };
        calls.unpublish = [this](auto key, auto reply) {
            ask({.kind = Kind::unpublish, .text = key}, std::move(reply));
        };
        return calls;
    }

    std::optional<Message> wait_for_message() {
        for (;;) {
            pollfd ready{.fd = hub_, .events = POLLIN, .revents = 0};
            // Short enough to notice the end of ranks; a test does not need pidfds.
            ::poll(&ready, 1, ranks_.empty() ? -1 : 5);
            if (ready.revents != 0) return receive_message(hub_);
            reap();
        }
    }

    void handle(Message const& message) {
        if (message.kind == Kind::start) start_job(message.rank);
        if (message.kind == Kind::kill) kill(message.rank);
        if (message.kind == Kind::reply) {
            PmixServer::Reply reply;
            {
                std::lock_guard const lock(mutex_);
                reply = std::move(replies_.extract(message.id).mapped());
            }
            reply(message.status == 0, message.data);
        }
        if (message.kind == Kind::modex_request)
            server_->modex_request(message.rank, [this, message](bool ok, auto const& data) {
                tell({.kind = Kind::modex_data,
                      .id = message.id,
                      .status = ok ? 0 : 1,
                      .data = data});
            });
    }

    void start_job(int number) {
        launch::PmixJob job;
        job.name = text("test-", number);
        job.node_of_rank = job_.node_of_rank;
        int const nodes = 1 + *std::max_element(job_.node_of_rank.begin(), job_.node_of_rank.end());
        for (int node = 0; node < nodes; ++node) job.nodes.push_back(name_of(node));
        job.app_of_rank.assign(job_.node_of_rank.size(), 0);
        job.argv_of_app = {job_.argv};
        job.folder_of_app = {std::filesystem::current_path().string()};
        job.node = node_;
        job.cpuset_of_local_rank = job_.cpusets;
        job.folder = folder_;
        job.universe = static_cast<int>(job.node_of_rank.size());
        server_->register_job(job);
        if (job_.never_start) return job_done();
        for (std::size_t rank = 0; rank < job.node_of_rank.size(); ++rank)
            if (job.node_of_rank[rank] == node_) start_rank(static_cast<int>(rank));
    }

    void start_rank(int rank) {
        std::map<std::string, std::string> variables;
        auto const put = [&](std::string const& word) {
            auto const equals = word.find('=');
            variables.insert_or_assign(word.substr(0, equals), word.substr(equals + 1));
        };
        for (char** word = environ; *word != nullptr; ++word) put(*word);
        launch::scrub(variables);
        for (auto const& word : job_.environment) put(word);
        bool const oversubscribed =
            job_.node_of_rank.size() > std::max(1U, std::thread::hardware_concurrency());
        for (auto const& word : launch::mpi_environment(
                 {.folder = folder_, .interface = "lo", .oversubscribed = oversubscribed},
                 variables))
            put(word);
        for (auto const& word : launch::open_mpi_shortcuts("", "")) put(word);
        for (auto const& word : server_->environment(rank)) put(word);
        std::vector<std::string> words;
        for (auto const& [name, value] : variables) words.push_back(name + "=" + value);
        ranks_.emplace(spawn(words), rank);
    }

    pid_t spawn(std::vector<std::string>& words) {
        std::vector<char*> argv, environment;
        auto arguments = job_.argv;
        for (auto& word : arguments) argv.push_back(word.data());
        for (auto& word : words) environment.push_back(word.data());
        argv.push_back(nullptr);
        environment.push_back(nullptr);
        pid_t pid = 0;
        if (::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environment.data()) != 0)
            throw std::runtime_error(text(argv[0], " cannot be started"));
        return pid;
    }

    void kill(int rank) {
        for (auto const& [pid, of] : ranks_)
            if (rank < 0 || of == rank) ::kill(pid, SIGKILL);
        while (rank < 0 && !ranks_.empty()) reap();
    }

    void reap() {
        int status = 0;
        for (pid_t pid; !ranks_.empty() && (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            auto const found = ranks_.extract(pid);
            if (!found.empty())
                tell({.kind = Kind::exited, .rank = found.mapped(), .status = status});
            if (ranks_.empty()) job_done();
        }
    }

    void job_done() {
        server_->deregister_job();
        tell({.kind = Kind::job_done,
              .rank = count_entries("/proc/self/fd", false),
              .status = count_entries(folder_, true)});
    }

    HostedJob const& job_;
    int const node_, hub_;
    std::string const folder_;
    std::unique_ptr<PmixServer> server_;
    std::map<pid_t, int> ranks_;
    std::mutex mutex_;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, PmixServer::Reply> replies_;
};

}  // namespace

void run_hosted_agent(HostedJob const& job, int node, int hub, std::string const& folder) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_IGN);
    try {
        Agent(job, node, hub, folder).run();
        ::_exit(0);
    } catch (std::exception const& error) {
        std::cerr << "agent of node " << node << ": " << error.what() << std::endl;
        ::_exit(3);
    }
}

}  // namespace sinew::test
