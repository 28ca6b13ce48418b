// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/mpi_service.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// FNV-1a hash: all nodes must compute the same number for the same group of ranks.
std::uint64_t group_of(std::vector<int> const& ranks) {
    std::uint64_t hash = 14695981039346656037U;
    for (int const rank : ranks) hash = (hash ^ static_cast<std::uint64_t>(rank)) * 1099511628211U;
    return ranks.empty() ? 0 : hash;
}

/// The job's namespace for PMIx, the same on all nodes. Over TCP libpmix trusts a client's claim of
/// its user, so a process that knows this name is accepted as a rank. It is therefore derived from
/// the epoch's key, and appears in no argument and in no file name.
std::string pmix_namespace(Launch const& launch) {
    constexpr std::size_t digits_of_it = 32;  // 128 bits: cannot be guessed
    auto const key = wire::Secret::from_hex(launch.data_key).derive("pmix namespace");
    return text("sinew-", key.hex().substr(0, digits_of_it));
}

}  // namespace

MpiService::MpiService(wire::Loop& loop, Launch const& launch, Here here, MpiNeeds needs,
                       Outward outward)
    : loop_(loop), launch_(launch), here_(std::move(here)), outward_(std::move(outward)),
      gate_(loop) {
    if (needs.pmix) start_pmix();
    if (needs.pmi1) start_pmi1();
}

MpiService::~MpiService() {
    gate_.close();
    if (pmix_) pmix_->deregister_job();
}

PmixServer::Options MpiService::pmix_options(Launch const& launch, int node,
                                             std::string const& server_folder) {
    auto const security = launch.env.find("PMIX_MCA_psec");
    return {.node_name = launch.map.nodes[node].name,
            .folder = server_folder,
            .security = security == launch.env.end() ? "" : security->second};
}

void MpiService::start_pmix() {
    auto const& map = launch_.map;
    PmixJob job;
    job.name = pmix_namespace(launch_);
    for (auto const& node : map.nodes) job.nodes.push_back(node.name);
    for (auto const& place : map.ranks) {
        job.node_of_rank.push_back(place.node);
        job.app_of_rank.push_back(place.app);
    }
    for (auto const& app : launch_.apps) {
        job.argv_of_app.push_back(app.argv);
        job.folder_of_app.push_back(app.folder.empty() ? launch_.folder : app.folder);
    }
    job.node = here_.node;
    job.cpuset_of_local_rank = here_.cpusets;
    job.folder = here_.folder;
    for (auto const& node : map.nodes) job.universe += std::max(node.slots, 1);
    job.universe = std::max(job.universe, map.size());
    job.oversubscribed = map.oversubscribed;
    job.restart = launch_.restart;
    pmix_ = PmixServer::start(pmix_options(launch_, here_.node, here_.server_folder), upcalls());
    pmix_->register_job(job);
}

// All of these are called on libpmix's thread.
PmixServer::Upcalls MpiService::upcalls() {
    PmixServer::Upcalls calls;
    calls.fence = [this](std::vector<int> ranks, Bytes data, PmixServer::Reply reply) {
        gate_.post([this, ranks = std::move(ranks), data = std::move(data),
                    reply = std::move(reply)]() mutable {
            pmix_fence(ranks, std::move(data), std::move(reply));
        });
    };
    calls.modex = [this](int rank, PmixServer::Reply reply) {
        gate_.post([this, rank, reply = std::move(reply)] {
            modexes_.emplace(++requests_, reply);
            outward_.modex({.id = requests_, .rank = rank, .from = 0, .ok = 0}, {});
        });
    };
    calls.abort = [this](int rank, int status, std::string message) {
        gate_.post([this, aborted = Aborted{
                              .rank = rank, .status = status, .message = std::move(message)}] {
            outward_.abort(aborted);
        });
    };
    calls.connected = [this](int rank) { gate_.post([this, rank] { joined_.insert(rank); }); };
    calls.finalized = [this](int rank) { gate_.post([this, rank] { left_.insert(rank); }); };
    auto const named = [this](std::string verb, std::string key, Bytes value,
                              PmixServer::Reply reply) {
        gate_.post([=, this] { ask_name(verb, key, value, reply); });
    };
    calls.publish = [named](std::string key, Bytes value, PmixServer::Reply reply) {
        named("publish", std::move(key), std::move(value), std::move(reply));
    };
    calls.lookup = [named](std::string key, PmixServer::Reply reply) {
        named("lookup", std::move(key), {}, std::move(reply));
    };
    calls.unpublish = [named](std::string key, PmixServer::Reply reply) {
        named("unpublish", std::move(key), {}, std::move(reply));
    };
    return calls;
}

void MpiService::ask_name(std::string verb, std::string key, Bytes const& value,
                          PmixServer::Reply reply) {
    names_.emplace(++requests_, std::move(reply));
    outward_.name({.id = requests_,
                   .verb = std::move(verb),
                   .key = std::move(key),
                   .value = std::string(text_of(value))});
}

FenceKey MpiService::next_key(FenceKey::Kind kind, std::vector<int> const& ranks) {
    FenceKey key{
        .epoch = launch_.epoch, .kind = kind, .nodes = {}, .group = group_of(ranks), .sequence = 0};
    key.sequence = sequences_[{kind, key.group}]++;
    std::set<int> nodes;  // empty: all nodes of the job
    for (int const rank : ranks) nodes.insert(launch_.agents[launch_.map.ranks[rank].node]);
    key.nodes.assign(nodes.begin(), nodes.end());
    return key;
}

void MpiService::pmix_fence(std::vector<int> const& ranks, Bytes data, PmixServer::Reply reply) {
    auto const key = next_key(FenceKey::Kind::pmix, ranks);
    fences_.emplace(key, std::move(reply));
    outward_.fence(key, std::move(data));
}

void MpiService::start_pmi1() {
    auto const& map = launch_.map;
    Pmi1Server::Job job{.name = text("sinew-", launch_.job, "-", launch_.epoch),
                        .local_ranks = here_.ranks,
                        .size = map.size(),
                        .universe = map.size(),
                        .app_of_local_rank = {},
                        .process_mapping = {}};
    std::vector<int> nodes;
    for (auto const& place : map.ranks) nodes.push_back(place.node);
    job.process_mapping = process_mapping(nodes);
    for (int const rank : here_.ranks) job.app_of_local_rank.push_back(map.ranks[rank].app);
    pmi1_ = std::make_unique<Pmi1Server>(std::move(job), pmi1_hooks());
    pmi1_sockets_.resize(here_.ranks.size());
}

Pmi1Server::Hooks MpiService::pmi1_hooks() {
    Pmi1Server::Hooks hooks;
    hooks.reply = [this](int local_rank, std::string_view line) {
        // Replies are short, one per request: they fit, unless the rank does not read them.
        [[maybe_unused]] auto const sent = ::send(pmi1_sockets_[local_rank].ours.get(), line.data(),
                                                  line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    hooks.barrier = [this](std::string puts) {
        auto const bytes = bytes_of(puts);
        outward_.fence(next_key(FenceKey::Kind::pmi1, {}), Bytes(bytes.begin(), bytes.end()));
    };
    hooks.abort = [this](int local_rank, int status, std::string message) {
        outward_.abort(
            {.rank = here_.ranks[local_rank], .status = status, .message = std::move(message)});
    };
    hooks.connected = [this](int local_rank) { joined_.insert(here_.ranks[local_rank]); };
    hooks.finalized = [this](int local_rank) { left_.insert(here_.ranks[local_rank]); };
    auto const ask = [this](char const* verb, std::string const& name, std::string_view port,
                            Pmi1Server::NameAnswer answer) {
        auto const bytes = bytes_of(port);
        ask_name(verb, name, Bytes(bytes.begin(), bytes.end()),
                 [answer = std::move(answer)](bool ok, Bytes const& found) {
                     answer(ok ? std::optional(std::string(text_of(found))) : std::nullopt);
                 });
    };
    hooks.publish = [ask](auto const& name, auto const& port, auto answer) {
        ask("publish", name, port, answer);
    };
    hooks.lookup = [ask](auto const& name, auto answer) { ask("lookup", name, {}, answer); };
    hooks.unpublish = [ask](auto const& name, auto answer) { ask("unpublish", name, {}, answer); };
    // Deferred, since this is called while the same socket is being handled.
    hooks.violation = [this](int local_rank, std::string const&) {
        gate_.post([this, local_rank] { pmi1_sockets_[local_rank] = {}; });
    };
    return hooks;
}

std::vector<std::string> MpiService::environment(int rank, std::vector<int>& keep) {
    std::vector<std::string> words;
    if (pmix_) words = pmix_->environment(rank);
    if (!pmi1_) return words;
    auto [ours, theirs] = socket_pair();
    if (!ours)
        throw_errno(text("socketpair for the PMI of rank ", rank, " failed"), "See ulimit -n");
    int const local_rank = launch_.map.ranks[rank].local_rank;
    auto& socket = pmi1_sockets_[local_rank];
    socket.watch = loop_.readable(ours.get(), [this, local_rank] { pmi1_readable(local_rank); });
    keep.push_back(theirs.get());
    words.push_back(text("PMI_FD=", theirs.get()));
    socket.ours = std::move(ours);
    socket.theirs = std::move(theirs);
    words.push_back(text("PMI_RANK=", rank));
    words.push_back(text("PMI_SIZE=", launch_.map.size()));
    return words;
}

void MpiService::started(int rank) {
    if (pmi1_) pmi1_sockets_[launch_.map.ranks[rank].local_rank].theirs = {};
}

void MpiService::pmi1_readable(int local_rank) {
    std::array<char, 16384> buffer;
    auto& socket = pmi1_sockets_[local_rank];
    ssize_t const count = ::recv(socket.ours.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        socket.watch = {};
        return;
    }
    pmi1_->receive(local_rank, {buffer.data(), static_cast<std::size_t>(count)});
}

void MpiService::fence_done(FenceKey const& key, FenceParts const& parts) {
    if (key.kind == FenceKey::Kind::pmi1 && pmi1_) {
        std::vector<std::string> puts;
        for (auto const& part : parts) puts.emplace_back(text_of(part.bytes));
        pmi1_->barrier_done(puts);
    }
    auto const waiting = fences_.extract(key);
    if (!waiting) return;
    Bytes whole;
    for (auto const& part : parts) whole.insert(whole.end(), part.bytes.begin(), part.bytes.end());
    waiting.mapped()(true, whole);
}

void MpiService::fence_failed(FenceKey const& key, std::string const& why) {
    if (key.kind == FenceKey::Kind::pmi1 && pmi1_) pmi1_->barrier_failed(why);
    if (auto const waiting = fences_.extract(key)) waiting.mapped()(false, {});
}

void MpiService::modex_wanted(ModexHead const& head) {
    if (!pmix_) return outward_.modex_reply({head.id, head.rank, head.from, 0}, {});
    pmix_->modex_request(head.rank, [this, gate = gate_, head](bool ok, Bytes const& data) {
        gate.post([this, head, ok, data] {
            outward_.modex_reply({head.id, head.rank, head.from, static_cast<std::uint64_t>(ok)},
                                 data);
        });
    });
}

void MpiService::modex_arrived(ModexHead const& head, std::span<std::byte const> bytes) {
    if (auto const waiting = modexes_.extract(head.id))
        waiting.mapped()(head.ok != 0, Bytes(bytes.begin(), bytes.end()));
}

void MpiService::name_arrived(NameReply const& reply) {
    auto const value = bytes_of(reply.value);
    if (auto const waiting = names_.extract(reply.id))
        waiting.mapped()(reply.ok, Bytes(value.begin(), value.end()));
}

}  // namespace sinew::launch
