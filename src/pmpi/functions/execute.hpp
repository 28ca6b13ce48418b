// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "src/base/log.hpp"
#include "src/pmpi/calls/non_blocking_call.hpp"
#include "src/pmpi/collective_call.hpp"
#include "src/pmpi/requests/background_queue.hpp"
#include "src/pmpi/requests/generalized_request.hpp"
#include "src/pmpi/requests/persistent_request.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

/// The three ways in which a collective, an object of a class in calls/, is executed. Each must decide
/// alike on all ranks whether it takes the call, before it communicates; `mpi` lets MPI execute it.
namespace sinew::pmpi {

template <class Call, class Mpi>
int execute(MpiFunction function, MPI_Comm comm, Call const& call, Mpi const& mpi) {
    CallOutcome outcome = CallOutcome::off;
    CommRoute* const route = find_route(comm, outcome);
    if (route == nullptr) {
        if (MpiJob* const job = MpiJob::current()) job->statistics().count(function, outcome);
        return mpi();
    }
    Statistics& statistics = route->job->statistics();
    try {
        CollectiveCall running{.route = *route, .comm = comm};
        if (!statistics.on() && !route->lost) [[likely]] {
            outcome = call.run(running);
        } else {
            route->require_not_lost();
            auto const begin = Statistics::Clock::now();
            outcome = call.run(running);
            statistics.count(function, outcome);
            if (outcome == CallOutcome::taken)
                statistics.count_time(function, running.args.bytes(), running.size(),
                                      Statistics::Clock::now() - begin);
        }
    } catch (std::exception const& error) {
        return fail(function, comm, *route, error);
    }
    return outcome == CallOutcome::taken ? MPI_SUCCESS : mpi();
}

/// Posts a call, and sets `*request`.
template <class Call, class Mpi>
int execute_non_blocking(MpiFunction function, MPI_Comm comm, MPI_Request* request,
                         Call const& call, Mpi const& mpi) {
    CallOutcome outcome = CallOutcome::off;
    CommRoute* const route = find_made_route(comm, outcome);
    if (route == nullptr || request == nullptr) {
        if (MpiJob* const job = MpiJob::current())
            job->statistics().count(function, route == nullptr ? outcome : CallOutcome::arguments);
        return mpi();
    }
    try {
        route->require_not_lost();
        NonBlockingCall posting(*route, function, comm);
        outcome = call.post(posting);
        std::shared_ptr<BackgroundCollective> background;
        if (outcome == CallOutcome::in_background) {
            auto const kept = std::make_shared<KeptArguments<Call>>(call, route->rank);
            background = std::make_shared<BackgroundCollective>(function, comm);
            background->keep(kept);
            CollectiveCall preparing{.route = *route, .comm = comm, .later = background.get()};
            outcome = kept->run(preparing);
        }
        route->job->statistics().count(function, outcome);
        if (outcome != CallOutcome::taken) return mpi();
        if (background)
            return GeneralizedRequest::post(request, route->in_background(), background);
        return GeneralizedRequest::post(request, *route->posted, posting.posted, posting.message);
    } catch (std::exception const& error) {
        return fail(function, comm, *route, error);
    }
}

/// Makes a persistent request. Collective, as MPI says of these functions.
template <class Call, class Mpi>
int execute_persistent(MpiFunction function, MPI_Comm comm, MPI_Request* request, Call const& call,
                       Mpi const& mpi) {
    CallOutcome outcome = CallOutcome::off;
    CommRoute* const route = find_route(comm, outcome);
    if (route == nullptr || request == nullptr) {
        if (MpiJob* const job = MpiJob::current())
            job->statistics().count(function, route == nullptr ? outcome : CallOutcome::arguments);
        return mpi();
    }
    try {
        route->require_not_lost();
        NonBlockingCall checked(*route, function, comm);
        checked.only_check();
        outcome = call.post(checked);
        bool const is_long = outcome == CallOutcome::in_background;
        if (is_long) outcome = call.check(*route);
        std::unique_ptr<CommRoute> own;
        if (outcome == CallOutcome::taken) own = make_own_route(*route, outcome);
        if (own && is_long) own->in_background();
        if (own == nullptr) {
            route->job->statistics().count(function, outcome);
            return mpi();
        }
        return PersistentRequest::make(function, comm, std::move(own),
                                       std::make_unique<KeptArguments<Call>>(call, route->rank),
                                       request);
    } catch (std::exception const& error) {
        return fail(function, comm, *route, error);
    }
}

/// Calls a function of MPI that this MPI may not have: then it is an error, as a program that finds it has
/// found that of this library alone.
template <class... Parameters, class... Arguments>
int if_there_is(int (*function)(Parameters...), MPI_Comm comm, Arguments... arguments) {
    if (function != nullptr) return function(arguments...);
    log_warning("this MPI has no persistent collectives, and sinew cannot execute this one");
    real().Comm_call_errhandler(comm, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace sinew::pmpi
