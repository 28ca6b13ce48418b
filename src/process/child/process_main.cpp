// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/process_main.hpp"

#include <unistd.h>

#include <sinew/detail/task.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/child/process_order.hpp"
#include "src/wire/adopt.hpp"

namespace sinew::process {
namespace {

// Keeps the links open for the rest of the process's life, also if the task calls std::exit: the
// parent sees that the process lives, and the process ends when the parent has ended.
void hold_on_to_parent(ChildStart& start) {
    static wire::Link* parent = nullptr;
    [[maybe_unused]] static UniqueFd const bulk = std::move(start.bulk);
    auto& runtime = Runtime::instance();
    std::lock_guard const lock(runtime.guard());
    obey_lease(start);
    parent = wire::adopt(runtime.loop(), std::move(start.control), parent_identity(start),
                         bulk_options())
                 .release();
    parent->on(
        {.message = [](wire::Message const&) {}, .end = [](wire::LinkEnd const&) { ::_exit(1); }});
    parent->send_now(process_begun, 0, {});
}

void call(detail::TaskEntry const& entry, Reader order) {
    Reader state(order.take(order.count()));
    auto const function = entry.make != nullptr ? entry.make(state) : nullptr;
    Writer result;
    entry.run(function.get(), order, result);
}

}  // namespace

int process_main(ChildStart& start) {
    Reader order(start.message);
    detail::TaskId id;
    order.read(&id.value, sizeof id.value);
    auto const* const entry = detail::find_task(id);
    if (entry == nullptr) {
        log_warning(text(start.name,
                         ": its task is not in this program (it may be in a library that "
                         "the parent has loaded by dlopen). Link that library"));
        return 1;
    }
    hold_on_to_parent(start);
    try {
        call(*entry, order);
        return 0;
    } catch (...) {
        auto record = detail::describe(std::current_exception());
        record.function = detail::task_name(*entry);
        log_warning(text(start.name, ": ", record.text()));
        return 1;
    }
}

}  // namespace sinew::process
