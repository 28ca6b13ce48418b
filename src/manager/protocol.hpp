// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/process/queue_letter.hpp"

namespace sinew::manager {

/// What letters between a manager and those who call its objects say. The letter's id is the object's,
/// its number that of the call, which the caller counts; each answer has the number of its call.
enum class Op : std::uint16_t {
    hello,    ///< the caller's program identity: first
    create,   ///< CallHead, the type's name and its length, arguments of the constructor
    call,     ///< CallHead, arguments
    oneway,   ///< the same; `done` answers when it is over
    skip,     ///< a call that was announced to follow will not come: CallHead
    cancel,   ///< the number of a call; `cancelled` answers in its place if it had not begun
    hold,     ///< there is a handle of the object in the caller's process
    release,  ///< ... none any more
    detach,   ///< answered
    recall,   ///< the same of one that is answered later, once it has been executed
    publish,  ///< a name; answered
    lookup,   ///< a name; `found` answers, without a hold: what is published stays

    value = 32,  ///< the result
    done,        ///< a one-way call is over
    failure,     ///< an ErrorRecord
    gone,  ///< no such object any more; a byte: its call had begun, and was to be answered later
    cancelled,
    refused,  ///< words: what was asked is wrong
    found,    ///< id: the object; its type's name
};

inline constexpr bool is_answer(std::uint16_t op) {
    return op >= static_cast<std::uint16_t>(Op::value);
}

/// Before the arguments. As it lies in memory: see LetterHead.
struct CallHead {
    std::uint64_t method = 0;  ///< detail::TaskId
    std::uint64_t sequence =
        0;  ///< of this caller's calls of this object: 1, 2, ...; create: parallel
};

process::LetterHead head(Op op, std::uint64_t id, std::uint64_t number);

inline std::span<std::byte const> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view text_of(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace sinew::manager
