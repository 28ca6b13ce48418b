// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sinew::launch::service {

/// GPUs, processors and bytes of memory: of a machine, or of a job for all of its ranks together.
struct Resources {
    int gpus = 0;
    int cpus = 0;
    std::uint64_t memory = 0;

    bool fits(Resources const& available) const {
        return gpus <= available.gpus && cpus <= available.cpus && memory <= available.memory;
    }
    bool empty() const { return gpus == 0 && cpus == 0 && memory == 0; }
    Resources& operator+=(Resources const& other) {
        gpus += other.gpus;
        cpus += other.cpus;
        memory += other.memory;
        return *this;
    }
    /// What is left; 0 where `other` is more.
    Resources without(Resources const& other) const {
        return {.gpus = gpus > other.gpus ? gpus - other.gpus : 0,
                .cpus = cpus > other.cpus ? cpus - other.cpus : 0,
                .memory = memory > other.memory ? memory - other.memory : 0};
    }
    friend bool operator==(Resources const&, Resources const&) = default;
};

}  // namespace sinew::launch::service
