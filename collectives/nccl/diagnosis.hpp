// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "collectives/nccl/library.hpp"
#include "src/base/gpus/cuda_driver.hpp"

namespace sinew::collectives::nccl {

/// What a rank tells the others before they start NCCL. Sent as it is.
struct RankFacts {
    std::int32_t nccl_version = 0;  ///< 0: NCCL cannot be used there, see `why`
    std::int32_t driver_version = 0;
    std::int32_t device = -1;
    std::int32_t off = 0;        ///< 1: SINEW_NCCL=0, 2: SINEW_NCCL=1 (required)
    std::uint64_t shm_free = 0;  ///< bytes of /dev/shm
    std::uint64_t boot = 0;      ///< hash of the host's name and boot identifier
    CudaDriver::Uuid uuid{};     ///< that of its GPU
    char host[64] = {};
    char host_id[64] = {};  ///< NCCL_HOSTID: ranks with different ones count as on different hosts
    char interfaces[96] = {};  ///< those that are up, without loopback
    char chosen[48] = {};      ///< NCCL_SOCKET_IFNAME
    char why[256] = {};        ///< why NCCL cannot be used there

    /// `library` is null if NCCL was not found because of `why`.
    static RankFacts of(Library const* library, std::string const& why, CudaDriver const& driver,
                        CudaDriver::Context context, std::uint64_t pointer);
    bool required() const { return off == 2; }
};

/// How the start of NCCL came out on a rank. Sent as it is.
struct Outcome {
    enum class State : std::int32_t { ready, failed, stuck };
    State state = State::ready;
    std::int32_t code = 0;
    char words[400] = {};
};

/// Returns why the ranks cannot use NCCL together, naming ranks and hosts: it is missing or switched
/// off somewhere, versions differ, or two ranks have the same GPU. Empty: they can. All ranks get the
/// same text.
std::string obstacle(std::span<RankFacts const> ranks);

/// Returns which ranks failed to start NCCL and how, with the one cause that is most likely. Empty: none
/// did.
std::string explain_failed_start(std::span<RankFacts const> ranks,
                                 std::span<Outcome const> outcomes);

/// Returns the last lines that NCCL has written as warnings to the file of NCCL_DEBUG_FILE, if the user
/// asked for one; otherwise nothing.
std::string captured_warnings();

}  // namespace sinew::collectives::nccl
