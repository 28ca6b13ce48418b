// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/gloo_peer.hpp"

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <sinew/error.hpp>

#include "benchmarks/peers/gloo_reduction.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

using Context = std::shared_ptr<gloo::Context>;
using Bytes = std::uint8_t;

/// A problem's buffers in bytes. Gloo takes pointers to non-const even if it only reads.
struct Arguments {
    explicit Arguments(Workload const& load)
        : problem(load.problem()), size(problem.type.size()),
          in(static_cast<Bytes*>(const_cast<void*>(load.in().data))), in_bytes(load.in().bytes()),
          out(static_cast<Bytes*>(load.out().data)), out_bytes(load.out().bytes()) {}

    template <class Integer>
    std::vector<Integer> in_parts() const {
        std::vector<Integer> bytes;
        for (std::size_t const part : problem.parts)
            bytes.push_back(static_cast<Integer>(part * size));
        return bytes;
    }

    Problem const& problem;
    std::size_t size;
    Bytes* in;
    std::size_t in_bytes;
    Bytes* out;
    std::size_t out_bytes;
};

// Gloo's options hold the buffers and can be used repeatedly. Functions must be copyable, so the
// options are shared.
template <class Options>
std::function<void()> repeat(std::shared_ptr<Options> options, void (*call)(Options&)) {
    return [options, call] { call(*options); };
}

std::function<void()> bind_broadcast(Context const& context, Arguments const& a) {
    auto const options = std::make_shared<gloo::BroadcastOptions>(context);
    options->setOutput(a.out, a.out_bytes);
    options->setRoot(Problem::root);
    return repeat(options, gloo::broadcast);
}

std::function<void()> bind_gather(Context const& context, Arguments const& a) {
    auto const options = std::make_shared<gloo::GatherOptions>(context);
    options->setInput(a.in, a.in_bytes);
    if (a.problem.is_root()) options->setOutput(a.out, a.out_bytes);
    options->setRoot(Problem::root);
    return repeat(options, gloo::gather);
}

std::function<void()> bind_scatter(Context const& context, Arguments const& a) {
    auto const options = std::make_shared<gloo::ScatterOptions>(context);
    std::vector<Bytes*> parts;
    for (int rank = 0; a.problem.is_root() && rank < a.problem.ranks; ++rank)
        parts.push_back(a.in + a.problem.offset(rank) * a.size);
    if (a.problem.is_root()) options->setInputs(parts, a.out_bytes);
    options->setOutput(a.out, a.out_bytes);
    options->setRoot(Problem::root);
    return repeat(options, gloo::scatter);
}

template <class Options>
std::function<void()> bind_in_out(Context const& context, Arguments const& a,
                                  void (*call)(Options&)) {
    auto const options = std::make_shared<Options>(context);
    options->setInput(a.in, a.in_bytes);
    options->setOutput(a.out, a.out_bytes);
    return repeat(options, call);
}

std::function<void()> bind_allgatherv(Context const& context, Arguments const& a) {
    auto const options = std::make_shared<gloo::AllgathervOptions>(context);
    options->setInput(a.in, a.in_bytes);
    options->setOutput(a.out, a.in_parts<std::size_t>());
    return repeat(options, gloo::allgatherv);
}

std::function<void()> bind_alltoallv(Context const& context, Arguments const& a) {
    auto const options = std::make_shared<gloo::AlltoallvOptions>(context);
    auto const received = static_cast<std::int64_t>(a.problem.part() * a.size);
    options->setInput(a.in, a.in_parts<std::int64_t>());
    options->setOutput(a.out, std::vector<std::int64_t>(a.problem.parts.size(), received));
    return repeat(options, gloo::alltoallv);
}

/// A folder of rank 0 for all ranks of the node, readable only by this user and removed on
/// destruction. Gloo's ranks write their addresses to it. (They cannot be exchanged over our
/// communicator: in this version of Gloo the ranks request the keys in different orders.)
class MeetingPlace {
public:
    explicit MeetingPlace(Communicator& comm) : owner_(comm.rank() == 0) {
        std::array<char, 256> path{};
        if (owner_) {
            std::string made =
                (std::filesystem::temp_directory_path() / "sinew-gloo-XXXXXX").string();
            if (made.size() < path.size() && ::mkdtemp(made.data()) != nullptr)
                made.copy(path.data(), made.size());
        }
        comm.broadcast(path);
        path_ = path.data();
        if (path_.empty())
            throw SystemError("no temporary folder for Gloo to meet in. Is TMPDIR writable?",
                              EACCES);
    }
    MeetingPlace(MeetingPlace const&) = delete;
    MeetingPlace& operator=(MeetingPlace const&) = delete;
    ~MeetingPlace() {
        std::error_code ignored;
        if (owner_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    std::string const& path() const { return path_; }

private:
    bool owner_;
    std::string path_;
};

class GlooPeer final : public Peer {
public:
    GlooPeer(std::string name, Context context)
        : name_(std::move(name)), context_(std::move(context)) {}

    std::vector<PeerCall> bind(Workload const& load) override {
        auto call = bound(load);
        if (!call) return {};
        return {{name_, std::move(call)}};
    }

private:
    std::function<void()> bound(Workload const& load) {
        Arguments const arguments(load);
        Collective const collective = load.problem().collective;
        if (collective == Collective::allreduce) {
            std::string const algorithm = name_ == "gloo" ? "" : name_.substr(sizeof "gloo_" - 1);
            return bind_gloo_allreduce(context_, load, algorithm);
        }
        if (name_ != "gloo") return {};  // only allreduce has a choice of algorithms
        switch (collective) {
            case Collective::broadcast:
                return bind_broadcast(context_, arguments);
            case Collective::reduce:
                return bind_gloo_reduce(context_, load);
            case Collective::allgather:
                return bind_in_out(context_, arguments, gloo::allgather);
            case Collective::allgatherv:
                return bind_allgatherv(context_, arguments);
            case Collective::alltoall:
                return bind_in_out(context_, arguments, gloo::alltoall);
            case Collective::alltoallv:
                return bind_alltoallv(context_, arguments);
            case Collective::gather:
                return bind_gather(context_, arguments);
            case Collective::scatter:
                return bind_scatter(context_, arguments);
            case Collective::barrier:
                return repeat(std::make_shared<gloo::BarrierOptions>(context_), gloo::barrier);
            default:
                return {};
        }
    }

    std::string name_;
    Context context_;
};

}  // namespace

std::unique_ptr<Peer> make_gloo_peer(std::string const& name, Communicator& comm) {
    if (comm.nodes().nodes() > 1)
        throw Unavailable(
            text("--peer ", name, " (the ranks are on ", comm.nodes().nodes(),
                 " nodes, and Gloo listens on the loopback interface only). Run it on ",
                 "one node, or leave the flag out"));
    gloo::transport::tcp::attr loopback("127.0.0.1");
    auto device = gloo::transport::tcp::CreateDevice(loopback);
    auto const context = std::make_shared<gloo::rendezvous::Context>(comm.rank(), comm.size());
    MeetingPlace const place(comm);
    gloo::rendezvous::FileStore store(place.path());
    context->connectFullMesh(store, device);
    comm.barrier();  // all ranks are connected, so the folder can be removed
    return std::make_unique<GlooPeer>(name, context);
}

}  // namespace sinew::bench
