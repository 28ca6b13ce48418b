// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sinew/sinew.h>
#include <sinew/communicator.hpp>
#include <sinew/pool.hpp>
#include <sinew/sgd/device_sgd.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/local_sgd.hpp>
#include <sinew/sgd/sharded_optimizer.hpp>
#include <sinew/sgd/training_state.hpp>
#include <sinew/world.hpp>

namespace sinew::c_api {

/// Counts the handles that must be destroyed before a world is. A copy counts as one more.
class Dependant {
public:
    explicit Dependant(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) {
        count_->fetch_add(1);
    }
    Dependant(Dependant const& other) : Dependant(other.count_) {}
    Dependant& operator=(Dependant const&) = delete;
    ~Dependant() { count_->fetch_sub(1); }

private:
    std::shared_ptr<std::atomic<int>> count_;
};

}  // namespace sinew::c_api

/// A communicator, and how many handles were made from its world. Either it owns its communicator
/// or, if it belongs to a world, refers to the world's.
struct sinew_communicator {
    sinew_communicator(sinew::Communicator& of_world, std::shared_ptr<std::atomic<int>> count)
        : dependants(std::move(count)), comm(&of_world) {}
    sinew_communicator(sinew::Communicator part, sinew_communicator const& parent)
        : dependants(parent.dependants),
          own(std::make_unique<sinew::Communicator>(std::move(part))), comm(own.get()) {
        dependants->fetch_add(1);
    }
    sinew_communicator(sinew_communicator const&) = delete;
    sinew_communicator& operator=(sinew_communicator const&) = delete;
    ~sinew_communicator() {
        if (!own) return;
        own.reset();
        dependants->fetch_sub(1);
    }

    std::shared_ptr<std::atomic<int>> dependants;
    std::unique_ptr<sinew::Communicator> own;
    sinew::Communicator* comm;
};

struct sinew_world {
    sinew_world(int argc, char** argv)
        : world(argc, argv), communicator(world.communicator(), dependants),
          bootstrap(world.bootstrap()) {}

    std::shared_ptr<std::atomic<int>> dependants = std::make_shared<std::atomic<int>>(0);
    sinew::World world;
    sinew_communicator communicator;
    std::string bootstrap;
};

struct sinew_request {
    sinew_request(sinew::Request started, sinew_communicator const& comm)
        : dependant(comm.dependants), request(std::move(started)) {}

    sinew::c_api::Dependant dependant;  // ends after the request has
    sinew::Request request;
    sinew::Received received;  // once it has completed
};

struct sinew_memory {
    std::shared_ptr<void> keeps;
    void* data;
    bool shared;
};

struct sinew_persistent {
    sinew_persistent(sinew::PersistentRequest made, sinew_communicator const& comm)
        : dependant(comm.dependants), request(std::move(made)) {}

    sinew::c_api::Dependant dependant;  // ends after the request has
    sinew::PersistentRequest request;
};

struct sinew_buckets {
    sinew_buckets(sinew_communicator& comm, std::vector<sinew::Gradient> gradients,
                  sinew::GradientOptions const& options)
        : dependant(comm.dependants), buckets(*comm.comm, std::move(gradients), options) {}

    sinew::c_api::Dependant dependant;
    sinew::GradientBuckets buckets;
};

struct sinew_optimizer {
    sinew_optimizer(sinew_communicator& comm, std::vector<sinew::Parameter> parameters,
                    sinew::OptimizerRule rule, sinew::GradientOptions const& options)
        : dependant(comm.dependants),
          optimizer(std::make_shared<sinew::ShardedOptimizer>(*comm.comm, std::move(parameters),
                                                              std::move(rule), options)) {}

    sinew::c_api::Dependant dependant;
    std::shared_ptr<sinew::ShardedOptimizer> optimizer;  // states that it was added to have it, too
};

struct sinew_device_sgd {
    sinew_device_sgd(sinew_communicator& comm, std::vector<sinew::Parameter> parameters,
                     sinew::Sgd rule, sinew::GradientOptions const& options)
        : dependant(comm.dependants), optimizer(std::make_shared<sinew::DeviceSgd>(
                                          *comm.comm, std::move(parameters), rule, options)) {}

    sinew::c_api::Dependant dependant;
    std::shared_ptr<sinew::DeviceSgd> optimizer;  // states that it was added to have it, too
};

struct sinew_local_sgd {
    sinew_local_sgd(sinew_communicator& comm, std::vector<sinew::LocalParameter> parameters,
                    sinew::LocalSgdOptions const& options)
        : dependant(comm.dependants),
          local(std::make_shared<sinew::LocalSgd>(*comm.comm, std::move(parameters), options)) {}

    sinew::c_api::Dependant dependant;
    std::shared_ptr<sinew::LocalSgd> local;  // states that it was added to have it, too
};

struct sinew_pool {
    explicit sinew_pool(sinew::PoolOptions options, sinew::TaskOptions tasks)
        : pool(std::move(options)), calls(pool.with(tasks)) {}

    sinew::Pool pool;
    sinew::PoolCalls calls;
};

struct sinew_result {
    sinew::AsyncResult<std::string> result;
    std::mutex mutex{};
    std::optional<std::string> bytes{};  // guarded by mutex
};

struct sinew_state {
    sinew_state(sinew_communicator& comm, std::filesystem::path folder,
                sinew::StateOptions const& options)
        : dependant(comm.dependants), state(*comm.comm, std::move(folder), options) {}

    sinew::c_api::Dependant dependant;
    std::vector<std::shared_ptr<void>> added;  // what `state` calls
    sinew::TrainingState state;
};
