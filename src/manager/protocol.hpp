// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/base/bytes.hpp"
#include "src/process/rpc/message.hpp"

namespace sinew::manager {

/// Operations in messages between a manager and its callers. The message's id is that of the
/// object; its number is that of the call, counted by the caller. Each answer has the number of its
/// call.
enum class Op : std::uint16_t {
    hello,       ///< the caller's program identity; first
    create,      ///< CallHead, the type's name with its length, arguments of the constructor
    call,        ///< CallHead, arguments
    oneway,      ///< the same; answered by `done` when it has ended
    skip,        ///< CallHead: a call with this sequence number will not come
    cancel,      ///< number of a call; if it had not begun, answered by `cancelled` instead
    recall,      ///< the same for a call that is answered later, after it was executed
    hold,        ///< the caller's process has a handle of the object
    release,     ///< it has none any more
    detach,      ///< answered
    publish,     ///< a name; answered
    lookup,      ///< a name; answered by `found`, without a hold, since published objects stay
    checkpoint,  ///< CallHead; in the order of calls; answered when the state is kept

    follow,  ///< CallHead: a call of the object that call number `sequence` will return; arguments
    follow_oneway,
    forget,  ///< number of a call: its result will not be called
    meet,    ///< a process of another session: its identity; answered by a ProcessAddress

    // Between a manager that can be restarted and its supervisor. The id is that of the lineage, or
    // towards the manager the key; the epoch is the incarnation; records have numbers of their own,
    // and a RecordHead. See checkpoint_client.hpp, supervisor.hpp.
    where =
        20,  ///< to the supervisor: the incarnation that the asker knows; answered by `found` or `ended`
    made,       ///< record: arguments of the constructor
    state,      ///< record: the result of save()
    named,      ///< record: a name
    detached,   ///< record
    destroyed,  ///< the object was destroyed; not answered
    remade,     ///< to the supervisor: all objects exist again
    kept = 28,  ///< to the manager: the record of that number is kept
    remake,     ///< to the manager: an object, as a RemakeHead and what follows it
    all,        ///< to the manager: `number` objects are to be made again
    unkept,     ///< to the manager: the record of that number could not be kept; the reason

    value = 32,  ///< the result
    done,        ///< a one-way call has ended
    failure,     ///< an ErrorRecord
    gone,        ///< no such object; a byte: its call had begun, and was to be answered later
    cancelled,
    refused,    ///< the reason: the request is wrong
    found,      ///< id: the object; its type's name
    ended,      ///< the reason: the manager is gone, and will not be restarted
    elsewhere,  ///< not executed: the object to be called is in another manager, as its handle says
    farewell,   ///< to all callers: the manager ends, and will not be restarted
};

inline constexpr bool is_answer(std::uint16_t op) {
    return op >= static_cast<std::uint16_t>(Op::value);
}
inline constexpr bool is_for_supervisor(std::uint16_t op) {
    return op >= static_cast<std::uint16_t>(Op::where) && op < static_cast<std::uint16_t>(Op::kept);
}
inline constexpr bool is_from_supervisor(std::uint16_t op) {
    return op >= static_cast<std::uint16_t>(Op::kept) && op < static_cast<std::uint16_t>(Op::value);
}

/// Precedes the arguments. Sent as it lies in memory: see MessageHeader.
struct CallHead {
    std::uint64_t method = 0;  ///< detail::TaskId
    std::uint64_t sequence =
        0;  ///< of this caller's calls of this object: 1, 2, ...; create: parallel
};

/// Precedes a record. Sent as it lies in memory.
struct RecordHead {
    std::uint64_t key = 0, object = 0;
    std::uint64_t constructor = 0;  ///< made: detail::TaskId
    std::uint64_t parallel = 0;
};

/// Precedes the arguments and the state of an object that is made again, and its names (encoded).
struct RemakeHead {
    std::uint64_t object = 0, constructor = 0, parallel = 0;
    std::uint64_t arguments = 0, state = 0;  ///< their sizes
    std::uint32_t detached = 0, has_state = 0;
};

/// The epoch of a call whose result is a handle that may be called before it has arrived.
inline constexpr std::uint32_t gives_object = 1;

inline process::MessageHeader head(Op op, std::uint64_t id, std::uint64_t number) {
    return {process::ServiceId::manager, static_cast<std::uint16_t>(op), 0, id, number};
}

}  // namespace sinew::manager
