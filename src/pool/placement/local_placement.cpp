// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <sinew/error.hpp>
#include <sinew/process.hpp>
#include <string>

#include "src/base/text.hpp"
#include "src/pool/placement/child_worker.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/resources/reservation.hpp"

namespace sinew::pool {
namespace {

// Each worker has two links, its standard error, and a pidfd.
constexpr std::uint64_t descriptors_of_worker = 4;

class LocalPlacement final : public WorkerPlacement {
public:
    explicit LocalPlacement(std::optional<cpu_set_t> cpus) : cpus_(cpus) {}
    std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start) override {
        return start_worker({}, cpus_, slot, start);
    }
    void require_startable() const override {
        if (!process::was_init_called())
            throw UsageError(
                "a pool has no workers (sinew::init(argc, argv) was not called: they would run all "
                "of main). Make it the first statement of main");
    }
    std::uint64_t most() const override {
        rlimit files{};
        if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return WorkerPlacement::most();
        // A small pool that lacks descriptors continues with the workers that could be started, and
        // reports that.
        return std::max(std::min<std::uint64_t>(files.rlim_cur, 1024),
                        files.rlim_cur / descriptors_of_worker);
    }
    int cores() const override { return cpu_count(); }
    int room(Meta const& wish) const override { return process::room_for(wish, cores()); }
    void require(Meta const& wish, int workers) const override {
        auto const who = workers == 1 ? std::string("a pool of 1 worker")
                                      : text("a pool of ", workers, " workers");
        process::require_possible(wish, who, workers, cpus_);
    }

private:
    std::optional<cpu_set_t> const cpus_;
};

}  // namespace

std::unique_ptr<WorkerPlacement> make_local_placement(std::optional<cpu_set_t> cpus) {
    return std::make_unique<LocalPlacement>(cpus);
}

}  // namespace sinew::pool
