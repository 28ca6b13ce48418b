// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator_state.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include <sinew/error.hpp>

#include "collectives/schedule/lent_buffer.hpp"
#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "src/comm/black_box/black_box.hpp"
#include "src/comm/collective/collective_execution.hpp"
#include "src/comm/collective/persistent_call.hpp"
#include "src/comm/device/device_paths.hpp"
#include "src/comm/memory/posted_calls.hpp"
#include "src/comm/memory/short_operands.hpp"
#include "src/comm/share.hpp"
#include "src/comm/shrink/shrinking.hpp"

namespace sinew::detail {

CommonSettings CommonSettings::from_environment() {
    return {.deadlines = Deadlines::from_environment(),
            .check = env_flag("SINEW_CHECK", false),
            .calibrate = env_flag("SINEW_CALIBRATE", true),
            .node_memory = env_flag("SINEW_NODE_MEMORY", true),
            .forced_algorithms = env("SINEW_ALGORITHM").value_or(""),
            .timeline = env("SINEW_TIMELINE").has_value(),
            .tune = tune_mode(env("SINEW_TUNE").value_or("off")),
            .domains = domain_level(env("SINEW_NODE_DOMAINS").value_or("auto"))};
}

std::string PointToPoint::text() const {
    std::string words;
    if (out)
        words = sinew::text("send(", out->type.name(), " x ", out->count, ", to ", to, ", tag ",
                            tag, ')');
    if (out && in) words += " with ";
    if (in) {
        words += sinew::text("recv(", in->type.name(), " x ", in->count, ", from ");
        words += from == any_source ? "any rank" : std::to_string(from);
        words += sinew::text(", tag ", tag, ')');
    }
    return words;
}

namespace {

std::vector<std::string> hosts_by_rank(NodeLayout const& nodes) {
    std::vector<std::string> hosts;
    for (int const node : nodes.node_of)
        hosts.push_back(nodes.hosts[static_cast<std::size_t>(node)]);
    return hosts;
}

/// How long waits look before they do anything else. With more ranks than cores, a polling rank takes the core from the
/// rank that it waits for.
ProgressPolicy::Pace pace_of(CommonSettings const& settings) {
    if (!settings.oversubscribed) return {.spins = 300, .yields = 20000};
    return {.spins = 2, .yields = 4000, .memory_spins = 4, .memory_yields = 3};
}

/// The domains of the ranks of this node.
NodeDomains domains_here(NodeLayout const& nodes, std::vector<Locality> const& by_rank,
                         DomainLevel level) {
    std::vector<Locality> here;
    for (std::size_t r = 0; r < by_rank.size(); ++r)
        if (nodes.node_of[r] == nodes.node) here.push_back(by_rank[r]);
    return node_domains(here, level);
}

}  // namespace

/// Holds the communicator for one call. Throws UsageError if another thread is inside a call.
struct CommunicatorState::Busy {
    Busy(CommunicatorState& state, Invocation const& call) : state_(state) {
        if (state_.busy_.exchange(true, std::memory_order_acquire))
            throw UsageError(text(state_.detector_.self_text(), ": ", call.text(),
                                  ": another thread is inside a call of this communicator. Give "
                                  "each thread its own (dup)"));
    }
    ~Busy() { state_.busy_.store(false, std::memory_order_release); }
    Busy(Busy const&) = delete;

private:
    CommunicatorState& state_;
};

CommunicatorState::CommunicatorState(std::unique_ptr<Transport> transport, NodeLayout nodes,
                                     std::shared_ptr<Engine> engine,
                                     std::shared_ptr<collectives::Tuners> tuners,
                                     CommonSettings const& settings,
                                     std::vector<Locality> localities,
                                     std::shared_ptr<node_memory::Arena> arena, std::string name)
    : transport_(std::move(transport)), nodes_(std::move(nodes)), engine_(std::move(engine)),
      settings_(settings), pace_(pace_of(settings)), kernels_(ShortKernels::all()),
      tuners_(std::move(tuners)), tuner_(tuners_->at(collectives::Placement::of(nodes_.node_of))),
      refinement_(tuners_->refinement(*tuner_)), ring_(nodes_.node_of),
      log_(std::move(name), transport_->rank(), hosts_by_rank(nodes_)),
      detector_(*transport_, nodes_, detector_tag, log_), localities_(std::move(localities)),
      domains_(domains_here(nodes_, localities_, settings_.domains)), arena_(std::move(arena)),
      may_have_room_(settings_.node_memory && nodes_.nodes() < transport_->size() &&
                     (nodes_.nodes() > 1 || arena_ != nullptr)) {
    shares_memory_ = may_have_room_;
    engine_->add(detector_);
}

CommunicatorState::~CommunicatorState() { engine_->remove(detector_); }

std::optional<Refusal> CommunicatorState::fault_of(
    Invocation const& call, Returns returns, std::shared_ptr<DeviceSide const>& device) const {
    // Returned out of the catch block, because fibers handling exceptions must not be switched.
    try {
        check_arguments(call, transport_->rank(), transport_->size(),
                        nodes_.host_of(transport_->rank()));
        device = device_side_of(call, transport_->rank(), returns,
                                [this] { return detector_.self_text(); });
    } catch (Refusal const& refusal) {
        return refusal;
    }
    return std::nullopt;
}

template <class TellOthers>
void CommunicatorState::refuse(Refusal const& refusal, TellOthers const& tell_others) {
    if (transport_->size() == 1) throw UsageError(refusal.what());
    if (settings_.check) {
        // The other ranks throw in the same call of the sequence, so all ranks can continue.
        try {
            tell_others();
        } catch (Error const&) {
            // The communicator was lost meanwhile: the next call throws the reason.
        }
        throw UsageError(refusal.what());
    }
    if (!refusal.only_here()) throw UsageError(refusal.what());
    // The other ranks know nothing of this. This rank's next call would match their current one.
    UsageError const error(
        text(refusal.what(), ". The other ranks may be in this call already, so this ",
             "communicator is lost (with SINEW_CHECK=1 they would be told, and could continue)"));
    remember_loss(std::make_exception_ptr(error));
    throw error;
}

void CommunicatorState::run(Invocation const& call, Refusal const* refusal) {
    if (refusal == nullptr && run_at_once(call)) return;
    Busy const busy(*this, call);
    throw_if_lost();
    auto const in_order = [&](Invocation const& checked, Role role) {
        if (pending_.load(std::memory_order_acquire) == 0) return execute(checked, nullptr, role);
        // Non-blocking collectives that were started earlier run first.
        Request(submit(std::make_shared<OwnedInvocation>(checked), role)).wait();
    };
    std::optional<Refusal> found;
    std::shared_ptr<DeviceSide const> device;
    if (refusal == nullptr) found = fault_of(call, Returns::when_done, device);
    if (found) refusal = &*found;
    if (refusal != nullptr) refuse(*refusal, [&] { in_order(call, Role::refuses); });
    if (!device) return in_order(call, Role::performs);
    Invocation there = call;
    there.device = std::move(device);
    in_order(there, Role::performs);
}

Request CommunicatorState::start(Invocation const& call) {
    throw_if_lost();
    // Does not wait until the other ranks know, which may not have reached this call yet.
    std::shared_ptr<DeviceSide const> device;
    if (auto const refusal = fault_of(call, Returns::at_once, device))
        refuse(*refusal, [&] { submit(std::make_shared<OwnedInvocation>(call), Role::refuses); });
    engine_->check_room();
    if (!device) return Request(submit(std::make_shared<OwnedInvocation>(call), Role::performs));
    Invocation there = call;
    there.device = std::move(device);
    return Request(submit(std::make_shared<OwnedInvocation>(there), Role::performs));
}

PersistentRequest CommunicatorState::make_persistent(Invocation const& call) {
    throw_if_lost();
    std::shared_ptr<DeviceSide const> device;
    if (auto const refusal = fault_of(call, Returns::when_done, device))
        throw UsageError(refusal->what());
    if (device)
        throw UsageError(text(detector_.self_text(), ": ", call.text(),
                              ": a persistent call needs buffers in host memory. Call ",
                              name(call.collective), " for buffers of a GPU in each step"));
    return PersistentRequest(std::make_shared<PersistentCall>(shared_from_this(), call));
}

Request CommunicatorState::start(PersistentCall& call) {
    throw_if_lost();
    if (may_use_room(call.owned->call.options)) {
        if (!call.short_call) call.short_call = short_call_of(call.owned->call);
        if (*call.short_call)
            if (auto posted = post(**call.short_call)) return *std::move(posted);
    }
    engine_->check_room();
    return Request(submit(call.owned, Role::performs));
}

std::shared_ptr<Operation> CommunicatorState::submit(std::shared_ptr<OwnedInvocation const> owned,
                                                     Role role) {
    auto operation = std::make_shared<Operation>(
        engine_, [state = shared_from_this(), owned, role](Operation& self) {
            ScopeExit const ended([&] { state->pending_.fetch_sub(1, std::memory_order_release); });
            state->throw_if_lost();
            state->execute(owned->call, &self, role);
        });
    engine_->submit(operation, this);
    pending_.fetch_add(1, std::memory_order_relaxed);  // if it has ended already, this gives 0
    engine_->drive();  // without an engine thread this sends the first messages
    return operation;
}

void CommunicatorState::execute(Invocation const& call, Operation* operation, Role role) {
    end_posted_calls(operation);
    OperationRecord record = record_of(call, transport_->rank(), transport_->size());
    record.entered = static_cast<std::int64_t>(OperationLog::now());
    std::uint64_t const sequence = log_.enter(record);
    ScopeExit const left([this] {
        // After a failure some media continue to read the buffers of cancelled sends.
        if (lost() && transport_->holds_cancelled_buffers()) scratch_.retain();
        else scratch_.release();
        log_.leave(true);
    });
    ProgressPolicy policy(*transport_, detector_, *engine_, operation, deadlines_of(call.options),
                          pace(), true, [&] { return text(call.text(), " #", sequence); });
    collectives::Channel channel(*transport_, policy, collective_tag);
    try {
        if (settings_.check && channel.size() > 1)
            compare_fingerprints(channel, call, sequence, role);
        if (role == Role::refuses) return;
        if (may_have_room_) nodes_.nodes() == 1 ? make_room(channel) : make_rooms_of_nodes(channel);
        if (groups_) channel.use_groups(groups_.get());
        else channel.use_room(room_.get());
        if (call.device) return perform_on_device(call, channel, policy, sequence);
        perform(channel, {*tuner_, refinement_.get(), ring_, scratch_}, call);
    } catch (UsageError const&) {
        // All ranks throw this before the collective sends anything: the communicator stays usable.
        if (channel.begun()) remember_loss(std::current_exception());
        throw;
    } catch (...) {
        remember_loss(std::current_exception());
        throw;
    }
}

std::pair<std::shared_ptr<void>, bool> CommunicatorState::allocate(std::size_t bytes) const {
    if (arena_) {
        try {
            return {arena_->allocate(bytes), true};
        } catch (std::bad_alloc const&) {
            // POSIX shared memory may be small; private memory may still be there.
        }
    }
    constexpr std::size_t page = 4096;
    if (bytes > PTRDIFF_MAX - page) throw std::bad_alloc();
    std::size_t const whole = std::max((bytes + page - 1) / page * page, page);
    std::shared_ptr<void> memory(std::aligned_alloc(page, whole), &std::free);
    if (!memory) throw std::bad_alloc();
    std::memset(memory.get(), 0, whole);
    return {std::move(memory), false};
}

void CommunicatorState::open_room(node_memory::RoomPlace const& place) {
    room_ = arena_->open_room(place, nodes_.local_rank, nodes_.local_size);
    room_->use_domains(domains_.domains);
    room_->share_processors(settings_.oversubscribed);
}

/// Makes the room of this communicator, in its first collective: all ranks are in it, so this is an
/// agreed moment.
void CommunicatorState::make_room(collectives::Channel& channel) {
    collectives::LentBuffer<node_memory::RoomPlace> place(channel, 1);
    if (channel.rank() == 0) place->front() = arena_->make_room(channel.size());
    collectives::Arguments call;
    call.out = reinterpret_cast<std::byte*>(place->data());
    call.count = sizeof(node_memory::RoomPlace);
    call.scratch = &scratch_;
    collectives::find_algorithm(Collective::broadcast, "binomial").run(channel, call);
    may_have_room_ = false;
    if (place->front().offset != 0) open_room(place->front());
    else shares_memory_ = false;
    calls_over_memory_ =
        room_ != nullptr && !settings_.check && settings_.forced_algorithms.empty();
}

void CommunicatorState::perform_on_device(Invocation const& call, collectives::Channel& channel,
                                          ProgressPolicy& policy, std::uint64_t sequence) {
    std::function<void(Invocation const&)> const on_host = [&](Invocation const& part) {
        perform(channel, {*tuner_, refinement_.get(), ring_, scratch_}, part);
        scratch_.release();
    };
    std::string const self = detector_.self_text();
    DeviceCall const there{call,
                           channel,
                           policy,
                           deadlines_of(call.options),
                           text(self, ": ", call.text(), " #", sequence),
                           on_host};
    if (!devices_) {
        bool const any_thread = transport_->threading() == Threading::any;
        devices_ = std::make_unique<DevicePaths>(there, any_thread ? &detector_ : nullptr, self);
        devices_seen_.store(devices_.get(), std::memory_order_release);
    }
    devices_->run(there);
}

/// Makes a room on each node that has several ranks. If one of them has no memory, none is used: all
/// ranks choose the same algorithms.
void CommunicatorState::make_rooms_of_nodes(collectives::Channel& channel) {
    struct Offer {
        node_memory::RoomPlace place;
        std::uint64_t block;
        std::uint64_t has_memory;
    };
    auto const size = static_cast<std::size_t>(channel.size());
    auto const self = static_cast<std::size_t>(channel.rank());
    bool const alone = nodes_.local_size == 1;
    std::vector<Offer> offers(size);
    Offer& own = offers[self];
    own.has_memory = alone || arena_ != nullptr ? 1 : 0;
    if (!alone && arena_ && nodes_.local_rank == 0) {
        own.place = arena_->make_room(nodes_.local_size);
        if (own.place.offset != 0) {
            open_room(own.place);
            own.block = room_->block();
        } else own.has_memory = 0;
    }
    share(channel, offers);
    may_have_room_ = false;
    auto groups = std::make_unique<collectives::NodeGroups>(nodes_.node_of, channel.rank());
    Offer const& here = offers[static_cast<std::size_t>(groups->rank_here(0))];
    // All open a room, so that it is freed when all have left it.
    if (arena_ && here.place.offset != 0 && !room_) open_room(here.place);
    if (std::ranges::any_of(offers, [](Offer const& offer) { return offer.has_memory == 0; })) {
        room_.reset();
        shares_memory_ = false;
        return;
    }
    std::size_t block = std::numeric_limits<std::size_t>::max();
    for (Offer const& offer : offers)
        if (offer.place.offset != 0) block = std::min<std::size_t>(block, offer.block);
    groups->use_room(room_.get(), block);
    groups_ = std::move(groups);
}

void CommunicatorState::compare_fingerprints(collectives::Channel& channel, Invocation const& call,
                                             std::uint64_t sequence, Role role) {
    auto const size = static_cast<std::size_t>(channel.size());
    auto const self = static_cast<std::size_t>(channel.rank());
    auto const room = scratch_.take(size * sizeof(Fingerprint));
    auto* const prints = reinterpret_cast<Fingerprint*>(room.data());
    for (std::size_t r = 0; r < size; ++r) new (prints + r) Fingerprint;
    prints[self] = Fingerprint::of(call, sequence, channel.rank(), channel.size());
    prints[self].refused = role == Role::refuses ? 1 : 0;
    collectives::Arguments gather;
    gather.out = room.data();
    gather.count = 1;
    gather.element = sizeof(Fingerprint);
    gather.blocks = collectives::Blocks::equal(1, sizeof(Fingerprint));
    gather.scratch = &scratch_;
    collectives::find_algorithm(Collective::allgather, "bruck").run(channel, gather);
    if (role == Role::refuses) return;  // refuse() throws this rank's error
    for (std::size_t r = 0; r < size; ++r) {
        if (prints[r].refused == 0) continue;
        throw UsageError(text(detector_.self_text(), ": collective #", sequence,
                              " does not take place: ", detector_.rank_text(static_cast<int>(r)),
                              " called ", prints[r].text(),
                              " with arguments that were refused there. Its own error says why"));
    }
    for (std::size_t r = 0; r < size; ++r) {
        if (prints[r] == prints[0]) continue;
        throw UsageError(
            text(detector_.self_text(), ": the ranks do not agree on collective #", sequence, ": ",
                 detector_.rank_text(0), " called ", prints[0].text(), ", ",
                 detector_.rank_text(static_cast<int>(r)), " called ", prints[r].text(),
                 prints[r].algorithm != prints[0].algorithm ? " with another algorithm" : "",
                 ". All ranks must make the same calls in the same order"));
    }
}

void CommunicatorState::throw_if_lost() {
    if (DevicePaths const* const devices = devices_seen_.load(std::memory_order_acquire))
        if (auto const failure = devices->failure()) remember_loss(failure);
    if (!lost()) return;
    std::lock_guard const lock(lost_mutex_);
    std::rethrow_exception(loss_);
}

bool CommunicatorState::uses_nccl() const {
    DevicePaths* const devices = devices_seen_.load(std::memory_order_acquire);
    return devices != nullptr && devices->nccl() != nullptr;
}

void CommunicatorState::remember_loss(std::exception_ptr error) noexcept {
    std::string reason = "unknown failure";
    {
        std::lock_guard const lock(lost_mutex_);
        if (loss_) return;
        loss_ = error;
        lost_.store(true, std::memory_order_release);
    }
    try {
        std::rethrow_exception(error);
    } catch (std::exception const& e) {
        reason = e.what();
    } catch (...) {}
    transport_->abandon();
    if (DevicePaths* const devices = devices_seen_.load(std::memory_order_acquire))
        devices->lose(error);
    if (arena_) arena_->retain();
    detector_.give_up(reason);
    std::string const file = BlackBox::instance().write(reason);
    if (!file.empty())
        log_warning(text(detector_.self_text(), ": the last operations of this rank are in ", file,
                         ". 'sinew doctor --blackbox' compares the ranks"));
}

void CommunicatorState::abandon(std::string const& reason) noexcept {
    remember_loss(std::make_exception_ptr(PeerLost(reason)));
}

}  // namespace sinew::detail
