// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include <sinew/lease.hpp>

namespace sinew {

/// GPUs of this host that no other lease has meanwhile: a Lease of GPUs alone.
///
///     auto lease = sinew::GpuLease::acquire(2);   // waits for two; CUDA now sees those two
///     train();                                    // they are free again when the lease ends
///
/// CUDA reads its variables once: acquire the lease before the first call of CUDA.
class GpuLease : public Lease {
public:
    /// `count` is at least 1, or LeaseRequest::all (-1). Waits and throws as Lease::acquire does.
    static GpuLease acquire(int count, LeaseOptions const& options = {}) {
        return GpuLease(Lease::acquire({.gpus = count}, options));
    }
    /// Does not wait: returns nothing if there are too few, or others wait.
    static std::optional<GpuLease> try_acquire(int count, LeaseOptions const& options = {}) {
        auto lease = Lease::try_acquire({.gpus = count}, options);
        if (!lease) return std::nullopt;
        return GpuLease(std::move(*lease));
    }

private:
    explicit GpuLease(Lease&& lease) : Lease(std::move(lease)) {}
};

}  // namespace sinew
