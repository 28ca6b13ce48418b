// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "src/manager/server/answer.hpp"
#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {

/// Answers that leave together, once all records they depend on are kept.
struct HeldReplies {
    std::vector<Answer> answers;
    std::vector<std::byte> bytes;  ///< that the answers are parts of
    std::size_t missing = 0;       ///< records, the next state
};

/// When the state of which object goes to the supervisor, and which answers wait until it is kept there:
/// the rules, without threads, links or time.
///
/// - An object whose calls are to be kept every N calls: no more than N - 1 that were answered are not
///   in the last state that was kept. With N = 1, what was answered is kept.
/// - Of one object, so many bytes of states are under way at most; what is executed meanwhile waits for
///   the next state, which tells of all of it.
class OutputCommit {
public:
    using Record = std::uint64_t;  ///< what is told to the supervisor: 1, 2, ...
    using HeldList = std::vector<std::shared_ptr<HeldReplies>>;

    /// `every`: calls; 0: only when asked.
    void add(ObjectId object, bool can_save, std::uint64_t every);
    /// It is destroyed. True: the supervisor is to be told now; else `kept` says when: what is under way of
    /// it must not arrive later.
    bool end(ObjectId object);
    bool can_save(ObjectId object) const;

    struct Decision {
        enum class Kind : std::uint8_t {
            pass,  ///< the held leaves unless it depends on something
            hold,  ///< it waits for the next state
            save   ///< the state is to be saved now, as `record`, on which the held depends
        } kind = Kind::pass;
        Record record = 0;
    };
    /// So many calls of it have been executed, and `held` tells of them.
    Decision executed(ObjectId object, std::uint64_t calls, Saves saves,
                      std::shared_ptr<HeldReplies> const& held);
    /// The state is saved, and on its way.
    void saved(ObjectId object, Record record, std::size_t bytes);
    /// It could not be saved, or kept: what depends on that, to be changed before `kept`.
    HeldList depending(Record record) const {
        auto const found = under_way_.find(record);
        return found == under_way_.end() ? HeldList() : found->second.held;
    }

    /// Something else of the object is on its way: that it was made, on which all else depends.
    Record sent(ObjectId object);
    Record sent_made(ObjectId object);
    /// The held leaves no sooner than these records are kept.
    void depend(std::shared_ptr<HeldReplies> const& held, std::vector<Record> const& records);

    struct Kept {
        HeldList leave;
        ObjectId save = 0;   ///< of which a state is to be saved now, in its turn; 0: none
        ObjectId ended = 0;  ///< of which the supervisor is to be told now that it was destroyed
    };
    Kept kept(Record record);
    /// Nothing will be kept any more: all that waits, to leave.
    HeldList open();

    /// Those that have changed since their last state.
    std::vector<ObjectId> changed() const;

private:
    struct Object {
        bool can_save = false;
        std::uint64_t every = 0;
        std::uint64_t since = 0;               ///< calls, after the last state
        std::map<Record, std::size_t> states;  ///< under way: their bytes
        std::size_t bytes = 0;                 ///< of all
        HeldList waiting;                      ///< for the next state
        std::size_t records = 0;               ///< under way
        Record made = 0;
        bool ended = false;
    };
    Decision hold(Object& object, std::shared_ptr<HeldReplies> const& held);
    struct Sent {
        ObjectId object = 0;
        HeldList held;  ///< that wait for it
    };
    Record records_ = 0;
    std::unordered_map<ObjectId, Object> objects_;
    std::map<Record, Sent> under_way_;
};

}  // namespace sinew::manager
