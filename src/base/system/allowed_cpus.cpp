// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/allowed_cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <thread>

namespace sinew {

std::vector<int> allowed_cpus() {
    std::vector<int> cpus;
    for (int room = CPU_SETSIZE; room <= 1 << 20 && cpus.empty(); room *= 4) {
        cpu_set_t* const set = CPU_ALLOC(room);
        if (set == nullptr) break;
        std::size_t const size = CPU_ALLOC_SIZE(room);
        CPU_ZERO_S(size, set);
        if (::sched_getaffinity(0, size, set) == 0)
            for (int cpu = 0; cpu < room; ++cpu)
                if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
        CPU_FREE(set);
    }
    if (cpus.empty()) {
        cpus.resize(std::max(1U, std::thread::hardware_concurrency()));
        std::iota(cpus.begin(), cpus.end(), 0);
    }
    return cpus;
}

std::string cpu_list(std::vector<int> const& numbers) {
    std::string list;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (!list.empty()) list += ',';
        list += std::to_string(numbers[first]);
        if (last > first) list += '-' + std::to_string(numbers[last]);
        first = last + 1;
    }
    return list;
}

}  // namespace sinew
