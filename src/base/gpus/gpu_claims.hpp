// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/base/job_folder.hpp"

namespace sinew {

/// GPUs that this process has for itself or for its children: no other sinew program of this user on
/// this host (an agent of `sinew run`, the parent of a pool) gets them meanwhile. Each is a claimed
/// JobFolder, so that they are free when this process has ended, however that was.
///
/// A process that was given GPUs of somebody's claims shares them out in a scope of its own, which
/// SINEW_GPU_SCOPE names ("<scope>:<its GPUs>"). Not thread-safe.
class GpuClaims {
public:
    /// Takes so many of `there`, all or none. Returns whether it has. `owner` is for those who find
    /// them in use: "job train". Two that take at the same time may get in each other's way: tries
    /// again for about a tenth of a second, and for up to a second while enough are free.
    bool take(std::vector<std::string> const& there, std::size_t count, std::string const& owner);
    /// Which of them were in use, and by whom, when `take` last gave up.
    std::map<std::string, std::string> const& in_use() const { return in_use_; }
    void release();
    /// Those that it has, in the order of `there`.
    std::vector<std::string> const& gpus() const { return gpus_; }

private:
    bool try_take(std::vector<std::string> const& there, std::size_t count,
                  std::string const& owner);
    std::vector<std::string> gpus_;
    std::vector<JobFolder> folders_;
    std::map<std::string, std::string> in_use_;
};

/// Which of them are in use, and by whom.
std::map<std::string, std::string> gpus_in_use(std::vector<std::string> const& there);
/// "job train (pid 12), job eval (pid 13)": who has them, each once.
std::string holders_of(std::map<std::string, std::string> const& in_use);

/// "NAME=value" for the environment of a process that gets these GPUs, which are claimed.
std::vector<std::string> gpu_variables(std::vector<std::string> const& gpus);

}  // namespace sinew
