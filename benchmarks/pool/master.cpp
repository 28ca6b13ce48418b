// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pool/master_scale.hpp"
#include "benchmarks/pool/ours.hpp"

namespace sinew::bench {

namespace {

class MasterCase final : public Contestant {
public:
    MasterCase(int workers, bool bytes) : workers_(workers), bytes_(bytes) {}
    double cost(std::uint64_t size) override {
        double const each = bytes_ ? bytes_per_queued_task() : master_cost_per_task(workers_);
        return each * static_cast<double>(size);
    }

private:
    int workers_;
    bool bytes_;
};

}  // namespace

std::unique_ptr<Contestant> make_master_case(int workers, bool bytes) {
    return std::make_unique<MasterCase>(workers, bytes);
}

}  // namespace sinew::bench
