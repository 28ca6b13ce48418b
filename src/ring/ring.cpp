// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <optional>
#include <sinew/remote_error.hpp>
#include <sinew/ring.hpp>
#include <utility>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/process/resources/reservation.hpp"
#include "src/ring/environment.hpp"
#include "src/ring/member_state.hpp"
#include "src/ring/ring_job.hpp"

namespace sinew {
namespace ring {
namespace {

int next_number() {
    static std::atomic<int> count{0};
    return ++count;
}

/// The CommitStore of one run, if the ring has a folder for it. Loads the commit found there.
class OpenStore {
public:
    OpenStore(Plan const& plan, Commits& commits) {
        if (plan.options.folder.empty()) return;
        CommitFile file(plan.options.folder);
        file.load(plan.size, commits);
        auto& runtime = process::Runtime::instance();
        std::lock_guard const lock(runtime.guard());
        store_ = std::make_unique<CommitStore>(file, runtime.loop());
    }
    OpenStore(OpenStore const&) = delete;
    ~OpenStore() {
        std::lock_guard const lock(process::Runtime::instance().guard());
        store_.reset();
    }
    CommitStore* get() const { return store_.get(); }

private:
    std::unique_ptr<CommitStore> store_;
};

/// Rank 0 if it is the caller: a member on the thread that runs the ring.
class Caller {
public:
    explicit Caller(MemberOrder const& order) : endpoints_(std::in_place, order) {}
    MemberEndpoints const& endpoints() const { return *endpoints_; }
    void run(RingJob& job, Work const& work) {
        auto const table = job.table();
        auto order = job.order_of(0);
        Environment const environment(environment_of(0, order.name, table));
        try {
            state_.emplace(std::move(order), table, std::move(*endpoints_),
                           [&job](std::uint64_t number, State const& value) {
                               job.commit_of_caller(number, value);
                           });
            RingMember member(*state_);
            perform(work, member);
        } catch (...) {
            auto const record = detail::describe(std::current_exception());
            job.caller_failed(record, std::current_exception());
            if (state_)
                state_->communicator.state().abandon(
                    text("it threw ", record.type, ": ", record.what));
            return;
        }
        job.caller_returned();
    }

private:
    std::optional<MemberEndpoints> endpoints_;
    std::optional<MemberState> state_;  ///< kept until the others have returned
};

std::vector<MemberRecord> run_once(Plan const& plan, Commits& commits, CommitStore* store,
                                   int epoch) {
    RingJob job(plan, commits, store, epoch);
    std::optional<Caller> caller;
    if (plan.options.member_zero_is_caller) caller.emplace(job.order_of(0));
    bool const met = job.assemble(caller ? &caller->endpoints() : nullptr);
    if (met && caller) caller->run(job, plan.work);
    return job.wait_for_end();
}

std::vector<RingStatus> statuses_of(std::vector<MemberRecord> const& members) {
    std::vector<RingStatus> statuses;
    for (auto const& member : members) statuses.push_back(status_of(member));
    return statuses;
}

std::string describe(Plan const& plan, RingStatus const& culprit) {
    return text(plan.options.name, ": rank ", culprit.rank, " of ", plan.size, " on ", culprit.host,
                " (pid ", culprit.pid, ") ", culprit.end);
}

}  // namespace
}  // namespace ring

struct Ring::State {
    State(int size, RingOptions options, Entries const& entries_) : entries(entries_) {
        plan.size = size;
        plan.number = ring::next_number();
        plan.options = std::move(options);
        if (!plan.options.meta.any()) plan.options.meta = entries.target->meta;
        if (plan.options.name.empty()) plan.options.name = text("ring-", plan.number);
    }
    void check() const;
    void prepare();

    Entries const entries;
    ring::Plan plan;
    Writer init_state, target_state, arguments;
    int restarts = 0;
};

void Ring::State::check() const {
    auto const& name = plan.options.name;
    if (plan.size < 0)
        throw UsageError(text(name, " of ", plan.size, " members (must not be negative)"));
    if (plan.options.max_restarts < 0)
        throw UsageError(text(name, ": max_restarts is ", plan.options.max_restarts,
                              " (must not be negative). 0 means none"));
    if (plan.options.nodes.empty()) process::require_possible(plan.options.meta, name, plan.size);
    if (plan.options.member_zero_is_caller && !plan.options.nodes.empty() &&
        !plan.options.nodes.front().is_here())
        throw UsageError(
            text(name,
                 ": member 0 is the caller, but the first of the ring's nodes is another "
                 "one (",
                 plan.options.nodes.front().host(), "). Begin the nodes with this one"));
    if (process::Runtime::in_callback())
        throw UsageError(text(
            name, " is run within a callback (which it would wait for). Run it in another thread"));
}

void Ring::State::prepare() {
    auto const copy = [](Writer const& writer) {
        return ring::Bytes(writer.bytes().begin(), writer.bytes().end());
    };
    plan.work = {.target = detail::id_of(*entries.target),
                 .init = entries.init != nullptr ? detail::id_of(*entries.init) : detail::TaskId(),
                 .has_init = entries.init != nullptr,
                 .target_state = copy(target_state),
                 .init_state = copy(init_state),
                 .arguments = copy(arguments)};
    plan.commit_timeout = env_duration("SINEW_TIMEOUT", std::chrono::minutes(5));
    auto& runtime = process::Runtime::instance();
    std::lock_guard const lock(runtime.guard());
    // Loopback if all members are on this host, so that other hosts cannot connect.
    plan.address = runtime.network().empty() ? "127.0.0.1" : runtime.network();
}

Ring::Ring(int size, RingOptions options, Entries const& entries)
    : state_(std::make_unique<State>(size, std::move(options), entries)) {}
Ring::Ring(Ring&&) noexcept = default;
Ring& Ring::operator=(Ring&&) noexcept = default;
Ring::~Ring() = default;

Writer& Ring::init_state() { return state_->init_state; }
Writer& Ring::target_state() { return state_->target_state; }
Writer& Ring::arguments() { return state_->arguments; }

int Ring::size() const { return state_->plan.size; }
std::string const& Ring::name() const { return state_->plan.options.name; }
int Ring::restarts() const { return state_->restarts; }

std::vector<RingStatus> Ring::run() {
    auto& plan = state_->plan;
    state_->check();
    state_->restarts = 0;
    if (plan.size == 0) return {};
    state_->prepare();
    ring::Commits commits(plan.size);
    ring::OpenStore const open_store(plan, commits);
    for (int epoch = 0;; state_->restarts = ++epoch) {
        auto const members = ring::run_once(plan, commits, open_store.get(), epoch);
        auto const statuses = ring::statuses_of(members);
        auto const failure = ring::first_failure(members);
        if (!failure) return statuses;
        auto const& culprit = statuses[static_cast<std::size_t>(failure->rank)];
        auto const what = ring::describe(plan, culprit) +
                          ring::stderr_tail(members[static_cast<std::size_t>(failure->rank)]);
        if (!failure->may_restart || epoch == plan.options.max_restarts)
            throw RingFailed(what, culprit, statuses, failure->cause);
        commits.drop_pending();
        log_warning(text(
            what, ". Start ", epoch + 2, " of at most ", plan.options.max_restarts + 1, ", from ",
            commits.count() == 0 ? "the beginning" : text("commit ", commits.count())));
    }
}

}  // namespace sinew
