// SPDX-License-Identifier: Apache-2.0
#include "tests/launchers/pmi/hosted_job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "src/base/text.hpp"
#include "tests/launchers/pmi/message.hpp"

namespace sinew::test {
namespace {

using Kind = Message::Kind;
using Clock = std::chrono::steady_clock;

double cpu_of_children() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    auto const milliseconds = [](timeval time) {
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
    };
    return milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
}

// Routes messages between the agents, each of which has one PMIx server.
class Hub {
public:
    explicit Hub(HostedJob const& job) : job_(job) {
        std::string pattern = "/dev/shm/sinew-pmix-test-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder: " + pattern);
        folder_ = pattern;
        int const nodes = 1 + *std::max_element(job_.node_of_rank.begin(), job_.node_of_rank.end());
        for (int node = 0; node < nodes; ++node) start_agent(node);
    }

    ~Hub() {
        for (auto const& agent : agents_) ::close(agent.socket);
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    HostedResult run() {
        auto const begin = Clock::now();
        double const cpu = cpu_of_children();
        deadline_ = begin + job_.limit;
        while (!result_.timed_out && !finished()) step();
        for (auto const& agent : agents_) {
            if (result_.timed_out) tell(agent, {.kind = Kind::kill, .rank = -1});
            tell(agent, {.kind = Kind::quit});
        }
        for (auto& agent : agents_) result_.agent_statuses.push_back(wait_for(agent));
        result_.milliseconds =
            std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
        result_.cpu_milliseconds = cpu_of_children() - cpu;
        for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_))
            if (!entry.is_directory()) result_.leftovers.insert(entry.path().string());
        result_.leftovers.erase(output_path());
        result_.output = output();
        return std::move(result_);
    }

private:
    struct AgentLink {
        pid_t pid = 0;
        int socket = -1;
        bool started = false, done = false, lost = false;
        std::map<std::vector<int>, std::size_t> fences{};  // number of fences entered
    };
    struct Fence {
        std::vector<std::pair<int, std::uint64_t>> waiting;  // agent, id
        std::vector<std::byte> data;
    };

    std::string output_path() const { return folder_ + "/output"; }

    std::string output() const {
        std::ifstream file(output_path());
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void start_agent(int node) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::runtime_error("no socketpair");
        int const room = 1 << 20;
        for (int const end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        auto const folder = text(folder_, "/node-", node);
        ::mkdir(folder.c_str(), 0700);
        pid_t const pid = ::fork();
        if (pid == 0) {
            for (auto const& agent : agents_) ::close(agent.socket);
            ::close(ends[0]);
            int const file = ::open(output_path().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            ::dup2(file, 1);
            ::dup2(file, 2);
            ::close(file);
            run_hosted_agent(job_, node, ends[1], folder);
        }
        ::close(ends[1]);
        agents_.push_back({.pid = pid, .socket = ends[0]});
    }

    static bool all(std::vector<AgentLink> const& agents, bool AgentLink::*flag) {
        return std::all_of(agents.begin(), agents.end(),
                           [flag](auto const& agent) { return agent.*flag || agent.lost; });
    }

    bool finished() {
        if (all(agents_, &AgentLink::lost)) return true;
        if (!all(agents_, &AgentLink::started)) return false;
        if (!result_.jobs.empty() && !all(agents_, &AgentLink::done)) return false;
        if (static_cast<int>(result_.jobs.size()) == job_.times) return true;
        for (auto& agent : agents_) {
            agent.done = false;
            agent.fences.clear();
            tell(agent, {.kind = Kind::start, .rank = static_cast<int>(result_.jobs.size())});
        }
        fences_.clear();
        killed_ = false;
        result_.jobs.emplace_back();
        return false;
    }

    void step() {
        std::vector<pollfd> ready;
        for (auto const& agent : agents_)
            ready.push_back({.fd = agent.lost ? -1 : agent.socket, .events = POLLIN, .revents = 0});
        ::poll(ready.data(), ready.size(), 20);
        for (std::size_t node = 0; node < agents_.size(); ++node) {
            if (ready[node].revents == 0) continue;
            if (auto const message = receive_message(agents_[node].socket))
                handle(static_cast<int>(node), *message);
            else agents_[node].lost = true;
        }
        if (job_.kill_printed >= 0 && !killed_ && output().find("ready") != std::string::npos)
            kill_rank(job_.kill_printed);
        if (Clock::now() > deadline_) result_.timed_out = true;
    }

    void kill_rank(int rank) {
        killed_ = true;
        tell(agents_[job_.node_of_rank[rank]], {.kind = Kind::kill, .rank = rank});
    }

    void handle(int node, Message const& message) {
        auto& agent = agents_[node];
        switch (message.kind) {
            case Kind::started:
                agent.started = true;
                break;
            case Kind::fence:
                fence(node, message);
                break;
            case Kind::modex:
                modex(node, message);
                break;
            case Kind::modex_data: {
                auto const asked = modexes_.extract(message.id).mapped();
                reply(asked.first, asked.second, message.status == 0, message.data);
                break;
            }
            case Kind::publish:
            case Kind::lookup:
            case Kind::unpublish:
                name(node, message);
                break;
            case Kind::connected:
                result_.jobs.back().connected.insert(message.rank);
                if (message.rank == job_.kill_connected) kill_rank(message.rank);
                break;
            case Kind::finalized:
                result_.jobs.back().finalized.insert(message.rank);
                break;
            case Kind::aborted:
                result_.aborts.push_back({message.rank, message.status, message.text});
                break;
            case Kind::exited:
                exited(message);
                break;
            case Kind::job_done:
                agent.done = true;
                result_.jobs.back().open_files += message.rank;
                result_.jobs.back().files += message.status;
                break;
            default:
                break;
        }
    }

    void exited(Message const& message) {
        result_.jobs.back().statuses[message.rank] = message.status;
        // As a launcher does; the other ranks would wait forever.
        if (message.status != 0)
            for (auto const& agent : agents_) tell(agent, {.kind = Kind::kill, .rank = -1});
    }

    void fence(int node, Message const& message) {
        auto const round = agents_[node].fences[message.ranks]++;
        auto& fence = fences_[{message.ranks, round}];
        fence.waiting.emplace_back(node, message.id);
        fence.data.insert(fence.data.end(), message.data.begin(), message.data.end());
        std::set<int> nodes;
        for (int const rank : message.ranks) nodes.insert(job_.node_of_rank[rank]);
        if (message.ranks.empty()) nodes.insert(job_.node_of_rank.begin(), job_.node_of_rank.end());
        if (fence.waiting.size() < nodes.size()) return;
        ++result_.fences;
        result_.data_fences += fence.data.empty() ? 0 : 1;
        result_.subset_fences += message.ranks.empty() ? 0 : 1;
        for (auto const& [waiting, id] : fence.waiting) reply(waiting, id, true, fence.data);
    }

    void modex(int node, Message const& message) {
        ++result_.modexes;
        modexes_[++last_modex_] = {node, message.id};
        tell(agents_[job_.node_of_rank[message.rank]],
             {.kind = Kind::modex_request, .id = last_modex_, .rank = message.rank});
    }

    void name(int node, Message const& message) {
        ++result_.names;
        auto const found = names_.find(message.text);
        bool const known = found != names_.end();
        std::vector<std::byte> value;
        if (message.kind == Kind::publish && !known) names_[message.text] = message.data;
        if (message.kind == Kind::lookup && known) value = found->second;
        if (message.kind == Kind::unpublish && known) names_.erase(found);
        reply(node, message.id, known != (message.kind == Kind::publish), value);
    }

    void reply(int node, std::uint64_t id, bool ok, std::vector<std::byte> const& data) {
        tell(agents_[node], {.kind = Kind::reply, .id = id, .status = ok ? 0 : 1, .data = data});
    }

    static void tell(AgentLink const& agent, Message const& message) {
        if (!agent.lost) send_message(agent.socket, message);
    }

    int wait_for(AgentLink const& agent) {
        int status = 0;
        auto const limit = Clock::now() + std::chrono::seconds(20);
        while (::waitpid(agent.pid, &status, WNOHANG) == 0) {
            if (Clock::now() > limit) {
                result_.timed_out = true;
                ::kill(agent.pid, SIGKILL);
            }
            ::usleep(1000);
        }
        return status;
    }

    HostedJob const& job_;
    std::string folder_;
    std::vector<AgentLink> agents_;
    HostedResult result_;
    Clock::time_point deadline_;
    std::map<std::pair<std::vector<int>, std::size_t>, Fence> fences_;
    std::map<std::uint64_t, std::pair<int, std::uint64_t>> modexes_;
    std::uint64_t last_modex_ = 0;
    std::map<std::string, std::vector<std::byte>> names_;
    bool killed_ = false;
};

}  // namespace

bool HostedResult::all_succeeded() const {
    auto const ended_well = [](auto const& rank) { return rank.second == 0; };
    for (auto const& job : jobs)
        if (!std::all_of(job.statuses.begin(), job.statuses.end(), ended_well)) return false;
    return !timed_out && std::all_of(agent_statuses.begin(), agent_statuses.end(),
                                     [](int status) { return status == 0; });
}

HostedResult run_hosted(HostedJob const& job) { return Hub(job).run(); }

}  // namespace sinew::test
