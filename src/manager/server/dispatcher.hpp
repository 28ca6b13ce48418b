// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sinew/detail/task.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/manager/ids.hpp"
#include "src/process/resources/memory_budget.hpp"

namespace sinew::manager {

/// Bytes that are kept; small ones by value.
struct Payload {
    Payload() = default;
    Payload(Payload&&) = default;  // a vector keeps its place
    Payload& operator=(Payload&&) = default;
    std::vector<std::byte> own;
    std::shared_ptr<void const> keeper;  ///< of `bytes`; null: they are `own`
    std::span<std::byte const> bytes;
};

/// Whether it is not a call of a method, but a request to keep the object's state.
enum class Saves : std::uint8_t { no, if_changed, yes };

/// Events that an object is told of; see detail::CallerObserver.
enum class ObjectEvent : std::uint8_t { none, lost, withdrawn };

/// A call as received by the manager.
struct Call {
    Client client = 0;
    std::uint64_t number = 0;  ///< counted by the client
    detail::TaskEntry const* method = nullptr;
    bool makes = false;   ///< makes the object from the arguments; its first call
    bool oneway = false;  ///< nobody waits for it
    Saves saves = Saves::no;
    Payload arguments;
    /// The state of an object that is made again; null: none.
    std::shared_ptr<std::vector<std::byte> const> state = nullptr;
    ObjectEvent notice =
        ObjectEvent::none;   ///< not none: it is an event, not a call; `client`: who is lost
    bool withdrawn = false;  ///< the caller does not wait for a deferred answer
    process::Reservation reserved{};  ///< from the caller's budget
};

/// A call that will not be executed; its caller is to be told.
struct Dropped {
    Client client;
    std::uint64_t number;
    bool begun = false;  ///< it was executed, and its object had not answered yet
};

/// A call whose method has returned, and whose object answers later. Whoever claims it tells the
/// caller.
class Postponed {
public:
    Postponed(Client client_, std::uint64_t number_) : client(client_), number(number_) {}
    bool claim() { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    bool claimed() const { return claimed_.load(std::memory_order_acquire); }
    Client const client;
    std::uint64_t const number;

private:
    std::atomic<bool> claimed_{false};
};

/// What happened, during its execution, to a call that is answered later.
enum class Fate : std::uint8_t { waits, cancelled, lost, ended };

/// Calls of one object that a thread executes one after the other. A call begins when it is
/// claimed: by that thread, or by whoever drops it meanwhile.
class Batch {
public:
    explicit Batch(std::vector<Call> calls)
        : calls_(std::move(calls)), claimed_(new std::atomic<bool>[calls_.size()] {}) {}
    std::size_t size() const { return calls_.size(); }
    Call const& operator[](std::size_t index) const { return calls_[index]; }
    /// False: another has claimed it.
    bool claim(std::size_t index) {
        return !claimed_[index].exchange(true, std::memory_order_acq_rel);
    }
    /// Nobody waits for the deferred answer.
    void withdraw(std::size_t index) { withdrawn_.insert(index); }
    bool withdrawn(std::size_t index) const {
        return calls_[index].withdrawn || withdrawn_.count(index) > 0;
    }

private:
    std::vector<Call> const calls_;
    std::unique_ptr<std::atomic<bool>[]> const claimed_;
    std::set<std::size_t> withdrawn_;
};

/// Work for a thread.
struct Work {
    ObjectId object = 0;
    std::shared_ptr<void> instance;  ///< null: it is yet to be made
    std::shared_ptr<Batch> calls;    ///< null: the instance is to be destroyed
    bool alone = false;              ///< no other call of the object is executed meanwhile
};

/// Decides which call is executed when, without threads, links or time.
///
/// - Calls of one client on one object are executed in the order of their sequence numbers (1, 2,
/// ...), in whatever order they arrive.
/// - At most `parallel` calls of an object are executed at a time.
/// - An object lives as long as a client holds it or it is detached; then it is destroyed, after
/// the calls that had arrived.
/// - Calls of a lost client that have not begun are dropped, except one-way calls.
/// - A call that is answered later can be cancelled until then, and keeps its object alive. Objects
/// that observe such events (detail::CallerObserver) get them as calls, in order.
class Dispatcher {
public:
    /// Adds an object that `making` makes, held by the caller; it has no sequence number. `again`:
    /// under its former id.
    ObjectId add(unsigned parallel, char const* type, Call making, ObjectId again = 0);
    /// Ids of further objects begin after this one.
    void begin_ids(ObjectId after) { ids_ = after; }
    /// Adds an object that exists already.
    ObjectId add_made(unsigned parallel, char const* type, std::shared_ptr<void> instance,
                      Client holder);
    /// Appends a call without a client's sequence number. False: there is no such object.
    bool append(ObjectId object, Call call);
    /// Appends a call of a client. False: there is no such object, or the number was used before.
    /// `place`: from the caller's budget, in case the call has to wait for earlier ones.
    bool arrive(ObjectId object, std::uint64_t sequence, Call call,
                process::Reservation place = {});
    /// The call of this sequence number will not come.
    void skip(ObjectId object, Client client, std::uint64_t sequence,
              process::Reservation place = {});
    /// True: the call will never begin, or never be answered by its object.
    bool cancel(ObjectId object, Client client, std::uint64_t number);
    /// The call's method has returned without an answer. `waits`: notes that, unless it was
    /// answered meanwhile. Otherwise the call is claimed, and its caller is to be told.
    /// `caller_there`: the caller is not lost.
    Fate postpone(Work const& work, std::size_t index, std::shared_ptr<Postponed> const& call,
                  bool caller_there);
    /// One of the calls that are answered later was claimed by its object.
    void answered(ObjectId object, Client client, std::uint64_t number);
    /// Executes the call, but does not wait for a deferred answer. True: it waited, and has ended.
    bool withdraw(ObjectId object, Client client, std::uint64_t number);
    /// The client counts its calls of the object from 1 again; all earlier ones have arrived.
    /// False: there is no such object.
    bool hold(ObjectId object, Client client);
    void release(ObjectId object, Client client);
    bool detach(ObjectId object);
    void lost(Client client);
    /// Nothing begins any more. Returns the calls that had not begun.
    std::vector<Dropped> drop_all();

    /// False: the name is taken, or there is no such object.
    bool publish(ObjectId object, std::string const& name);
    struct Published {
        ObjectId object;
        char const* type;
    };
    std::optional<Published> find(std::string const& name) const;

    /// Calls of one object in a row, before others have their turn.
    static constexpr std::size_t calls_in_a_row = 256;
    /// Work on the object whose turn it is.
    std::optional<Work> take(std::size_t in_a_row = calls_in_a_row);
    bool has_work() const { return !turns_.empty(); }
    /// The work is done. `instance`: of an object that was made; null: it could not be made, and
    /// calls of it are returned.
    std::vector<Dropped> finished(Work const& work, std::shared_ptr<void> instance);

    /// At the end: all instances, to be destroyed.
    std::vector<std::shared_ptr<void>> take_all();

    /// True also if there is no such object, which callers are told separately.
    bool is_a(ObjectId object, char const* type) const;

    std::size_t objects() const { return objects_.size(); }
    std::size_t waiting() const;

private:
    /// A call that has arrived before earlier ones.
    struct Early {
        std::optional<Call> call;  ///< nothing: it will not come
        process::Reservation reserved;
    };
    /// A client's calls of an object.
    struct Row {
        std::uint64_t next = 1;
        std::map<std::uint64_t, Early> early;
    };
    struct Object {
        unsigned parallel = 1;
        char const* type = nullptr;
        bool made = false, detached = false, listed = false;
        bool withdrawn_noted = false;
        std::shared_ptr<void> instance;
        std::deque<Call> calls;
        std::vector<std::shared_ptr<Batch>> batches;  ///< that are being executed
        std::set<Client> holders;
        std::unordered_map<Client, Row> rows;
        std::map<std::pair<Client, std::uint64_t>, std::shared_ptr<Postponed>> postponed;
    };
    bool enqueue(ObjectId id, Object& object, Row& row, std::uint64_t sequence,
                 std::optional<Call> call, process::Reservation place);
    void list(ObjectId id, Object& object);
    static void drop(Call const& call, std::vector<Dropped>& dropped);
    static void drop_waiting(Object& object, std::vector<Dropped>& dropped);
    static bool wanted(Object const& object) {
        return object.detached || !object.holders.empty() || !object.postponed.empty();
    }
    static void note_withdrawn(Object& object);
    std::optional<bool> end_wait(ObjectId id, Object& object, Client client, std::uint64_t number);
    static void lose_postponed(Object& object, Client client);

    std::unordered_map<ObjectId, Object> objects_;
    std::deque<ObjectId> turns_;
    std::map<std::string, ObjectId> names_;
    ObjectId ids_ = 0;
    bool ended_ = false;  ///< nothing begins any more
};

}  // namespace sinew::manager
