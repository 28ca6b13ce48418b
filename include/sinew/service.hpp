// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/pool/calls.hpp>

namespace sinew {

namespace service {
class Calls;
}

/// What each call of a Service gets, and how it waits.
struct ServiceOptions {
    int gpus = 0;                ///< of its own: CUDA_VISIBLE_DEVICES names them
    int cpus = 0;                ///< of its own; 0: it shares all
    std::size_t memory_mib = 0;  ///< of its own; 0: it shares all
    /// From the start of the call's job, after which it is ended. 0: no limit.
    std::chrono::nanoseconds time_limit = {};
    /// How long a call waits for its turn and the start of its job. 0: no limit.
    std::chrono::nanoseconds queue_limit = {};
    int priority = 0;  ///< -1000 to 1000; the highest begins first
    /// The IP address of this host by which the machines reach it; see NodesOptions::address.
    std::string address = {};
    /// Variables "NAME=value" added to the environment of the calls, or replaced.
    std::vector<std::string> env = {};
};

/// Functions of this program, called on machines with GPUs that run `sinew serve`.
///
///     int main(int argc, char** argv) {
///         sinew::init(argc, argv);    // first: the machines run this same program
///         sinew::Service service("gpu-box", {.gpus = 1, .time_limit = std::chrono::hours(1)});
///         double loss = service.call<&train>(config);
///     }
///
/// Each call is a job of the server: it waits in the queue, leases its resources, runs in a process
/// of its own, and its job ends with it, so that the memory of its GPUs is free again. When this
/// process ends, in whatever way, its calls end, too. A call is executed at most once.
///
/// Calls throw what the function throws, as a Pool does. They throw WorkerDied if the process of the
/// call dies, Unavailable if its job cannot begin or is ended (time limit, `sinew stop`), with what
/// the server says, and UsageError for options that are not valid. See docs/service.md. All members
/// may be called from any thread.
class Service {
public:
    /// `where`: a host, HOST:PORT or a name of a service, or several by commas, as --at of
    /// `sinew run`, whose key file and registry are used, too. Throws UsageError.
    explicit Service(std::string_view where, ServiceOptions options = {});
    Service(Service const&) = delete;
    Service& operator=(Service const&) = delete;
    /// Waits for the calls under way, unless an exception unwinds the stack: then it ends them.
    ~Service();

    /// Calls F with these arguments and returns its result.
    template <auto F, class... Passed>
    auto call(Passed const&... arguments) const {
        return calls().template apply<F>(arguments...);
    }
    /// Returns an AsyncResult at once.
    template <auto F, class... Passed>
    auto call_async(Passed const&... arguments) const {
        return calls().template apply_async<F>(arguments...);
    }

private:
    PoolCalls calls() const;
    std::shared_ptr<service::Calls> calls_;
    int exceptions_;  ///< on their way when this was made
};

}  // namespace sinew
