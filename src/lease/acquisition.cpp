// SPDX-License-Identifier: Apache-2.0
#include "src/lease/acquisition.hpp"

#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>

#include "src/base/env.hpp"
#include "src/base/text.hpp"
#include "src/lease/allocation.hpp"
#include "src/lease/host.hpp"
#include "src/lease/locks/holders.hpp"
#include "src/lease/locks/layout.hpp"
#include "src/lease/locks/release_wait.hpp"
#include "src/lease/locks/ticket.hpp"

namespace sinew::lease {
namespace {

using Clock = std::chrono::steady_clock;

// How long a request that does not wait tolerates others before it: they may just be leaving.
constexpr std::chrono::milliseconds patience{10};

WaitLimits limits_of(LeaseOptions const& options, Wait wait) {
    WaitLimits limits{.deadline = {}, .stop = options.stop};
    auto const now = Clock::now();
    if (wait == Wait::not_at_all) limits.deadline = now + patience;
    else if (options.timeout && *options.timeout < Clock::time_point::max() - now)
        limits.deadline = now + *options.timeout;
    return limits;
}

/// One request on its way to a lease.
class Acquisition {
public:
    Acquisition(LeaseOptions const& options, Host const& host, Needs const& needs, Wait wait)
        : host_(host), needs_(needs), wait_(wait), timeout_(options.timeout),
          folder_(lease_folder(options)), limits_(limits_of(options, wait)), file_(folder_) {}

    std::optional<Grant> run() {
        std::optional<Allocation> allocation;
        if (!allocate(allocation)) return std::nullopt;
        return Grant{.file = std::move(file_),
                     .gpus = allocation->gpus(),
                     .cpus = allocation->cpus(),
                     .memory = needs_.memory};
    }

private:
    // Holds the system lock from the moment at which it is the first of the queue.
    bool allocate(std::optional<Allocation>& allocation) {
        Ticket const ticket(file_);
        while (auto const predecessor = ticket.predecessor())
            if (!sleep_until_released({*predecessor}, [&] { return before(ticket); })) return false;
        allocation.emplace(file_, host_, needs_);
        for (;;) {
            // Listed before it looks, so that it does not miss a release in between.
            auto const leases = leases_of_others();
            if (allocation->try_complete()) break;
            if (wait_ == Wait::not_at_all) return false;
            if (!sleep_until_released(leases, [&] { return allocation->shortage(); })) return false;
        }
        count_as_holder();
        return true;
    }

    static std::string before(Ticket const& ticket) {
        auto const ahead = ticket.ahead();
        return text(ahead, ahead == 1 ? " request is" : " requests are", " before this one");
    }

    std::vector<ByteRange> leases_of_others() const {
        std::vector<ByteRange> leases;
        for (auto const position : file_.positions_of_others(layout::holders))
            leases.push_back(layout::byte(position));
        return leases;
    }

    void count_as_holder() const {
        auto const highest = file_.highest_of_others(layout::holders);
        file_.try_lock(layout::byte(highest ? *highest + 1 : layout::holders.begin));
    }

    /// Returns false if this request gives up, which it does without an error only if it does not
    /// wait.
    template <class State>
    bool sleep_until_released(std::vector<ByteRange> const& locks, State const& state) {
        if (!watcher_) watcher_.emplace(folder_);
        auto const end = wait_for_release(*watcher_, locks, limits_);
        if (end == WaitEnd::released) return true;
        if (wait_ == Wait::not_at_all) return false;
        if (end == WaitEnd::stopped)
            throw Cancelled(
                text("the wait for a lease of ", describe(needs_), " was stopped (", state(), ')'));
        using Seconds = std::chrono::duration<double>;
        throw Timeout(text(describe(needs_), " could not be leased within ",
                           Seconds(*timeout_).count(), " s (", state(), "; ",
                           describe_holders(file_), "). Ask for less, or wait for longer"));
    }

    Host const& host_;
    Needs const& needs_;
    Wait const wait_;
    std::optional<std::chrono::nanoseconds> const timeout_;
    std::string const folder_;
    WaitLimits const limits_;
    LockFile file_;
    std::optional<LockFile> watcher_;
};

}  // namespace

std::string lease_folder(LeaseOptions const& options) {
    if (!options.folder.empty()) return options.folder;
    return env("SINEW_LEASE_DIR").value_or("/tmp/sinew-leases");
}

std::optional<Grant> acquire(LeaseRequest const& request, LeaseOptions const& options, Wait wait) {
    check_request(request);
    auto const host = find_host(request, options);
    auto const needs = needs_of(request, host);
    return Acquisition(options, host, needs, wait).run();
}

}  // namespace sinew::lease
