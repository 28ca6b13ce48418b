// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/messages.hpp"

#include <limits>

#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

template <class Head>
Head head_of(Reader& reader) {
    Head head;
    reader.read(&head, sizeof head);
    return head;
}

void nothing_behind(Reader const& reader) {
    if (reader.left() != 0)
        throw DecodeError(text(reader.left(), " bytes too many in a message of the pool"));
}

FunctionTold function_of(Reader& reader) {
    auto const head = head_of<FunctionHead>(reader);
    return {head, reader.take(reader.left())};
}

TasksTold tasks_of(Reader& reader) {
    auto const head = head_of<TasksHead>(reader);
    if (head.count == 0 || head.first > std::numeric_limits<std::uint64_t>::max() - head.count)
        throw DecodeError(text("a batch of ", head.count, " tasks from ", head.first,
                               " on (must hold one at least, and end below 2^64)"));
    if (head.transfer != 0) nothing_behind(reader);
    return {head, reader.take(reader.left())};
}

Told told_of(Kind kind, Reader& reader) {
    switch (kind) {
        case Kind::function:
            return function_of(reader);
        case Kind::tasks:
            return tasks_of(reader);
        case Kind::revoke:
            return RevokeTold{head_of<BatchHead>(reader).batch};
        case Kind::stop_task:
            return StopTaskTold{head_of<BatchHead>(reader).batch};
        case Kind::forget:
            return ForgetTold{head_of<JobHead>(reader).job};
        case Kind::release:
            return ReleaseTold{};
        case Kind::fenced:
            return FencedTold{};
        case Kind::mapped:
            return MappedTold{head_of<MappedHead>(reader)};
        default:
            throw DecodeError(text("a message of kind ", static_cast<unsigned>(kind),
                                   ", which is not for workers"));
    }
}

}  // namespace

Told read_told(std::uint8_t kind, Bytes payload) {
    Reader reader(payload);
    auto told = told_of(static_cast<Kind>(kind), reader);
    nothing_behind(reader);
    return told;
}

}  // namespace sinew::pool
