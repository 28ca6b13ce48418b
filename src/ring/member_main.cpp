// SPDX-License-Identifier: Apache-2.0
#include "src/ring/member_main.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/ring/environment.hpp"
#include "src/ring/member_state.hpp"
#include "src/ring/parent.hpp"

namespace sinew::ring {
namespace {

int run(Parent& parent, MemberOrder order, Table table, MemberEndpoints endpoints) {
    auto const work = std::move(order.work);
    std::optional<MemberState> state;
    try {
        state.emplace(
            std::move(order), std::move(table), std::move(endpoints),
            [&parent](std::uint64_t number, State const& value) { parent.commit(number, value); });
        RingMember member(*state);
        perform(work, member);
    } catch (...) {
        auto const record = detail::describe(std::current_exception());
        parent.failed(record);  // before other members report its loss
        if (state)
            state->communicator.state().abandon(text("it threw ", record.type, ": ", record.what));
        return 1;
    }
    parent.returned();
    return 0;
}

}  // namespace

int member_main(process::ChildStart& start) try {
    auto order = from_bytes<MemberOrder>(start.message);
    start.message.clear();
    if (!is_known(order.work)) {
        log_warning(text(start.name,
                         ": its function is not in this program (it may be in a library that the "
                         "parent has loaded by dlopen). Link that library"));
        return 1;
    }
    MemberEndpoints endpoints(order);
    join_ring(start.control.get(), endpoints.joined());
    auto table = wait_for_table(start.control.get());
    // Static: the variables stay set for destructors of static objects that are made later.
    static Environment const environment(environment_of(order.rank, order.name, table));
    // Never destroyed: its callbacks come until the process ends.
    static Parent* const parent = new Parent(start);
    return run(*parent, std::move(order), std::move(table), std::move(endpoints));
} catch (std::exception const& error) {
    log_warning(text(start.name, ": ", error.what()));
    return 1;
}

}  // namespace sinew::ring
