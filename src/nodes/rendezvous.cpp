// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/rendezvous.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <sinew/error.hpp>
#include <sinew/process.hpp>
#include <sstream>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/text.hpp"
#include "src/nodes/meeting.hpp"
#include "src/nodes/protocol.hpp"
#include "src/process/child/child_role.hpp"

namespace sinew::nodes {
namespace {

using namespace std::chrono_literals;
constexpr auto patience = 20s;  ///< of ranks that dial; rank 0 waits 5 s longer

/// Content of the message `joined` of a rank. A rank that has connected to several addresses keeps
/// one of the links, and sends the message there.
struct JoinedHead {
    std::uint64_t rank;
};

/// What each rank sends to all others.
struct NodeInfo {
    std::array<char, 192> host{};  ///< ranks with equal values can use Unix sockets
    cpu_set_t cpus{};
    std::int32_t cores = 1;
    std::int32_t ready = 0;  ///< sinew::init() was called
    std::int32_t gpus = 0;
    std::uint64_t memory_mib = 0;
};

NodeInfo own_info(process::Runtime const& runtime) {
    NodeInfo info;
    runtime.host().copy(info.host.data(), info.host.size() - 1);
    ::sched_getaffinity(0, sizeof info.cpus, &info.cpus);
    info.cores = cpu_count();
    info.ready = process::was_init_called() ? 1 : 0;
    info.gpus = static_cast<std::int32_t>(visible_gpus().size());
    auto const memory = memory_bounds();
    info.memory_mib = memory.cgroup.value_or(memory.host) >> 20;
    return info;
}

// A rank that may use fewer cores than it sees is in a cgroup with a quota, as is assumed of all
// ranks of its node.
void add_to(NodeShare& node, NodeInfo const& info, int& quota) {
    CPU_OR(&node.cpus, &node.cpus, &info.cpus);
    if (info.cores < CPU_COUNT(&info.cpus)) quota = std::min(quota, int{info.cores});
    node.cores = std::max(1, std::min(quota, CPU_COUNT(&node.cpus)));
}

std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    std::istringstream words(text);
    for (std::string line; std::getline(words, line);) lines.push_back(line);
    return lines;
}

}  // namespace

/// Accepts the links of the other ranks on rank 0. Requires: guard held.
struct Rendezvous::Acceptor {
    Acceptor(Arrived arrived_, std::size_t size)
        : arrived(std::move(arrived_)), came(size), missing(size - 1) {}

    Arrived const arrived;
    std::vector<std::string> hosts;  ///< by rank
    std::unique_ptr<wire::Listener> listener;
    std::map<wire::Link*, std::unique_ptr<wire::Link>>
        unauthenticated;     ///< links that have not sent `joined`
    std::vector<char> came;  ///< by rank
    std::size_t missing;
    std::string own_address;  ///< under which ranks reach this host
    std::condition_variable changed;

    void accept(std::unique_ptr<wire::Link> link) {
        auto* const key = link.get();
        link->on({.message = [this, key](wire::Message const& message) { heard(key, message); },
                  .end = [this, key](wire::LinkEnd const&) { unauthenticated.erase(key); }});
        unauthenticated.emplace(key, std::move(link));
    }
    // Keeps the first link of each rank.
    void heard(wire::Link* key, wire::Message const& message) {
        auto body = message.payload;
        auto link = std::move(unauthenticated.extract(key).mapped());
        JoinedHead head{};
        if (message.kind != joined || body.size() != sizeof head) return;
        std::memcpy(&head, body.data(), sizeof head);
        if (head.rank >= came.size() || head.rank == 0 || came[head.rank] != 0) return;
        came[head.rank] = 1;
        own_address = link->local_host();
        arrived(head.rank, std::move(link), hosts[head.rank]);
        --missing;
        changed.notify_all();
    }
    /// Stops accepting links, and drops those without a rank.
    void close() {
        listener.reset();
        unauthenticated.clear();
    }
};

Rendezvous::Rendezvous(process::Runtime& runtime, Communicator& communicator,
                       wire::LinkOptions options)
    : runtime_(runtime), communicator_(communicator), options_(std::move(options)) {
    share_infos();
}

Rendezvous::~Rendezvous() {
    std::lock_guard const lock(runtime_.guard());
    if (acceptor_) acceptor_->close();
}

void Rendezvous::share_infos() {
    auto const& layout = communicator_.nodes();
    std::array<NodeInfo, 1> const own{own_info(runtime_)};
    std::vector<NodeInfo> infos(static_cast<std::size_t>(communicator_.size()));
    communicator_.allgather(own, infos);
    for (auto const& info : infos) {
        one_host_ = one_host_ && info.host == infos.front().host;
        if (info.ready == 0)
            throw UsageError(
                "processes on the nodes of a communicator (Nodes, Pool) need "
                "sinew::init(argc, argv) on every rank, and it was not called on all. Make it the "
                "first statement of main");
    }
    std::vector<int> quotas(layout.hosts.size(), CPU_SETSIZE);
    nodes_.resize(layout.hosts.size());
    for (std::size_t rank = infos.size(); rank-- > 0;) {
        auto const node = static_cast<std::size_t>(layout.node_of[rank]);
        nodes_[node].agent = static_cast<int>(rank);
        nodes_[node].host = layout.hosts[node];
        nodes_[node].gpus = infos[rank].gpus;
        nodes_[node].memory_mib = infos[rank].memory_mib;
        add_to(nodes_[node], infos[rank], quotas[node]);
    }
}

std::string Rendezvous::broadcast(std::string words) {
    std::array<std::uint64_t, 1> size{words.size()};
    communicator_.broadcast(size);
    words.resize(size[0]);
    communicator_.broadcast(words);
    return words;
}

std::vector<std::string> Rendezvous::listen() {
    auto address = wire::Address::unix_socket(
        text(runtime_.folder(), "/meet-", wire::Secret::random().hex().substr(0, 8)));
    auto const hosts = one_host_ ? std::vector<std::string>{} : outer_addresses();
    if (!one_host_) {
        bool const v6 = hosts.front().find(':') != std::string::npos;
        address = wire::Address::tcp(v6 ? "::" : "0.0.0.0", 0);
    }
    wire::Credentials const self{runtime_.secret(), {.name = text("rank 0, ", runtime_.name())}};
    acceptor_->listener = std::make_unique<wire::Listener>(
        runtime_.loop(), address, self, wire::Listener::Options{.link = options_},
        [acceptor = acceptor_.get()](auto link) { acceptor->accept(std::move(link)); });
    auto const bound = acceptor_->listener->address();
    if (one_host_) return {bound.text()};
    std::vector<std::string> words;
    for (auto const& host : hosts) words.push_back(wire::Address::tcp(host, bound.port).text());
    return words;
}

// Returns lines to broadcast: the secret and the addresses, or "" and the reason of a failure.
std::string Rendezvous::open_acceptor(Arrived const& arrived) try {
    std::lock_guard const lock(runtime_.guard());
    auto const ranks = static_cast<std::size_t>(communicator_.size());
    acceptor_ = std::make_shared<Acceptor>(arrived, ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        acceptor_->hosts.push_back(communicator_.nodes().host_of(static_cast<int>(rank)));
    auto offer = runtime_.secret().hex();
    for (auto const& word : listen()) offer += text('\n', word);
    return offer;
} catch (Error const& error) {
    return text('\n', error.what());
}

void Rendezvous::receive(Arrived const& arrived) {
    auto const offer = broadcast(open_acceptor(arrived));
    if (offer.front() == '\n') throw SystemError(offer.substr(1), 0);
    std::string problem;
    {
        std::unique_lock lock(runtime_.guard());
        auto& here = *acceptor_;
        here.changed.wait_for(lock, patience + 5s, [&] { return here.missing == 0; });
        for (std::size_t rank = 1; rank < here.came.size() && problem.empty(); ++rank)
            if (here.came[rank] == 0) problem = text("rank ", rank, " did not connect");
        here.close();
        // Workers need this address for handles of queues, pipes and shared objects.
        if (!one_host_ && problem.empty()) be_reachable(runtime_, here.own_address);
    }
    agree(problem);
}

void Rendezvous::go(Linked const& linked, std::function<void()> const& undo) {
    auto const offer = lines_of(broadcast({}));
    if (offer.front().empty()) throw SystemError(offer.back(), 0);
    int const node = communicator_.nodes().node;
    std::string problem;
    bool came = false;
    auto const session = wire::Secret::from_hex(offer.front());
    if (auto link = dial(offer, problem)) {
        std::lock_guard const lock(runtime_.guard());
        JoinedHead const head{static_cast<std::uint64_t>(communicator_.rank())};
        link->send(joined, 0, {bytes_of(head)});
        linked(std::move(link), session, nodes_[static_cast<std::size_t>(node)].cpus);
        came = true;
    }
    try {
        agree(problem);
    } catch (...) {
        std::lock_guard const lock(runtime_.guard());
        if (came) undo();
        throw;
    }
}

std::unique_ptr<wire::Link> Rendezvous::dial(std::vector<std::string> const& words,
                                             std::string& problem) {
    wire::Credentials const self{
        wire::Secret::from_hex(words.front()),
        {.node = static_cast<std::uint32_t>(communicator_.nodes().node),
         .slot = static_cast<std::uint32_t>(communicator_.rank()),
         .name = text("rank ", communicator_.rank(), ", ", runtime_.name())}};
    return dial_any(runtime_, {words.begin() + 1, words.end()}, self, options_, patience, problem);
}

void Rendezvous::agree(std::string const& problem) {
    int const bad = problem.empty() ? -1 : communicator_.rank();
    int const worst = communicator_.allreduce_value(bad, max);
    if (!problem.empty())
        throw SystemError(text("the nodes of this communicator cannot be used: ", problem,
                               ". The hosts of its ranks must reach rank 0's by TCP"),
                          0);
    if (worst >= 0)
        throw SystemError(text("the nodes of this communicator cannot be used: rank ", worst,
                               " on ", communicator_.nodes().host_of(worst),
                               " and rank 0 are not connected. See what rank ", worst, " says"),
                          0);
}

}  // namespace sinew::nodes
