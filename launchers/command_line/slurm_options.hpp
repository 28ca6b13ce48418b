// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// The options of `sinew run` that only the backend slurm has. Texts are passed on to Slurm
/// unchanged; empty: Slurm's default.
struct SlurmOptions {
    std::string partition, account, qos, time, gres, constraint;
    bool exclusive = false;
    std::vector<std::string> arguments;  ///< --slurm-arg: further ones of sbatch, or of srun
    bool native = false;                 ///< --native: srun starts the ranks

    /// The first flag of these that was given; empty: none.
    std::string first_flag;
};

}  // namespace sinew::launch
