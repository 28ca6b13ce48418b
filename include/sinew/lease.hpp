// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace sinew {

/// What a lease is to have. A field of 0 asks for none of its kind, `all` and
/// `all_memory` for all that exist.
struct LeaseRequest {
    static constexpr int all = -1;
    static constexpr std::uint64_t all_memory = std::uint64_t(-1);
    int gpus = 0;
    int cpus = 0;                    ///< processors (hardware threads)
    std::uint64_t memory_bytes = 0;  ///< an account only: see Lease
};

/// Options of Lease::acquire.
struct LeaseOptions {
    /// The folder of the lock file. All who share the host's GPUs must use the same one, also from
    /// inside containers. Empty: SINEW_LEASE_DIR, otherwise /tmp/sinew-leases. It is created if it
    /// is missing, for all users.
    std::string folder = {};
    /// The longest time that acquire() waits. Nothing: as long as it takes. A lease whose process
    /// dies ends at once, so that no wait is for the dead.
    std::optional<std::chrono::nanoseconds> timeout = {};
    /// Ends the wait when a stop is requested.
    std::stop_token stop = {};
    /// Whether acquire() sets the variables of Lease::environment() in this process. setenv() is
    /// not thread-safe: no other thread may read or write the environment meanwhile, nor at the end
    /// of the lease, which restores the former values.
    bool set_environment = true;
    /// How many GPUs the host has, where NVML cannot tell. Nothing: SINEW_GPUS.
    std::optional<int> gpus_of_host = {};
    /// How many bytes of memory can be leased on this host; all processes must name the same
    /// number. Nothing: SINEW_LEASE_MEMORY, otherwise the physical memory.
    std::optional<std::uint64_t> memory_of_host = {};
};

/// A GPU of a lease.
struct LeasedGpu {
    int index = 0;          ///< its number in CUDA_VISIBLE_DEVICES: by rising PCI address
    std::string uuid = {};  ///< "GPU-8e1f..."; empty if NVML is not available
};

/// GPUs, processors and memory of this host that no other lease has meanwhile, in any process, user
/// or container that uses the same folder.
///
/// All that is asked for is acquired together, and requests are served in the order in which they
/// came: a large one is not overtaken by small ones. A lease ends with the object, or when its
/// process ends, however that happens. Leases bind only those who ask for them: nothing prevents
/// other programs from using a GPU. Memory is an account and limits nothing.
///
/// A process has one lease at a time, because one that waits while it holds another may wait for
/// ever. A forked child has none, and exec ends it; a process may hand its lease over, see
/// hand_over().
///
/// acquire() may be called by any thread. An object is used by one thread at a time.
class Lease {
public:
    /// Waits until all of `request` is free, then takes it.
    ///
    /// Throws UsageError at once if the request is empty or negative, if the host has less than
    /// that, if this process has a lease already, or if CUDA has been initialised and could not take
    /// notice of `set_environment`; Timeout and Cancelled (remote_error.hpp) at
    /// the end of `timeout` and at a stop; Unavailable if the number of GPUs is not known, or file
    /// locks do not work in the folder; SystemError, which names the file.
    static Lease acquire(LeaseRequest request, LeaseOptions const& options = {});
    /// The same without waiting: returns nothing if something is not free, or others wait.
    static std::optional<Lease> try_acquire(LeaseRequest request, LeaseOptions const& options = {});

    Lease(Lease&&) noexcept;
    Lease& operator=(Lease&&) noexcept;
    ~Lease();

    /// Those that the lease has, by rising index.
    std::vector<LeasedGpu> const& gpus() const;
    /// The processors, by the operating system's rising numbers.
    std::vector<int> const& cpus() const;
    std::uint64_t memory_bytes() const;

    /// Variables for a process that is to use the GPUs, empty if there are none:
    /// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER for CUDA, by index; NVIDIA_VISIBLE_DEVICES and
    /// NV_GPU for a container that it starts, by UUID if known; SINEW_LEASED_GPUS, by which a
    /// process that leases the same GPUs again gets an error instead of waiting for its parent.
    std::map<std::string, std::string> environment() const;
    /// Binds the calling thread, and those that it will start, to the processors of the lease.
    /// Throws UsageError if it has none, and SystemError.
    void bind_thread() const;

    /// Ends the lease, and restores the environment. The object can then only be assigned to or
    /// destroyed, as one that was moved from.
    void release() noexcept;
    /// Whether this process has the lease: it was neither released nor handed over.
    bool held() const noexcept;
    /// Gives the lease to whoever has the returned file descriptor open, which the caller must
    /// close: it ends when the last copy is closed. It is closed on exec; fcntl(F_SETFD) lets a
    /// child that is started have it. This process may then acquire another lease. Restores the
    /// environment. Throws UsageError if it is not held.
    [[nodiscard]] int hand_over();

private:
    struct State;
    explicit Lease(std::unique_ptr<State> state);
    static std::unique_ptr<State> make(LeaseRequest request, LeaseOptions const& options,
                                       bool wait);
    State const& state() const;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
