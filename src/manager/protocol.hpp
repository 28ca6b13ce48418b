// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/process/rpc/message.hpp"

namespace sinew::manager {

/// What messages between a manager and those who call its objects say. The message's id is the object's,
/// its number that of the call, which the caller counts; each answer has the number of its call.
enum class Op : std::uint16_t {
    hello,       ///< the caller's program identity: first
    create,      ///< CallHead, the type's name and its length, arguments of the constructor
    call,        ///< CallHead, arguments
    oneway,      ///< the same; `done` answers when it is over
    skip,        ///< a call that was announced to follow will not come: CallHead
    cancel,      ///< the number of a call; `cancelled` answers in its place if it had not begun
    recall,      ///< the same of one that is answered later, once it has been executed
    hold,        ///< there is a handle of the object in the caller's process
    release,     ///< ... none any more
    detach,      ///< answered
    publish,     ///< a name; answered
    lookup,      ///< a name; `found` answers, without a hold: what is published stays
    checkpoint,  ///< CallHead; in its turn, as a call; answered when the state is kept

    follow,  ///< CallHead: a call of the object that the call of number `sequence` will give; arguments
    follow_oneway,
    forget,  ///< the number of a call: its result will not be called
    meet,    ///< of a process of another session: who this is; a ProcessAddress answers

    // Between a manager that is started anew when it dies, and its supervisor. The id is the lineage's, or to
    // the manager the key, the epoch the incarnation; of records: a number of their own, RecordHead.
    // See checkpoints.hpp, supervisor.hpp.
    where =
        20,  ///< to the supervisor: of which incarnation the asker knows; `found` or `ended` answers
    made,    ///< record: arguments of the constructor
    state,   ///< record: what save() gave
    named,   ///< record: a name
    detached,   ///< record
    destroyed,  ///< of the object; not answered
    remade,     ///< to the supervisor: all objects are there again
    kept = 28,  ///< to the manager: the record of that number is kept
    remake,     ///< to the manager: an object, as a RemakeHead and what follows
    all,        ///< to the manager: there are `number` objects to be made again
    unkept,     ///< to the manager: the record of that number could not be kept; words

    value = 32,  ///< the result
    done,        ///< a one-way call is over
    failure,     ///< an ErrorRecord
    gone,  ///< no such object any more; a byte: its call had begun, and was to be answered later
    cancelled,
    refused,    ///< words: what was asked is wrong
    found,      ///< id: the object; its type's name
    ended,      ///< words: the manager is gone, and will not be started anew
    elsewhere,  ///< not executed: the object to be called is in another manager, as its handle tells
    farewell,   ///< to all who call: the manager ends, and will not be started anew
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

/// Before the arguments. As it lies in memory: see MessageHeader.
struct CallHead {
    std::uint64_t method = 0;  ///< detail::TaskId
    std::uint64_t sequence =
        0;  ///< of this caller's calls of this object: 1, 2, ...; create: parallel
};

/// Before what a record says. As it lies in memory.
struct RecordHead {
    std::uint64_t key = 0, object = 0;
    std::uint64_t supervisor = 0;  ///< made: detail::TaskId
    std::uint64_t parallel = 0;
};

/// Before the arguments and the state of an object that is made again, and its names (encoded).
struct RemakeHead {
    std::uint64_t object = 0, supervisor = 0, parallel = 0;
    std::uint64_t arguments = 0, state = 0;  ///< their sizes
    std::uint32_t detached = 0, has_state = 0;
};

/// The epoch of a call whose result is a handle that may be called before it has arrived.
inline constexpr std::uint32_t gives_object = 1;

process::MessageHeader head(Op op, std::uint64_t id, std::uint64_t number);

inline std::span<std::byte const> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view text_of(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace sinew::manager
