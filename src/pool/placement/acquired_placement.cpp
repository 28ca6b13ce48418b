// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placement/acquired_placement.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/nodes/access.hpp"
#include "src/nodes/roster.hpp"
#include "src/pool/placement/child_worker.hpp"
#include "src/pool/placement/room.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/child/remote_host.hpp"

namespace sinew::pool {
namespace {

class AcquiredPlacement final : public WorkerPlacement {
public:
    explicit AcquiredPlacement(Nodes const& nodes)
        : keep_(nodes::Access::keep(nodes)), roster_(nodes::Access::acquired(nodes)) {}

    std::unique_ptr<WorkerHandle> start(std::uint32_t slot, WorkerStart const& start) override {
        std::shared_ptr<nodes::Member> best;
        double least = 0;
        for (auto const& member : roster_->present) {
            if (member->lost()) continue;
            auto const room = std::max<std::uint64_t>(1, room_on(member->share(), start.meta));
            auto const load =
                static_cast<double>(member->agent()->children()) / static_cast<double>(room);
            if (best && load >= least) continue;
            best = member;
            least = load;
        }
        if (!best) throw NoPlace("there is no node at present");
        return start_worker(process::NodeAccess::make(best), {}, slot, start);
    }
    int cores() const override {
        int sum = 0;
        for (auto const& member : roster_->present) sum += member->share().cores;
        return std::max(sum, 1);
    }
    int room(Meta const& wish) const override {
        return static_cast<int>(std::max<std::uint32_t>(1, present(wish, {})));
    }
    std::uint32_t present(Meta const& wish, std::optional<int> wanted) const override {
        std::uint64_t sum = 0;
        // Workers of nodes that end count until their end is known, so that no others end for them.
        for (auto const& list : {roster_->present, roster_->ending})
            for (auto const& member : list) sum += room_on(member->share(), wish);
        if (!wanted) return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, most_present));
        bool const any = !roster_->present.empty() || !roster_->ending.empty();
        auto const most = static_cast<std::uint64_t>(*wanted);
        // More workers than cores share them; devices are not shared.
        return static_cast<std::uint32_t>(wish.gpu > 0 ? std::min(sum, most) : any ? most : 0);
    }
    bool watch(std::function<void()> changed) override {
        watcher_ = roster_->next_watcher++;
        roster_->watchers.emplace(watcher_, std::move(changed));
        return true;
    }
    std::string waiting_for() const override {
        if (!roster_->present.empty()) return {};
        auto const& said = roster_->waiting_for;
        return text("waiting for nodes", said.empty() ? "" : ": ", said);
    }
    std::string failure() const override {
        return roster_->present.empty() && roster_->ending.empty() ? roster_->failure : "";
    }
    void over() override {
        roster_->watchers.erase(watcher_);
        keep_ = nullptr;
    }

private:
    static constexpr std::uint64_t most_present = 1 << 20;

    std::shared_ptr<void const> keep_;  ///< keeps the nodes
    std::shared_ptr<nodes::Roster> const roster_;
    std::uint64_t watcher_ = 0;
};

}  // namespace

std::unique_ptr<WorkerPlacement> make_acquired_placement(Nodes const& nodes) {
    return std::make_unique<AcquiredPlacement>(nodes);
}

}  // namespace sinew::pool
