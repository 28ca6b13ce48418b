// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "collectives/nccl/communicator.hpp"
#include "src/comm/device/device_path.hpp"

namespace sinew::detail {

struct PointToPoint;

/// Calls between GPUs through NCCL.
class NcclPath final : public DevicePath {
public:
    /// `detector` answers the watchdog's questions; null: the medium admits only the thread that
    /// created it.
    NcclPath(collectives::nccl::Communicator::Setup setup, FailureDetector* detector);

    bool takes(Invocation const& call) const override;
    void run(DeviceCall const& call) override;
    /// Sends, receives, or both, on the stream of `side`; returns when that is enqueued.
    void run(PointToPoint const& message, DeviceSide const& side, std::string const& what,
             ProgressPolicy& policy, Deadlines const& deadlines);

    collectives::nccl::Communicator& communicator() { return communicator_; }

private:
    class DetectorPeers final : public collectives::nccl::Peers {
    public:
        explicit DetectorPeers(FailureDetector& detector) : detector_(detector) {}
        std::optional<std::string> trouble() override { return detector_.trouble(); }
        Findings investigate() override {
            auto const found = detector_.investigate(true, -1);
            return {found.text, found.only_late, found.all_came};
        }

    private:
        FailureDetector& detector_;
    };

    void perform(collectives::nccl::Task task, DeviceSide const& side, ProgressPolicy& policy,
                 Deadlines const& deadlines);

    std::optional<DetectorPeers> peers_;
    collectives::nccl::Communicator communicator_;
};

/// Returns the function that issues a call, whose arguments it keeps. `rank` of `size`.
std::function<void(collectives::nccl::Calls&)> nccl_calls_of(Invocation const& call, int rank,
                                                             int size);

}  // namespace sinew::detail
