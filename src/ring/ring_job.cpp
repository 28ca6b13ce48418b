// SPDX-License-Identifier: Apache-2.0
#include "src/ring/ring_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <sinew/error.hpp>
#include <string>
#include <utility>

#include "src/base/text.hpp"
#include "src/process/child/remote_host.hpp"
#include "src/wire/tls/secret.hpp"
#include "src/world/node_identity.hpp"

namespace sinew::ring {

using process::Runtime;

namespace {

/// How long exit handlers and destructors of static objects may take after the target has returned.
constexpr auto patience_with_leavers = std::chrono::seconds(30);

}  // namespace

RingJob::RingJob(Plan const& plan, Commits& commits, CommitStore* store, int epoch)
    : plan_(plan), commits_(commits), store_(store), epoch_(epoch), runtime_(Runtime::instance()),
      children_(static_cast<std::size_t>(plan.size)), pieces_(children_.size()),
      silent_(children_.size()), silences_(children_.size()),
      self_(std::make_shared<RingJob*>(this)) {
    table_.epoch = epoch;
    table_.key = wire::Secret::random().hex();
    std::lock_guard const lock(runtime_.guard());
    place_members();
}

// Spreads the members evenly over the nodes that are not lost, in blocks of consecutive ranks.
void RingJob::place_members() {
    for (auto const& node : plan_.options.nodes)
        if (!process::is_lost(node)) nodes_.push_back(node);
    if (nodes_.empty()) nodes_.emplace_back();
    auto const own = NodeIdentity::mine().host_text();
    auto const far = text('r', wire::Secret::random().hex().substr(0, 8), '.');
    auto const near = text(runtime_.folder(), "/r", plan_.number, '.', epoch_, '.');
    std::size_t node = 0;
    for (int rank = 0; rank < plan_.size; ++rank) {
        bool const here = node_of(rank).is_here();
        auto const host = here ? own : node_of(rank).host();
        if (rank > 0 && &node_of(rank) != &node_of(rank - 1)) ++node;
        records_.push_back({.rank = rank,
                            .host = host,
                            .pid = 0,
                            .error = {},
                            .thrown = {},
                            .attribution = {},
                            .ended = {}});
        table_.members.push_back({.rank = rank,
                                  .host = host,
                                  .address = here ? plan_.address : "",
                                  .port = 0,
                                  .pid = 0});
        table_.listeners.push_back(text(here ? near : far, rank));
        table_.remotes.emplace_back();
        table_.nodes.push_back(static_cast<int>(node));
    }
}

Node const& RingJob::node_of(int rank) const {
    return nodes_[static_cast<std::size_t>(rank) * nodes_.size() /
                  static_cast<std::size_t>(plan_.size)];
}

RingJob::~RingJob() {
    std::lock_guard const lock(runtime_.guard());
    self_ = {};
    timer_ = {};
    commit_timer_ = {};
    silences_.clear();
    children_.clear();
    for (int rank = 0; rank < plan_.size; ++rank)  // an agent's are removed with its folder
        if (node_of(rank).is_here())
            ::unlink(table_.listeners[static_cast<std::size_t>(rank)].c_str());
}

MemberOrder RingJob::order_of(int rank) const {
    std::lock_guard const lock(runtime_.guard());
    return order(rank);
}

MemberOrder RingJob::order(int rank) const {
    return {
        .rank = rank,
        .size = plan_.size,
        .epoch = epoch_,
        .name = plan_.options.name,
        .listener = table_.listeners[static_cast<std::size_t>(rank)],
        .address = node_of(rank).is_here() ? plan_.address : "",
        .spans = table_.nodes.back() > 0,
        .work = plan_.work,
        .commits = commits_.count(),
        .committed = commits_.state(rank) ? std::optional(*commits_.state(rank)) : std::nullopt};
}

Table RingJob::table() const {
    std::lock_guard const lock(runtime_.guard());
    return table_;
}

bool RingJob::assemble(MemberEndpoints const* caller) {
    for (int rank = first_child(); rank < plan_.size; ++rank) {
        std::lock_guard const lock(runtime_.guard());
        if (failing_) break;
        start(rank);
    }
    std::unique_lock lock(runtime_.guard());
    if (caller != nullptr) {
        caller_over_ = false;
        record(0).pid = ::getpid();
        take_in(0, caller->joined());
    }
    if (!met_ && !failing_)
        timer_ = runtime_.loop().after(plan_.options.start_timeout, [this] { attribute_absent(); });
    changed_.wait(lock, [this] { return met_ || failing_; });
    if (!met_) caller_over_ = true;
    return met_;
}

void RingJob::start(int rank) {
    auto& started = children_[static_cast<std::size_t>(rank)];
    started =
        process::start_child(node_of(rank), {.role = "ring member",
                                             .name = text(plan_.options.name, " member ", rank),
                                             .message = to_bytes(order(rank)),
                                             .cpus = {},
                                             .env = {},
                                             .meta = plan_.options.meta});
    record(rank).pid = started->pid();
    started->on({.control = [this, rank](wire::Message const& message) { hear(rank, message); },
                 .bulk = [this, rank](wire::Message const& message) { hear_commit(rank, message); },
                 .liveness = [this, rank](wire::Liveness now) { note_liveness(rank, now); },
                 .ended = [this, rank](process::ChildEnd const& how) { ended(rank, how); }});
}

void RingJob::hear(int rank, wire::Message const& message) try {
    if (message.kind == kinds::joined) take_in(rank, from_bytes<Joined>(message.payload));
    else if (message.kind == kinds::returned) returned(rank);
    else if (message.kind == kinds::failed) {
        record(rank).error = from_bytes<ErrorRecord>(message.payload);
        fail(rank);
    }
} catch (DecodeError const& error) {
    fail(rank, text("sent something unreadable: ", error.what()));
}

void RingJob::hear_commit(int rank, wire::Message const& message) try {
    auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    if (message.kind == kinds::piece)
        pieces.insert(pieces.end(), message.payload.begin(), message.payload.end());
    if (message.kind != kinds::commit) return;
    Reader reader(message.payload);
    std::uint64_t number = 0;
    reader.read(&number, sizeof number);
    if (pieces.empty()) return commit(rank, number, decode<State>(reader));
    auto const last = reader.take(reader.left());
    pieces.insert(pieces.end(), last.begin(), last.end());
    auto const whole = std::exchange(pieces, {});
    Reader state(whole);
    commit(rank, number, decode<State>(state));
} catch (DecodeError const& error) {
    fail(rank, text("sent something unreadable: ", error.what()));
}

void RingJob::take_in(int rank, Joined const& joined) {
    auto& node = table_.members[static_cast<std::size_t>(rank)];
    node.host = record(rank).host = joined.host;
    node.address = joined.address;
    node.port = joined.port;
    table_.listeners[static_cast<std::size_t>(rank)] = joined.listener;
    table_.remotes[static_cast<std::size_t>(rank)] = joined.remote;
    // The pid of a member on another node is known only now.
    if (auto const* const process = child(rank)) record(rank).pid = process->pid();
    node.pid = record(rank).pid;
    record(rank).joined = true;
    // Members that are not started yet have records, too.
    if (std::all_of(records_.begin(), records_.end(), [](auto const& one) { return one.joined; }))
        all_have_joined();
}

void RingJob::all_have_joined() {
    if (failing_ || met_) return;
    met_ = true;
    timer_ = {};
    auto const table = to_bytes(table_);
    for (auto const& each : children_)
        if (each) each->control().send_now(kinds::go, 0, {table});
    // Members send no heartbeats before they receive `go`.
    for (int rank = first_child(); rank < plan_.size; ++rank)
        if (silent_[static_cast<std::size_t>(rank)] != 0) limit_silence(rank);
    changed_.notify_all();
}

void RingJob::returned(int rank) {
    record(rank).returned = true;
    watch_commits();
    bool const all =
        std::all_of(records_.begin(), records_.end(), [](auto const& one) { return one.returned; });
    if (!all || failing_ || leaving_) return;
    leaving_ = true;
    to_all(kinds::leave);
    timer_ = runtime_.loop().after(patience_with_leavers, [this] { attribute_remaining(); });
    changed_.notify_all();
}

void RingJob::to_all(std::uint8_t kind) {
    for (auto const& each : children_)
        if (each) each->control().send_now(kind, 0, {});
}

void RingJob::commit(int rank, std::uint64_t number, State state) {
    if (!commits_.add(rank, number, std::move(state))) {
        if (!commit_timer_)
            commit_timer_ = runtime_.loop().after(plan_.commit_timeout,
                                                  [this] { attribute_uncommitted(true); });
        return watch_commits();
    }
    commit_timer_ = {};
    if (store_ != nullptr) return keep_commit();
    commits_.settle();
    to_all(kinds::committed);
    changed_.notify_all();
}

void RingJob::keep_commit() {
    being_kept_ = true;
    auto const kept_by = [weak = std::weak_ptr<RingJob*>(self_)](std::exception_ptr const& error) {
        if (auto const self = weak.lock()) (*self)->kept(error);
    };
    try {
        store_->work.add(store_->file.writing(commits_.count() + 1, commits_.next()), kept_by,
                         plan_.commit_timeout);
    } catch (...) {
        kept(std::current_exception());
    }
}

void RingJob::kept(std::exception_ptr const& error) try {
    being_kept_ = false;
    if (error) std::rethrow_exception(error);
    commits_.settle();
    to_all(kinds::committed);
    changed_.notify_all();
} catch (Timeout const&) {
    attribute_folder();
} catch (std::exception const& problem) {
    auto const* const system = dynamic_cast<SystemError const*>(&problem);
    refusal_ = {text(plan_.options.name, ": commit ", commits_.count() + 1,
                     " does not count: ", problem.what()),
                system != nullptr ? system->error_number() : 0};
    commits_.drop_pending();
    auto const words = to_bytes(*refusal_);
    for (auto const& each : children_)
        if (each) each->control().send_now(kinds::refused, 0, {words});
    changed_.notify_all();
}

/// Fails the members without the pending commit that have returned: they will not commit.
void RingJob::watch_commits() {
    if (!commits_.pending() || being_kept_) return;
    for (int const rank : commits_.missing())
        if (record(rank).returned) return attribute_uncommitted(false);
}

void RingJob::commit_of_caller(std::uint64_t number, State const& state) {
    std::unique_lock lock(runtime_.guard());
    refusal_.reset();
    if (!failing_) commit(0, number, state);
    changed_.wait(lock, [&] { return failing_ || refusal_ || commits_.count() >= number; });
    if (commits_.count() >= number) return;
    if (refusal_) throw SystemError(refusal_->what, refusal_->error_number);
    auto const first = first_failure(records_);
    throw PeerLost(text("rank 0 of ", plan_.size, " of ", plan_.options.name, ": commit ", number,
                        " cannot be made (", rank_text(first ? first->rank : 0),
                        " has failed). The ring ends"));
}

void RingJob::caller_returned() {
    std::lock_guard const lock(runtime_.guard());
    caller_over_ = true;
    returned(0);
    changed_.notify_all();
}

void RingJob::caller_failed(ErrorRecord const& error, std::exception_ptr thrown) {
    std::lock_guard const lock(runtime_.guard());
    caller_over_ = true;
    record(0).error = error;
    record(0).thrown = std::move(thrown);
    fail(0);
}

void RingJob::ended(int rank, process::ChildEnd const& how) {
    auto& member = record(rank);
    member.ended = how;
    silences_[static_cast<std::size_t>(rank)] = {};
    bool const in_order = leaving_ && member.has_left();
    bool const ours = member.signalled;
    if (!in_order && !ours) fail(rank);
    changed_.notify_all();
}

void RingJob::note_liveness(int rank, wire::Liveness now) {
    silent_[static_cast<std::size_t>(rank)] = now == wire::Liveness::suspect;
    silences_[static_cast<std::size_t>(rank)] = {};
    if (met_ && now == wire::Liveness::suspect) limit_silence(rank);
}

void RingJob::limit_silence(int rank) {
    auto const limit = plan_.options.silence;
    if (limit.count() <= 0) return;
    silences_[static_cast<std::size_t>(rank)] = runtime_.loop().after(limit, [this, rank, limit] {
        fail(rank, text("gave no sign of life for ", std::chrono::duration<double>(limit).count(),
                        " s (stopped?). See RingOptions::silence"));
        record(rank).signalled = true;
        child(rank)->signal(SIGKILL);
    });
}

std::vector<MemberRecord> RingJob::wait_for_end() {
    std::unique_lock lock(runtime_.guard());
    changed_.wait(lock, [this] { return over(); });
    return records_;
}

// ---- failures -----------------------------------------------------------------------------------

namespace {

using namespace std::chrono_literals;

/// How long members in a collective may take to notice (0.2 s after a death), report, and exit.
constexpr auto notice = 500ms;
/// How long to wait after SIGKILL. A process blocked in the kernel may take longer; it is left.
constexpr auto patience_with_the_dead = 10s;

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

std::string list(std::vector<int> const& ranks) {
    std::string words = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i)
        words += text(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
    return words;
}

}  // namespace

std::string RingJob::rank_text(int rank) const {
    auto const& member = records_[static_cast<std::size_t>(rank)];
    return text("rank ", rank, " on ", member.host, " (pid ", member.pid, ")");
}

/// Only the first failure of a member counts: later ones may be its consequences.
void RingJob::fail(int rank, std::string const& attribution) {
    auto& member = record(rank);
    if (member.failed == 0) {
        member.failed = ++failures_;
        member.attribution = attribution;
    }
    if (failing_) return;
    failing_ = true;
    commit_timer_ = {};
    end_others();
    changed_.notify_all();
}

void RingJob::end_others() {
    auto const kill = [this] {
        signal_all(SIGKILL);
        timer_ = runtime_.loop().after(patience_with_the_dead, [this] {
            given_up_ = true;
            changed_.notify_all();
        });
    };
    if (!met_) return kill();  // no member runs its target yet
    timer_ = runtime_.loop().after(notice, [this, kill] {
        signal_all(SIGTERM);
        timer_ = runtime_.loop().after(plan_.options.grace, kill);
    });
}

void RingJob::signal_all(int number) {
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
        if (!children_[rank] || records_[rank].ended) continue;
        records_[rank].signalled = true;
        children_[rank]->signal(number);
    }
}

void RingJob::attribute_absent() {
    for (int rank = 0; rank < plan_.size; ++rank)
        if (!record(rank).joined)
            fail(rank, text("has not joined within ", seconds(plan_.options.start_timeout),
                            " s, and was killed. Does something before sinew::init block? See "
                            "RingOptions::start_timeout"));
}

void RingJob::attribute_uncommitted(bool time_is_over) {
    auto const waiting = list(commits_.waiting());
    for (int const rank : commits_.missing()) {
        bool const left = record(rank).returned;
        if (!left && !time_is_over) continue;  // it may still commit
        fail(rank,
             text(left ? "returned without" : "has not come to", " commit ", commits_.count() + 1,
                  left ? std::string() : text(" within ", seconds(plan_.commit_timeout), " s"),
                  ", for which ", waiting, " waited. commit is collective",
                  left ? "" : ". SINEW_TIMEOUT sets the deadline"));
    }
}

// Attributes it to member 0, since the failure of a ring names one member.
void RingJob::attribute_folder() {
    fail(0, text("has made commit ", commits_.count() + 1, ", which ", plan_.options.folder,
                 " has not stored within ", seconds(plan_.commit_timeout),
                 " s. Does its disk answer? SINEW_TIMEOUT sets the deadline"));
}

void RingJob::attribute_remaining() {
    for (int rank = first_child(); rank < plan_.size; ++rank)
        if (!record(rank).ended)
            fail(rank,
                 "has not ended 30 s after its target had returned. Does a destructor of a "
                 "static object or an exit handler block?");
}

bool RingJob::over() const {
    if (!caller_over_) return false;
    if (given_up_) return true;
    if (!failing_ && !leaving_) return false;
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
        if (children_[rank] && !records_[rank].ended) return false;
    return true;
}

}  // namespace sinew::ring
