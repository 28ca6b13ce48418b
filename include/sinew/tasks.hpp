// SPDX-License-Identifier: Apache-2.0
#pragma once

// What works with processes rather than ranks: pools, managers, rings, processes, queues, pipes,
// shared objects.

#include <sinew/init.hpp>
#include <sinew/manager.hpp>
#include <sinew/meta.hpp>
#include <sinew/nodes.hpp>
#include <sinew/pipe.hpp>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <sinew/queue.hpp>
#include <sinew/remote_error.hpp>
#include <sinew/ring.hpp>
#include <sinew/shared.hpp>
#include <sinew/this_task.hpp>
