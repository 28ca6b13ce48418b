// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/nccl_path.hpp"

#include <sinew/error.hpp>

#include "collectives/nccl/types.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew::detail {

namespace nccl = collectives::nccl;

namespace {

nccl::Communicator::Setup with_peers(nccl::Communicator::Setup setup, nccl::Peers* peers) {
    setup.peers = peers;
    return setup;
}

}  // namespace

NcclPath::NcclPath(nccl::Communicator::Setup setup, FailureDetector* detector)
    : peers_(detector != nullptr ? std::optional<DetectorPeers>(*detector) : std::nullopt),
      communicator_(with_peers(std::move(setup), peers_ ? &*peers_ : nullptr)) {}

bool NcclPath::takes(Invocation const& call) const {
    if (call.collective == Collective::scan || call.collective == Collective::exscan) return false;
    return !call.reduces() || nccl::reduction(call.in.type, call.op).has_value();
}

void NcclPath::run(DeviceCall const& call) {
    call.channel.begin();
    perform({.what = call.what,
             .issue = nccl_calls_of(call.call, call.channel.rank(), call.channel.size())},
            *call.call.device, call.policy, call.deadlines);
}

void NcclPath::run(PointToPoint const& message, DeviceSide const& side, std::string const& what,
                   ProgressPolicy& policy, Deadlines const& deadlines) {
    perform(
        {.what = what,
         .issue =
             [message](nccl::Calls& calls) {
                 auto const& call = calls.nccl();
                 calls.check(call.group_start(), "ncclGroupStart");
                 if (message.out)
                     calls.check(call.send(message.out->data, message.out->bytes(), nccl::type_u8,
                                           message.to, calls.comm(), calls.stream()),
                                 "ncclSend");
                 if (message.in)
                     calls.check(call.receive(message.in->data, message.in->bytes(), nccl::type_u8,
                                              message.from, calls.comm(), calls.stream()),
                                 "ncclRecv");
                 calls.check(call.group_end(), "ncclGroupEnd");
             }},
        side, policy, deadlines);
}

void NcclPath::perform(nccl::Task task, DeviceSide const& side, ProgressPolicy& policy,
                       Deadlines const& deadlines) {
    bool const enqueues = side.returns_enqueued();
    task.captured = side.captured;
    task.after = side.after;
    if (enqueues) {
        task.stream = side.stream;
        // Nobody can be asked whether a rank is only late without another thread that may.
        task.watch = peers_ ? deadlines : Deadlines{deadlines.late, deadlines.late};
    }
    auto const work = communicator_.submit(std::move(task));
    auto const waits = [&] { return enqueues ? !work->is_enqueued() : !work->has_ended(); };
    try {
        for (int round = 0; waits(); ++round) policy.idle(round, -1, 0, 0);
    } catch (...) {
        communicator_.lose(std::current_exception());
        communicator_.await_end();  // the caller may free the buffers then
        throw;
    }
    if (work->phase() != nccl::Work::Phase::failed) return;
    communicator_.await_end();
    std::exception_ptr const failure = communicator_.failure();
    if (failure) std::rethrow_exception(failure);
    throw PeerLost("this communicator is being destroyed");
}

}  // namespace sinew::detail
