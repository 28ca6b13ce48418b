// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/agreement.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/sgd/bucket_plan.hpp"

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

Callers require_same_call(Communicator const& comm, std::vector<Notice> const& notices) {
    Callers callers;
    int first = -1, joined = -1;
    for (int rank = 0; rank < comm.size(); ++rank) {
        Notice const& notice = notices[static_cast<std::size_t>(rank)];
        if (notice.kind == Notice::Kind::join) {
            joined = rank;
            continue;
        }
        if (first < 0) {
            first = rank;
            callers.call = notice;
        }
        if (!notice.same_call(callers.call))
            throw UsageError(text("GradientBuckets: ", rank_text(comm, first), " called ",
                                  call_text(callers.call), ", ", rank_text(comm, rank), " called ",
                                  call_text(notice),
                                  ". All ranks must make the same calls in the same order"));
        ++callers.count;
        callers.highest = rank;
    }
    // Whoever has joined can take part in steps and averages, but has no place for parameters.
    if (joined >= 0 && callers.call.kind == Notice::Kind::broadcast)
        throw UsageError(text("GradientBuckets: ", rank_text(comm, first), " called ",
                              call_text(callers.call), " while ", rank_text(comm, joined),
                              " is in join(). Parameters can be broadcast when all have joined"));
    return callers;
}

void throw_problem(Communicator const& comm, std::vector<Gradient> const& gradients,
                   std::vector<Notice> const& notices) {
    for (int rank = 0; rank < comm.size(); ++rank) {
        Notice const& notice = notices[static_cast<std::size_t>(rank)];
        auto const tensor = static_cast<std::size_t>(notice.value);
        if (notice.problem == Notice::Problem::not_ready)
            throw UsageError(text("GradientBuckets: ", tensor_text(gradients, tensor),
                                  " was not ready on ", rank_text(comm, rank),
                                  " when it called finish(). Call ready() for each tensor, with "
                                  "zeros if the step did not use it"));
        if (notice.problem == Notice::Problem::not_finite)
            throw NonFiniteGradient(
                text("GradientBuckets: the gradient of ", tensor_text(gradients, tensor),
                     " has NaN or infinity on ", rank_text(comm, rank)),
                rank, tensor);
    }
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
