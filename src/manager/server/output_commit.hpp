// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/manager/server/answer.hpp"
#include "src/manager/server/dispatcher.hpp"

namespace sinew::manager {

/// Answers that leave together, once all records that they depend on are kept.
struct HeldReplies {
    std::vector<Answer> answers;
    std::vector<std::byte> bytes;  ///< of which the answers are parts
    std::size_t missing = 0;       ///< records that are not kept yet; the next state counts as one
};

/// Decides when an object's state is sent to the supervisor, and which answers wait until it is
/// kept there (the output commit problem), without threads, links or time.
///
/// - For an object with checkpoints every N calls, at most N - 1 answered calls are missing in the
/// last state that was kept. With N = 1, every answered call is in it.
/// - States in flight of one object are limited; calls that are executed meanwhile wait for the
/// next state, which covers all of them.
class OutputCommit {
public:
    using Record = std::uint64_t;  ///< number of a record for the supervisor: 1, 2, ...
    using HeldList = std::vector<std::shared_ptr<HeldReplies>>;

    /// `every`: calls; 0: only on request.
    void add(ObjectId object, bool can_save, std::uint64_t every);
    /// The object is destroyed. True: tell the supervisor now; otherwise `kept` says when, since
    /// its records in flight must not arrive later.
    bool end(ObjectId object);
    bool can_save(ObjectId object) const;

    struct Decision {
        enum class Kind : std::uint8_t {
            pass,  ///< the answers leave unless they depend on something
            hold,  ///< they wait for the next state
            save   ///< save the state now, as `record`, on which the answers depend
        } kind = Kind::pass;
        Record record = 0;
    };
    /// So many calls of the object have been executed; `held` has their answers.
    Decision executed(ObjectId object, std::uint64_t calls, Saves saves,
                      std::shared_ptr<HeldReplies> const& held);
    /// The state is saved, and in flight.
    void saved(ObjectId object, Record record, std::size_t bytes);
    /// The record could not be saved or kept: the answers that depend on it, to be changed before
    /// `kept`.
    HeldList depending(Record record) const {
        auto const found = under_way_.find(record);
        return found == under_way_.end() ? HeldList() : found->second.held;
    }

    /// Another record of the object is in flight: that it was made, on which all others depend.
    Record sent(ObjectId object);
    Record sent_made(ObjectId object);
    /// The answers leave no sooner than these records are kept.
    void depend(std::shared_ptr<HeldReplies> const& held, std::vector<Record> const& records);

    struct Kept {
        HeldList leave;
        ObjectId save =
            0;  ///< an object whose state is to be saved now, in the order of calls; 0: none
        ObjectId ended =
            0;  ///< an object of which the supervisor is to be told now that it was destroyed
    };
    Kept kept(Record record);
    /// Nothing will be kept any more: returns all waiting answers, to be sent.
    HeldList open();

    /// The objects that have changed since their last state.
    std::vector<ObjectId> changed() const;

private:
    struct Object {
        bool can_save = false;
        std::uint64_t every = 0;
        std::uint64_t since = 0;               ///< calls since the last state
        std::map<Record, std::size_t> states;  ///< in flight, with their sizes in bytes
        std::size_t bytes = 0;                 ///< of all
        HeldList waiting;                      ///< for the next state
        std::size_t records = 0;               ///< in flight
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
