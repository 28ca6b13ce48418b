// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sinew/shared.hpp>
#include <string>
#include <vector>

#include "src/base/text.hpp"
#include "src/process/shared/registry.hpp"
#include "tests/process/queue/queue_support.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using process::ChildStart;
using process::SharedHandle;
using process::SharedRegistry;
using process::test::start;
using Numbers = std::vector<double>;

/// An unusual size, to distinguish the file from those of other programs.
constexpr std::size_t odd_count = 765'431;

/// The inode of the file mapped at this address; 0: none.
std::uint64_t inode_of(void const* at) {
    std::ifstream maps("/proc/self/maps");
    auto const address = reinterpret_cast<std::uintptr_t>(at);
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        unsigned long inode = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) == 3 &&
            begin <= address && address < end)
            return inode;
    }
    return 0;
}

/// The number of files in sinew's folders that have this size.
int files_of_size(std::uintmax_t size) {
    int count = 0;
    namespace fs = std::filesystem;
    for (fs::path const base : {"/dev/shm", "/tmp"})
        for (auto const& folder : fs::directory_iterator(base)) {
            if (!folder.path().filename().string().starts_with("sinew-")) continue;
            std::error_code gone;
            for (auto const& each : fs::directory_iterator(folder.path(), gone))
                count += each.is_regular_file(gone) && each.file_size(gone) == size ? 1 : 0;
        }
    return count;
}

template <class T>
SharedHandle handle_of(Shared<T> const& shared) {
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
    auto const object = SharedRegistry::instance().find(SharedHandle::decode_from(reader),
                                                        SharedRegistry::Route::fetched);
    double sum = 0;
    for (double const each : decoded(*object)) sum += each;
    return sum > 0 ? 0 : 2;
}

int sum_mapped(ChildStart& start) {
    Reader reader(start.message);
    auto const shared = decode<Shared<double[]>>(reader);
    double sum = 0;
    for (double const each : shared.get()) sum += each;
    auto const same = decode<Shared<double[]>>(reader);
    if (shared.get().data() != same.get().data()) return 1;
    return sum == 199999.0 * 100000 ? 0 : 2;
}

int share_and_stay(ChildStart& start) {
    Reader reader(start.message);
    auto handles = decode<Queue<Shared<Numbers>>>(reader);
    auto const shared = share(Numbers(odd_count));
    handles.put(shared);
    for (;;) ::pause();
}

// Acts as a process of another host: reports where it has found the bytes, and waits.
int fetch_and_stay(ChildStart& start) {
    Reader reader(start.message);
    auto const handle = SharedHandle::decode_from(reader);
    auto found = decode<Queue<std::uint64_t>>(reader);
    auto stay = decode<Queue<int>>(reader);
    auto const object = SharedRegistry::instance().find(handle, SharedRegistry::Route::fetched);
    auto const bytes = object->bytes();
    found.put(bytes.size() == handle.size ? inode_of(bytes.data()) : 0);
    (void)stay.get();
    return 0;
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

bool const shared_roles_added = [] {
    for (process::ChildRole const role : {process::ChildRole{"sum", sum},
                                          {"sum fetched", sum_fetched},
                                          {"late", come_late},
                                          {"sum mapped", sum_mapped},
                                          {"share and stay", share_and_stay},
                                          {"fetch and stay", fetch_and_stay},
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
    for (std::size_t const count : {std::size_t{7}, odd_count}) {
        Queue<int> go;
        process::FilePlace place;
        std::unique_ptr<process::test::Heard> late;
        {
            auto const shared = share(numbers(count));
            place = handle_of(shared).file;
            EXPECT_EQ(place.is_file(), count == odd_count);
            EXPECT_EQ(process::map_shared_file(place).has_value(), place.is_file());
            late = start("late", shared, go);
        }
        EXPECT_FALSE(process::map_shared_file(place));
        go.put(1);
        process::test::expect_success(*late);
    }
}

TEST(Shared, leaves_no_memory_behind_when_its_process_is_killed) {
    for (char const* const folder : {"", "/tmp"}) {
        Queue<Shared<Numbers>> handles;
        Writer writer;
        encode(writer, handles);
        auto const bytes = writer.bytes();
        process::test::Heard child(process::ChildSpec{.role = "share and stay",
                                                      .name = "shares",
                                                      .message = {bytes.begin(), bytes.end()},
                                                      .cpus = {},
                                                      .env = {text("SINEW_TMPDIR=", folder)}});
        auto const shared = handles.get_for(1min);
        ASSERT_TRUE(shared);
        auto const place = handle_of(*shared).file;
        auto const size = odd_count * sizeof(double) + sizeof(std::uint64_t);
        EXPECT_EQ(place.size, size);
        EXPECT_TRUE(process::map_shared_file(place));
        EXPECT_EQ(files_of_size(size), 0);
        child.signal(SIGKILL);
        (void)child.wait_for_end();
        EXPECT_EQ(files_of_size(size), 0);
        EXPECT_FALSE(process::map_shared_file(place));
        EXPECT_THROW(shared->get(), PeerLost);
    }
}

TEST(Shared, spans_are_mapped_and_read_in_place) {
    auto const values = numbers(200'000);
    auto const shared = share(std::span(values));
    EXPECT_THAT(std::vector(shared.get().begin(), shared.get().end()), testing::Eq(values));
    EXPECT_EQ(inode_of(shared.get().data()), handle_of(shared).file.inode);
    auto const first = start("sum mapped", shared, shared);
    process::test::expect_success(*first);
    auto const none = share(std::span<double const>());
    EXPECT_TRUE(none.get().empty());
}

TEST(Shared, goes_to_another_host_once) {
    auto const shared = share(numbers(odd_count));
    auto const handle = handle_of(shared);
    Queue<std::uint64_t> found;
    Queue<int> stay;
    std::vector<std::unique_ptr<process::test::Heard>> children;
    std::set<std::uint64_t> inodes;
    for (int i = 0; i < 3; ++i) children.push_back(start("fetch and stay", handle, found, stay));
    for (int i = 0; i < 3; ++i) inodes.insert(found.get_for(1min).value_or(0));
    EXPECT_EQ(inodes.size(), 1U);
    EXPECT_FALSE(inodes.contains(0));
    EXPECT_FALSE(inodes.contains(handle.file.inode));
    // The process that fetched it for its host may end: the next one fetches it from the owner
    // again.
    for (auto const& each : children) each->signal(SIGKILL);
    for (auto const& each : children) (void)each->wait_for_end();
    auto const last = start("fetch and stay", handle, found, stay);
    EXPECT_NE(found.get_for(1min).value_or(0), 0U);
    stay.put(1);
    process::test::expect_success(*last);
}

TEST(Shared, place_of_another_file_is_not_taken_for_it) {
    auto const file = process::SharedFile::make(std::as_bytes(std::span("hello")));
    auto place = file.place();
    ASSERT_TRUE(process::map_shared_file(place));
    for (auto const& change : std::vector<std::function<void(process::FilePlace&)>>{
             [](auto& at) { ++at.inode; }, [](auto& at) { ++at.device; },
             [](auto& at) { ++at.size; }, [](auto& at) { at.descriptor = 0; },
             [](auto& at) { at.process = 1; }, [](auto& at) { at.process = -1; }}) {
        auto other = place;
        change(other);
        EXPECT_FALSE(process::map_shared_file(other));
    }
}

TEST(Shared, of_a_process_that_ended_is_lost) {
    Queue<Shared<Numbers>> handles;
    auto const child = start("share and end", handles);
    process::test::expect_success(*child);
    auto const shared = handles.get_for(1min);
    ASSERT_TRUE(shared);
    EXPECT_THROW(shared->get(), PeerLost);
}

// The list of processes with a copy; the processes are addresses only.
struct CopiesTest : testing::Test {
    using Copies = process::SharedCopies;
    static Copies::PeerPointer peer(std::uintptr_t number) {
        return {std::shared_ptr<void>(), reinterpret_cast<process::Peer*>(number)};
    }
    static process::FilePlace place(int descriptor) { return {1, descriptor, 2, 3, 4}; }
    Copies copies;
};

TEST_F(CopiesTest, one_of_a_host_is_shipped_to_and_the_others_are_told_where) {
    EXPECT_EQ(copies.asked("a", peer(8)), Copies::Answer::ship);
    EXPECT_EQ(copies.asked("a", peer(16)), Copies::Answer::wait);
    EXPECT_EQ(copies.asked("b", peer(24)), Copies::Answer::ship);
    EXPECT_THAT(copies.arrived(peer(8), place(5)), testing::ElementsAre(peer(16)));
    EXPECT_EQ(copies.asked("a", peer(32)), Copies::Answer::at);
    EXPECT_EQ(copies.place("a").descriptor, 5);
    EXPECT_THAT(copies.holders(), testing::UnorderedElementsAre(peer(8), peer(24)));
}

TEST_F(CopiesTest, the_next_is_shipped_to_when_the_first_is_lost_or_cannot_keep_it) {
    (void)copies.asked("a", peer(8));
    (void)copies.asked("a", peer(16));
    (void)copies.asked("a", peer(24));
    (void)copies.lost(peer(24));
    EXPECT_THAT(copies.lost(peer(8)), testing::ElementsAre(peer(16)));
    EXPECT_THAT(copies.arrived(peer(16), place(7)), testing::IsEmpty());
    EXPECT_EQ(copies.asked("a", peer(24)), Copies::Answer::at);
    EXPECT_THAT(copies.lost(peer(16)), testing::IsEmpty());
    EXPECT_EQ(copies.asked("a", peer(24)), Copies::Answer::ship);
}

}  // namespace
}  // namespace sinew
