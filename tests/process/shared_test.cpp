// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <sinew/shared.hpp>
#include <string>
#include <vector>

#include "src/process/shared_desk.hpp"
#include "tests/process/queue_support.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using process::ChildStart;
using process::SharedDesk;
using process::SharedHandle;
using process::test::start;
using Numbers = std::vector<double>;

SharedHandle handle_of(Shared<Numbers> const& shared) {
    Writer writer;
    encode(writer, shared);
    Reader reader(writer.bytes());
    return SharedHandle::decode_from(reader);
}

Numbers decoded(detail::SharedObject& object) {
    return *static_cast<Numbers const*>(
        object.value([](Reader& reader) -> std::shared_ptr<void const> {
            return std::make_shared<Numbers const>(decode<Numbers>(reader));
        }));
}

int sum(ChildStart& start) {
    Reader reader(start.message);
    auto const shared = decode<Shared<Numbers>>(reader);
    auto const same = shared;
    if (&*shared != &*same) return 1;
    double sum = 0;
    for (double const each : *shared) sum += each;
    return sum == 499500 ? 0 : 2;
}

int sum_fetched(ChildStart& start) {
    Reader reader(start.message);
    auto const object =
        SharedDesk::instance().find(SharedHandle::decode_from(reader), SharedDesk::Route::fetched);
    double sum = 0;
    for (double const each : decoded(*object)) sum += each;
    return sum > 0 ? 0 : 2;
}

int come_late(ChildStart& start) {
    Reader reader(start.message);
    auto const shared = decode<Shared<Numbers>>(reader);
    auto when = decode<Queue<int>>(reader);
    (void)when.get();
    try {
        return static_cast<int>(shared->size());
    } catch (Unavailable const&) {
        return 0;
    }
}

int share_and_end(ChildStart& start) {
    Reader reader(start.message);
    auto handles = decode<Queue<Shared<Numbers>>>(reader);
    auto const shared = share(Numbers{1});
    handles.put(shared);
    return 0;
}

bool const added = [] {
    for (process::ChildRole const role : {process::ChildRole{"sum", sum},
                                          {"sum fetched", sum_fetched},
                                          {"late", come_late},
                                          {"share and end", share_and_end}})
        process::add_role(role);
    return true;
}();

Numbers numbers(std::size_t count) {
    Numbers all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<double>(i);
    return all;
}

TEST(Shared, is_the_value_that_was_shared) {
    auto const shared = share(std::map<std::string, int>{{"a", 1}});
    EXPECT_EQ(shared->at("a"), 1);
    EXPECT_EQ(&shared.get(), &*shared);
    struct Nothing {};
    (void)share(Nothing{}).get();
}

TEST(Shared, is_seen_by_processes_of_this_host) {
    auto const shared = share(numbers(1000));
    auto const first = start("sum", shared), second = start("sum", shared);
    process::test::expect_success(*first);
    process::test::expect_success(*second);
}

TEST(Shared, is_fetched_by_other_hosts) {
    for (std::size_t const count : {std::size_t{1000}, std::size_t{3'000'000}}) {
        auto const shared = share(numbers(count));
        auto const child = start("sum fetched", handle_of(shared));
        process::test::expect_success(*child);
    }
}

TEST(Shared, goes_with_its_last_handle) {
    Queue<int> go;
    std::string path;
    std::unique_ptr<process::test::Heard> late, sooner;
    {
        auto const shared = share(numbers(7));
        path = handle_of(shared).path;
        EXPECT_TRUE(std::filesystem::exists(path));
        late = start("late", shared, go);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    go.put(1);
    process::test::expect_success(*late);
}

TEST(Shared, of_a_process_that_ended_is_lost) {
    Queue<Shared<Numbers>> handles;
    auto const child = start("share and end", handles);
    process::test::expect_success(*child);
    auto const shared = handles.get_for(1min);
    ASSERT_TRUE(shared);
    EXPECT_THROW(shared->get(), PeerLost);
}

}  // namespace
}  // namespace sinew
