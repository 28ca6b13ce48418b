// SPDX-License-Identifier: Apache-2.0
//
// Messages between a ring's parent and its members: they are decoded or refused with DecodeError,
// and a decoded message can be used and encodes to the same bytes again.
#include <cstdint>
#include <cstdlib>
#include <sinew/error.hpp>
#include <span>

#include "src/ring/commits.hpp"
#include "src/ring/environment.hpp"
#include "src/ring/protocol.hpp"
#include "tests/fuzz/script.hpp"

namespace {

using namespace sinew;
using namespace sinew::ring;
using Input = std::span<std::byte const>;

void expect(bool holds) {
    if (!holds) std::abort();
}

template <class T>
std::optional<T> taken(Input bytes) {
    try {
        auto value = from_bytes<T>(bytes);
        auto const again = to_bytes(value);
        expect(to_bytes(from_bytes<T>(again)) == again);
        return value;
    } catch (DecodeError const&) {
        return std::nullopt;
    }
}

// Commits with rank and number, as members send them, are accepted once or refused. A complete
// commit counts when it is settled, or is dropped, as if a folder had failed.
void commit(fuzz::Script script) {
    Commits commits(3);
    while (!script.left.empty()) {
        auto const rank = static_cast<int>(script.next() % 3);
        auto const before = commits.count();
        auto const number = script.next() % 4 == 0 ? script.number() : before + 1;
        try {
            auto const whole = commits.add(rank, number, {});
            expect(number == before + 1 && commits.count() == before);
            expect(whole == commits.missing().empty());
            if (whole) {
                if (script.next() % 4 == 0) commits.drop_pending();
                else commits.settle();
                expect(!commits.pending());
            }
        } catch (DecodeError const&) {
            expect(commits.count() == before);
        }
        if (script.next() % 16 == 0) commits.drop_pending();
        for (int const missing : commits.missing()) expect(missing >= 0 && missing < 3);
    }
}

void look_at(Table const& table) {
    for (std::size_t rank = 0; rank < table.members.size(); ++rank)
        expect(environment_of(static_cast<int>(rank), "wild", table).size() >= 7);
}

// A valid message with one wrong byte.
void bend(fuzz::Script script) {
    Table table{
        .epoch = 1, .key = "00", .members = {}, .listeners = {}, .remotes = {}, .nodes = {}};
    auto const size = script.next() % 4;
    for (unsigned rank = 0; rank < size; ++rank) {
        table.members.push_back({.rank = static_cast<int>(rank),
                                 .host = "h",
                                 .address = "127.0.0.1",
                                 .port = 1,
                                 .pid = 2});
        table.listeners.emplace_back("/l");
        table.remotes.emplace_back();
        table.nodes.push_back(static_cast<int>(rank / 2));
    }
    auto bytes = to_bytes(table);
    if (auto const at = script.next(); at < bytes.size())
        bytes[at] = static_cast<std::byte>(script.next());
    if (auto const bent = taken<Table>(bytes)) look_at(*bent);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::Script script{std::as_bytes(std::span(data, size))};
    auto const what = script.next() % 8;
    auto const rest = script.left;
    if (what == 0) (void)taken<Work>(rest);
    if (what == 1) (void)taken<State>(rest);
    if (what == 2) (void)taken<MemberOrder>(rest);
    if (what == 3) (void)taken<Joined>(rest);
    if (what == 4) {
        if (auto const table = taken<Table>(rest)) look_at(*table);
    }
    if (what == 5) commit(script);
    if (what > 5) bend(script);
    return 0;
}
