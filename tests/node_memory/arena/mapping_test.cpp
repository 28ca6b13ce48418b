// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/mapping.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <sinew/error.hpp>

#include "tests/node_memory/arena/other_process.hpp"

namespace sinew::node_memory {
namespace {

constexpr std::uint64_t some_bytes = 1 << 20;

class EverySource : public testing::TestWithParam<Source> {};
INSTANTIATE_TEST_SUITE_P(Mapping, EverySource, testing::Values(Source::memfd, Source::posix),
                         [](auto const& info) {
                             return info.param == Source::memfd ? "memfd" : "posix";
                         });

TEST_P(EverySource, IsOpenedByAnotherProcess) {
    Handover<MappingName> to_other;
    Handover<char> to_us;
    Child const other([&] {
        auto const mapping = Mapping::open(to_other.take());
        bool const seen = std::strcmp(reinterpret_cast<char*>(mapping->data() + 5000), "ours") == 0;
        std::memcpy(mapping->data() + 9000, "theirs", 7);
        to_us.give(seen ? 'y' : 'n');
        return 0;
    });
    auto const mapping = Mapping::make(GetParam(), some_bytes);
    mapping->reserve(4096, 8192);
    std::memcpy(mapping->data() + 5000, "ours", 5);
    to_other.give(mapping->name());
    EXPECT_EQ(to_us.take(), 'y');
    EXPECT_STREQ(reinterpret_cast<char*>(mapping->data() + 9000), "theirs");
}

TEST_P(EverySource, IsTheSameObjectInThisProcess) {
    auto const mapping = Mapping::make(GetParam(), some_bytes);
    EXPECT_EQ(Mapping::open(mapping->name()), mapping);
}

TEST_P(EverySource, IsZeroAtFirstAndAfterClear) {
    auto const mapping = Mapping::make(GetParam(), some_bytes);
    mapping->reserve(4096, 4096);
    EXPECT_EQ(mapping->data()[4096], std::byte{0});
    std::memset(mapping->data() + 4096, 1, 4096);
    mapping->clear(4096, 4096);
    for (std::size_t i = 4096; i < 8192; ++i) ASSERT_EQ(mapping->data()[i], std::byte{0});
}

TEST_P(EverySource, WithAnotherNonceIsRefused) {
    Handover<MappingName> name;
    Handover<char> done;
    Child maker([&] {
        auto const mapping = Mapping::make(GetParam(), some_bytes);
        name.give(mapping->name());
        done.take();
        return 0;
    });
    MappingName other = name.take();
    ++other.nonce[3];
    // POSIX memory has its nonce in its name.
    if (GetParam() == Source::posix) EXPECT_THROW(Mapping::open(other), std::system_error);
    else EXPECT_THROW(Mapping::open(other), Unavailable);
    --other.nonce[3];
    other.bytes += 4096;
    EXPECT_THROW(Mapping::open(other), Unavailable);
    done.give('x');
    maker.wait();
}

// In another pid namespace the number may be that of any process.
TEST(Mapping, OfAnotherProcessIsRefusedThoughItsDescriptorHasTheSameNumber) {
    Handover<MappingName> name, name_of_other;
    Handover<char> done;
    auto const make_one = [&done](Handover<MappingName> const& told) {
        auto const mapping = Mapping::make(Source::memfd, some_bytes);
        told.give(mapping->name());
        done.take();
        return 0;
    };
    Child first([&] { return make_one(name); }), second([&] { return make_one(name_of_other); });
    MappingName mixed = name.take();
    MappingName const other = name_of_other.take();
    ASSERT_EQ(mixed.fd, other.fd);
    mixed.pid = other.pid;
    try {
        Mapping::open(mixed);
        ADD_FAILURE() << "opened the memory of another process";
    } catch (Unavailable const& refusal) {
        EXPECT_THAT(refusal.what(), testing::HasSubstr("pid namespaces"));
    }
    mixed.pid = 0x7fffffff;
    EXPECT_THROW(Mapping::open(mixed), std::system_error);
    done.give('x');
    done.give('x');
    first.wait();
    second.wait();
}

TEST(Mapping, OfMemfdCannotShrinkNorGrow) {
    auto const mapping = Mapping::make(Source::memfd, some_bytes);
    int const fd = mapping->name().fd;
    EXPECT_EQ(::ftruncate(fd, 4096), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::ftruncate(fd, some_bytes * 2), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_P(EverySource, IsForItsUserAlone) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    Handover<MappingName> name;
    Child other([&] {
        if (::setgid(65534) != 0 || ::setuid(65534) != 0) return not_permitted;
        try {
            Mapping::open(name.take());
        } catch (std::system_error const& refusal) {
            return refusal.code().value() == EACCES ? as_expected : 1;
        }
        return 2;
    });
    auto const mapping = Mapping::make(GetParam(), some_bytes);
    struct stat status {};
    ASSERT_EQ(::fstat(mapping->name().fd, &status), 0);
    EXPECT_EQ(status.st_mode & 0077U, 0u);
    name.give(mapping->name());
    int const status_of_other = other.wait();
    ASSERT_TRUE(WIFEXITED(status_of_other));
    EXPECT_EQ(WEXITSTATUS(status_of_other), as_expected);
}

TEST(Mapping, OfPosixLosesItsNameAndKeepsItsContent) {
    auto const mapping = Mapping::make(Source::posix, some_bytes);
    ASSERT_TRUE(is_named(mapping->name()));
    mapping->unlink();
    EXPECT_FALSE(is_named(mapping->name()));
    mapping->reserve(4096, 4096);
    std::memset(mapping->data() + 4096, 1, 4096);
    auto const another = Mapping::make(Source::posix, some_bytes);
    ASSERT_TRUE(is_named(another->name()));
}

TEST(Mapping, OfPosixLosesItsNameWithItsLastObject) {
    MappingName name;
    {
        auto const mapping = Mapping::make(Source::posix, some_bytes);
        name = mapping->name();
    }
    EXPECT_FALSE(is_named(name));
}

// The maker dies before it knows that all have opened the memory: those who have remove the name.
TEST(Mapping, OfAMakerThatWasKilledLosesItsName) {
    Handover<MappingName> name;
    Child maker([&] {
        auto const mapping = Mapping::make(Source::posix, some_bytes);
        name.give(mapping->name());
        ::raise(SIGKILL);
        return 0;
    });
    MappingName const known = name.take();
    maker.wait();
    ASSERT_TRUE(is_named(known));
    { auto const mapping = Mapping::open(known); }
    EXPECT_FALSE(is_named(known));
}

TEST(Mapping, OfAMakerThatWasKilledWhileItWasUsedLeavesNothing) {
    Handover<MappingName> name;
    Child maker([&] {
        auto const mapping = Mapping::make(Source::posix, some_bytes);
        mapping->unlink();
        name.give(mapping->name());
        ::raise(SIGKILL);
        return 0;
    });
    MappingName const known = name.take();
    maker.wait();
    EXPECT_FALSE(is_named(known));
}

TEST(Mapping, ThatDoesNotFitInDevShmIsRefusedWithoutASignal) {
    int const status = in_a_fork([] {
        if (!use_own_shm("1m")) return not_permitted;
        auto const mapping = Mapping::make(Source::posix, std::uint64_t{64} << 20);
        mapping->reserve(4096, 512 << 10);
        std::memset(mapping->data() + 4096, 1, 512 << 10);
        try {
            mapping->reserve(512 << 10, 8 << 20);
        } catch (std::system_error const& refusal) {
            return refusal.code().value() == ENOSPC ? as_expected : 1;
        }
        return 2;
    });
    if (status == not_permitted) GTEST_SKIP() << "no mount namespace is permitted here";
    EXPECT_EQ(status, as_expected);
}

TEST(Mapping, InAFullDevShmIsRefusedAndLeavesNoName) {
    int const status = in_a_fork([] {
        if (!use_own_shm("64k")) return not_permitted;
        int const filler = ::open("/dev/shm/filler", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (::posix_fallocate(filler, 0, 64 << 10) != 0) return 3;
        try {
            Mapping::make(Source::posix, some_bytes);
        } catch (std::system_error const&) {
            return ::system("test \"$(ls /dev/shm)\" = filler") == 0 ? as_expected : 1;
        }
        return 2;
    });
    if (status == not_permitted) GTEST_SKIP() << "no mount namespace is permitted here";
    EXPECT_EQ(status, as_expected);
}

TEST(Mapping, WithoutDevShmIsRefused) {
    int const status = in_a_fork([] {
        if (!use_own_shm("64k")) return not_permitted;
        if (::mount("tmpfs", "/dev", "tmpfs", 0, "size=64k") != 0) return 3;
        try {
            Mapping::make(Source::posix, some_bytes);
        } catch (std::system_error const&) {
            return as_expected;
        }
        return 2;
    });
    if (status == not_permitted) GTEST_SKIP() << "no mount namespace is permitted here";
    EXPECT_EQ(status, as_expected);
}

// The kernel would end the process by SIGXFSZ.
TEST_P(EverySource, ThatIsLargerThanAFileMayBeIsRefusedWithoutASignal) {
    EXPECT_EQ(in_a_fork([] {
                  rlimit const small{some_bytes / 2, some_bytes / 2};
                  if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 3;
                  try {
                      Mapping::make(GetParam(), some_bytes);
                  } catch (std::system_error const& refusal) {
                      return refusal.code().value() == EFBIG ? as_expected : 1;
                  }
                  return 2;
              }),
              as_expected);
}

TEST_P(EverySource, ThatExceedsTheAddressSpaceIsRefusedAndLeavesNothing) {
    EXPECT_THROW(Mapping::make(GetParam(), std::uint64_t{1} << 60), std::system_error);
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code closed;  // the descriptor of the iteration itself
        EXPECT_THAT(std::filesystem::read_symlink(entry, closed).string(),
                    testing::Not(testing::ContainsRegex("memfd:sinew|/sinew-")));
    }
}

}  // namespace
}  // namespace sinew::node_memory
