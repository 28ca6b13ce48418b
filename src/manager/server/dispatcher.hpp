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

/// Bytes that are kept: small ones by value.
struct Payload {
    Payload() = default;
    Payload(Payload&&) = default;  // a vector keeps its place
    Payload& operator=(Payload&&) = default;
    std::vector<std::byte> own;
    std::shared_ptr<void const> keeper;  ///< of `bytes`; null: they are `own`
    std::span<std::byte const> bytes;
};

/// Whether a call is none of the object's methods, but asks for its state to be kept.
enum class Saves : std::uint8_t { no, if_changed, yes };

/// What an object hears that nobody called; see detail::CallerObserver.
enum class ObjectEvent : std::uint8_t { none, lost, withdrawn };

/// A call as the manager has received it.
struct Call {
    Client client = 0;
    std::uint64_t number = 0;  ///< the client's
    detail::TaskEntry const* method = nullptr;
    bool makes = false;   ///< the object, of the arguments; its first call
    bool oneway = false;  ///< nobody waits for it
    Saves saves = Saves::no;
    Payload arguments;
    /// Of an object that is made again: what it is to have; null: nothing more.
    std::shared_ptr<std::vector<std::byte> const> state = nullptr;
    ObjectEvent notice = ObjectEvent::none;  ///< else it is no call; `client`: who is lost
    bool withdrawn = false;                  ///< it is not to be answered later
    process::Reservation reserved{};         ///< of what its caller may have here
};

/// A call that will not be executed: its caller is to be told.
struct Dropped {
    Client client;
    std::uint64_t number;
    bool begun = false;  ///< it was executed, and its object had not answered yet
};

/// A call whose method has returned, and whose object answers later: whoever claims it tells the
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

/// What has become, while it ran, of a call that is to be answered later.
enum class Fate : std::uint8_t { waits, cancelled, lost, ended };

/// Calls of one object that a thread executes in a row. Which have begun is decided by who claims them
/// first: that thread, or whoever drops them meanwhile.
class Batch {
public:
    explicit Batch(std::vector<Call> calls)
        : calls_(std::move(calls)), claimed_(new std::atomic<bool>[calls_.size()] {}) {}
    std::size_t size() const { return calls_.size(); }
    Call const& operator[](std::size_t index) const { return calls_[index]; }
    /// False: somebody else has.
    bool claim(std::size_t index) {
        return !claimed_[index].exchange(true, std::memory_order_acq_rel);
    }
    /// Nobody waits for what its object would answer later.
    void withdraw(std::size_t index) { withdrawn_.insert(index); }
    bool withdrawn(std::size_t index) const {
        return calls_[index].withdrawn || withdrawn_.count(index) > 0;
    }

private:
    std::vector<Call> const calls_;
    std::unique_ptr<std::atomic<bool>[]> const claimed_;
    std::set<std::size_t> withdrawn_;
};

/// Something for a thread to do.
struct Work {
    ObjectId object = 0;
    std::shared_ptr<void> instance;  ///< null: it is yet to be made
    std::shared_ptr<Batch> calls;    ///< null: the instance is to be destroyed
    bool alone = false;              ///< nothing else of the object is executed meanwhile
};

/// Which call is executed when: the rules of a manager, without threads, links or time.
///
/// - Calls of one client on one object run in the order of their sequence numbers (1, 2, ...), however
///   they arrive.
/// - Of an object at most `parallel` run at a time.
/// - An object lives as long as a client holds it, or it is detached; then it is destroyed, after the
///   calls that had arrived.
/// - What a lost client had called and what has not begun is dropped, unless it was one-way.
/// - A call that is answered later can be cancelled until then, and keeps its object; objects that
///   hear of such things (detail::CallerObserver) have it as a call in their row.
class Dispatcher {
public:
    /// An object that `making` makes, held by who calls that; it is in no sequence. `again`: under the
    /// id that it had before.
    ObjectId add(unsigned parallel, char const* type, Call making, ObjectId again = 0);
    /// Those of objects to come begin after this.
    void begin_ids(ObjectId after) { ids_ = after; }
    /// One that is there already.
    ObjectId add_made(unsigned parallel, char const* type, std::shared_ptr<void> instance,
                      Client holder);
    /// A call of no client's sequence, behind all that have arrived. False: there is no such object.
    bool append(ObjectId object, Call call);
    /// False: there is no such object, or the number was used before. `place`: in the row, should it
    /// have to wait there.
    bool arrive(ObjectId object, std::uint64_t sequence, Call call,
                process::Reservation place = {});
    /// The call of this sequence number will not come.
    void skip(ObjectId object, Client client, std::uint64_t sequence,
              process::Reservation place = {});
    /// True: it will never begin, or never be answered by its object.
    bool cancel(ObjectId object, Client client, std::uint64_t number);
    /// The call's method has returned without an answer. `waits`: that is noted, unless it has been
    /// answered meanwhile. Else it is claimed, and its caller to be told. `caller_there`: it is not lost.
    Fate postpone(Work const& work, std::size_t index, std::shared_ptr<Postponed> const& call,
                  bool caller_there);
    /// One of these was claimed by its object.
    void answered(ObjectId object, Client client, std::uint64_t number);
    /// It is executed, but not waited for longer than that: true: it waited, and is over.
    bool withdraw(ObjectId object, Client client, std::uint64_t number);
    /// The client counts its calls of it from 1 again; those before have arrived. False: there is no
    /// such object.
    bool hold(ObjectId object, Client client);
    void release(ObjectId object, Client client);
    bool detach(ObjectId object);
    void lost(Client client);
    /// Nothing begins any more: what had not, to be told so.
    std::vector<Dropped> drop_all();

    /// False: the name is taken, or there is no such object.
    bool publish(ObjectId object, std::string const& name);
    struct Published {
        ObjectId object;
        char const* type;
    };
    std::optional<Published> find(std::string const& name) const;

    /// So many of one object, then others have their turn.
    static constexpr std::size_t calls_in_a_row = 256;
    /// Of the object whose turn it is.
    std::optional<Work> take(std::size_t in_a_row = calls_in_a_row);
    bool has_work() const { return !turns_.empty(); }
    /// The work on it is done. `instance`: of one that was made; null there: it could not be. What was
    /// called of an object that could not be made is given back.
    std::vector<Dropped> finished(Work const& work, std::shared_ptr<void> instance);

    /// At the very end: all instances, to be destroyed.
    std::vector<std::shared_ptr<void>> take_all();

    /// True where there is no such object: whoever calls it is told that.
    bool is_a(ObjectId object, char const* type) const;

    std::size_t objects() const { return objects_.size(); }
    std::size_t waiting() const;

private:
    /// A call before which another is still to come.
    struct Early {
        std::optional<Call> call;  ///< nothing: will not come
        process::Reservation reserved;
    };
    /// What a client has called of an object.
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
        std::vector<std::shared_ptr<Batch>> batches;  ///< that run
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
