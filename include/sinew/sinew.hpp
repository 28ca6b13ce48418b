// SPDX-License-Identifier: Apache-2.0
#pragma once

// Includes everything but MPI interoperability (<sinew/mpi.hpp>). A program that uses one part
// compiles faster if it includes only that part's header.
#include <sinew/comm/black_box.hpp>
#include <sinew/comm/timeline.hpp>
#include <sinew/communicator.hpp>
#include <sinew/error.hpp>
#include <sinew/gpu_lease.hpp>
#include <sinew/init.hpp>
#include <sinew/lease.hpp>
#include <sinew/manager.hpp>
#include <sinew/manager/this_manager.hpp>
#include <sinew/meta.hpp>
#include <sinew/node.hpp>
#include <sinew/nodes.hpp>
#include <sinew/pipe.hpp>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/ring.hpp>
#include <sinew/service.hpp>
#include <sinew/sgd/device_sgd.hpp>
#include <sinew/sgd/gradient_buckets.hpp>
#include <sinew/sgd/local_sgd.hpp>
#include <sinew/sgd/optimizer_rule.hpp>
#include <sinew/sgd/sharded_optimizer.hpp>
#include <sinew/sgd/training_state.hpp>
#include <sinew/shared.hpp>
#include <sinew/this_task.hpp>
#include <sinew/thread_ranks.hpp>
#include <sinew/version.hpp>
#include <sinew/wait.hpp>
#include <sinew/world.hpp>
