// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "src/comm/device/nccl_path.hpp"
#include "src/comm/device/staged_path.hpp"

namespace sinew::detail {

/// The paths of one communicator for calls on the memory of GPUs. All ranks make it in the same call,
/// and agree there whether they use NCCL.
class DevicePaths {
public:
    /// Collective. Starts NCCL if all ranks can; otherwise rank 0 logs why they cannot, once in a
    /// process. With SINEW_NCCL=1 on a rank, that is an error instead. Throws as `call` would. `detector`
    /// is null if only the thread that created the transport may use it.
    DevicePaths(DeviceCall const& call, FailureDetector* detector, std::string const& self);

    /// Performs a call. Throws UsageError if the call names a path that cannot perform it.
    void run(DeviceCall const& call);

    /// Null if the ranks do not use NCCL.
    NcclPath* nccl() { return nccl_.get(); }
    StagedPath& staged() { return staged_; }
    CudaDriver::Context context() const { return context_; }
    /// "NCCL 2.28.9 (/usr/lib/...)", or why calls pass through host memory.
    std::string const& description() const { return description_; }

    /// The first failure of a call that nobody waits for; null while there is none. Thread-safe.
    std::exception_ptr failure() const;
    /// Ends what is in flight. Thread-safe.
    void lose(std::exception_ptr reason) noexcept;

private:
    void start_nccl(DeviceCall const& call, FailureDetector* detector, std::string const& self);

    CudaDriver::Context context_;
    StagedPath staged_;
    std::unique_ptr<NcclPath> nccl_;
    std::string description_;
};

}  // namespace sinew::detail
