// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/agreement.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::sgd {

namespace {

std::string call_text(Notice const& notice) {
    switch (notice.kind) {
        case Notice::Kind::step:
            return "finish()";
        case Notice::Kind::broadcast:
            return text("broadcast_parameters (of buffers with hash ", notice.value, ")");
        case Notice::Kind::average:
            return text("average of ", notice.value, " values");
        case Notice::Kind::join:
            return "join()";
        default:
            return text("call ", static_cast<std::uint32_t>(notice.kind));
    }
}

}  // namespace

std::vector<Notice> exchange(Communicator& comm, Notice const& own,
                             std::chrono::nanoseconds timeout) {
    std::vector<Notice> all(static_cast<std::size_t>(comm.size()));
    all[static_cast<std::size_t>(comm.rank())] = own;
    comm.allgather(all, {.timeout = timeout});
    return all;
}

std::string rank_text(Communicator const& comm, int rank) {
    return text("rank ", rank, " of ", comm.size(), " on ", comm.nodes().host_of(rank));
}

int require_same_call(Communicator const& comm, std::vector<Notice> const& notices) {
    int active = 0, first = -1;
    for (int rank = 0; rank < comm.size(); ++rank) {
        Notice const& notice = notices[static_cast<std::size_t>(rank)];
        // Whoever has joined takes part in steps and averages.
        if (notice.kind == Notice::Kind::join) continue;
        ++active;
        if (first < 0) first = rank;
        Notice const& expected = notices[static_cast<std::size_t>(first)];
        if (notice == expected) continue;
        throw UsageError(text("GradientBuckets: ", rank_text(comm, first), " called ",
                              call_text(expected), ", ", rank_text(comm, rank), " called ",
                              call_text(notice),
                              ". All ranks must make the same calls in the same order"));
    }
    for (int rank = 0; rank < comm.size(); ++rank) {
        if (first < 0 || notices[static_cast<std::size_t>(rank)].kind != Notice::Kind::join)
            continue;
        Notice const& call = notices[static_cast<std::size_t>(first)];
        if (call.kind != Notice::Kind::broadcast) continue;
        throw UsageError(text("GradientBuckets: ", rank_text(comm, first), " called ",
                              call_text(call), " while ", rank_text(comm, rank),
                              " is in join(). Parameters can be broadcast when all have joined"));
    }
    return active;
}

void rethrow_with(std::exception_ptr const& error, std::string const& prefix) {
    try {
        std::rethrow_exception(error);
    } catch (UsageError const& e) {
        throw UsageError(prefix + e.what());
    } catch (Timeout const& e) {
        throw Timeout(prefix + e.what());
    } catch (PeerLost const& e) {
        throw PeerLost(prefix + e.what());
    } catch (Unavailable const& e) {
        throw Unavailable(prefix + e.what());
    } catch (SystemError const& e) {
        throw SystemError(prefix + e.what(), e.error_number());
    } catch (BackendError const& e) {
        throw BackendError(prefix + e.what(), e.code());
    }
}

}  // namespace sinew::sgd
