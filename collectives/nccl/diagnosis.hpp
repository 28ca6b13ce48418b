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
    /// SINEW_NCCL: not set, 0 or 1.
    enum class Wish : std::int32_t { any, off, required };

    std::int32_t nccl_version = 0;  ///< 0: NCCL cannot be used there, see `why`
    std::int32_t driver_version = 0;
    std::int32_t device = -1;
    Wish wish = Wish::any;
    std::uint64_t shm_free = 0;  ///< bytes of /dev/shm
    std::uint64_t boot = 0;      ///< hash of the host's name and boot identifier
    CudaDriver::Uuid uuid{};     ///< that of its GPU
    char host[64] = {};
    char host_id[64] = {};  ///< NCCL_HOSTID: ranks with different ones count as on different hosts
    char interfaces[96] = {};  ///< those that are up, without loopback
    char chosen[48] = {};      ///< NCCL_SOCKET_IFNAME
    char why[256] = {};        ///< why NCCL cannot be used there

    /// All but the wish. `library` is null if NCCL is not used, because of `why` or a wish.
    static RankFacts of(Library const* library, std::string const& why, CudaDriver const& driver,
                        CudaDriver::Context context);
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
