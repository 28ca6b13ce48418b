// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <any>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <ios>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <variant>

#include <sinew/remote_error.hpp>
#include <sinew/task/encoding.hpp>

namespace app {
class Odd : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
class Known : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
}  // namespace app

namespace sinew {
namespace {

using testing::HasSubstr;

ErrorRecord describe(std::function<void()> const& thrower) {
    try {
        thrower();
    } catch (...) {
        return detail::describe(std::current_exception());
    }
    return {};
}

ErrorRecord sent(ErrorRecord const& record) {
    Writer writer;
    encode(writer, record);
    Reader reader(writer.bytes());
    return decode<ErrorRecord>(reader);
}

template <class E>
struct Thrown {
    static void throw_one() {
        if constexpr (std::is_constructible_v<E, std::string>) throw E("the words");
        else throw E();
    }
};
template <class E>
requires(std::is_same_v<E, SystemError> || std::is_same_v<E, BackendError>) struct Thrown<E> {
    static void throw_one() { throw E("the words", 17); }
};
template <class E>
requires std::is_base_of_v<std::system_error, E>
struct Thrown<E> {
    static void throw_one() {
        if constexpr (std::is_constructible_v<E, std::string, std::error_code>)
            throw E("the words", std::make_error_code(std::errc::no_space_on_device));
        else throw E(std::make_error_code(std::errc::no_space_on_device), "the words");
    }
};
template <>
struct Thrown<std::future_error> {
    static void throw_one() { throw std::future_error(std::future_errc::broken_promise); }
};

template <class E>
class KnownError : public testing::Test {};
using KnownErrors = testing::Types<
    std::runtime_error, std::logic_error, std::out_of_range, std::invalid_argument,
    std::domain_error, std::length_error, std::range_error, std::overflow_error,
    std::underflow_error, std::exception, std::bad_alloc, std::bad_array_new_length, std::bad_cast,
    std::bad_typeid, std::bad_exception, std::bad_function_call, std::bad_weak_ptr,
    std::bad_optional_access, std::bad_variant_access, std::bad_any_cast, std::system_error,
    std::filesystem::filesystem_error, std::ios_base::failure, std::future_error, Error, UsageError,
    Unavailable, Timeout, PeerLost, DecodeError, Cancelled, PoolBroken, SystemError, BackendError>;
TYPED_TEST_SUITE(KnownError, KnownErrors);

TYPED_TEST(KnownError, ComesBackAsItself) {
    std::string words;
    try {
        Thrown<TypeParam>::throw_one();
    } catch (std::exception const& error) {
        words = error.what();
    }
    auto const record = sent(describe(Thrown<TypeParam>::throw_one));
    try {
        std::rethrow_exception(detail::revive(record));
    } catch (TypeParam const& error) {
        EXPECT_EQ(error.what(), words);
        auto const* remote = dynamic_cast<RemoteException const*>(&error);
        ASSERT_NE(remote, nullptr);
        EXPECT_EQ(dynamic_cast<TaskError const*>(&error), nullptr) << record.type;
        EXPECT_EQ(remote->record().type, record.type);
        EXPECT_EQ(remote->record().pid, ::getpid());
        EXPECT_FALSE(remote->record().host.empty());
        // A second time, as from a pool within a task.
        EXPECT_EQ(describe([&] { std::rethrow_exception(detail::revive(record)); }).type,
                  record.type);
    }
}

TEST(RemoteError, CodesComeBack) {
    auto const thrower = [] {
        throw std::system_error(ENOSPC, std::generic_category(), "cannot write");
    };
    try {
        std::rethrow_exception(detail::revive(sent(describe(thrower))));
    } catch (std::system_error const& error) {
        EXPECT_EQ(error.code(), std::errc::no_space_on_device);
    }
    try {
        std::rethrow_exception(detail::revive(sent(describe([] { throw SystemError("no", 5); }))));
    } catch (SystemError const& error) {
        EXPECT_EQ(error.error_number(), 5);
    }
}

class Weather : public std::error_category {
    char const* name() const noexcept override { return "weather"; }
    std::string message(int) const override { return "rain"; }
};

TEST(RemoteError, CodesOfAnUnknownCategoryKeepItsNameAndTheWords) {
    static Weather const weather;
    try {
        std::rethrow_exception(
            detail::revive(sent(describe([] { throw std::system_error(3, weather); }))));
    } catch (std::system_error const& error) {
        EXPECT_STREQ(error.code().category().name(), "weather");
        EXPECT_EQ(error.code().value(), 3);
        EXPECT_STREQ(error.what(), "rain");
    }
}

std::error_code revived_code(std::string category, int code) {
    ErrorRecord record;
    record.type = "std::system_error";
    record.category = std::move(category);
    record.code = code;
    try {
        std::rethrow_exception(detail::revive(record));
    } catch (std::system_error const& error) {
        return error.code();
    }
}

[[noreturn]] void revive_many_categories() {
    std::set<std::error_category const*> made;
    for (int i = 0; i < 2000; ++i) {
        auto const code = revived_code("category " + std::to_string(i), i);
        if (code.value() != i) std::_Exit(1);
        made.insert(&code.category());
    }
    auto const long_one = revived_code(std::string(1 << 20, 'x'), 1);
    std::_Exit(made.size() <= 257 && std::strlen(long_one.category().name()) <= 256 ? 0 : 2);
}

// Each is kept forever, so the test runs in a separate process.
TEST(RemoteError, NoMoreUnknownCategoriesAreMadeThanAProgramMayHave) {
    EXPECT_EXIT(revive_many_categories(), testing::ExitedWithCode(0), "");
}

void nested() {
    try {
        try {
            throw 42;
        } catch (...) {
            std::throw_with_nested(std::out_of_range("no such cell"));
        }
    } catch (...) {
        std::throw_with_nested(std::runtime_error("cannot simulate"));
    }
}

TEST(RemoteError, NestedCausesAreListedOutermostFirst) {
    auto const record = sent(describe(nested));
    EXPECT_EQ(record.type, "std::runtime_error");
    ASSERT_EQ(record.causes.size(), 2u);
    EXPECT_EQ(record.causes[0].type, "std::out_of_range");
    EXPECT_EQ(record.causes[0].what, "no such cell");
    EXPECT_EQ(record.causes[1].type, "int");
    EXPECT_THAT(record.text(), HasSubstr("std::runtime_error: cannot simulate (caused by "
                                         "std::out_of_range: no such cell; int: unknown)"));
    EXPECT_THROW(std::rethrow_exception(detail::revive(record)), std::runtime_error);
}

TEST(RemoteError, TheTextSaysWhatWhereAndWhy) {
    ErrorRecord record;
    record.type = "std::out_of_range";
    record.what = "no such cell";
    EXPECT_EQ(record.text(), "std::out_of_range: no such cell");
    record.function = "simulate(Config)";
    record.task = 17;
    record.attempt = 2;
    record.pid = 4711;
    record.host = "node-b";
    EXPECT_EQ(record.text(),
              "simulate(Config), task 17, attempt 2, pid 4711 on node-b: "
              "std::out_of_range: no such cell");
    EXPECT_EQ(sent(record).text(), record.text());
}

TEST(RemoteError, WhatIsUnknownHereIsATaskError) {
    auto const record = sent(describe([] { throw app::Odd("odd"); }));
    EXPECT_EQ(record.type, "app::Odd");
    try {
        std::rethrow_exception(detail::revive(record));
    } catch (TaskError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("app::Odd: odd"));
        EXPECT_EQ(describe([&] { throw error; }).type, "app::Odd");
    }
}

TEST(RemoteError, WhatIsNoExceptionIsDescribedAsFarAsItGoes) {
    EXPECT_EQ(describe([] { throw 1.5; }).type, "double");
    EXPECT_EQ(describe([] { throw 1.5; }).what, "unknown");
    EXPECT_EQ(describe([] { throw std::string("words"); }).what, "words");
    EXPECT_EQ(describe([] { throw "words"; }).what, "words");
    EXPECT_THROW(std::rethrow_exception(detail::revive(describe([] { throw 1.5; }))), TaskError);
}

TEST(RemoteError, RegisteredTypesComeBackAsThemselves) {
    auto const record = describe([] { throw app::Known("mine"); });
    EXPECT_THROW(std::rethrow_exception(detail::revive(record)), TaskError);
    std::jthread revives(
        [&] { (void)detail::revive(record); });  // types may be registered meanwhile
    register_exception<app::Known>();
    try {
        std::rethrow_exception(detail::revive(record));
    } catch (app::Known const& error) {
        EXPECT_STREQ(error.what(), "mine");
    }
}

TEST(RemoteError, TruncatedRecordsAreRefused) {
    Writer writer;
    encode(writer, describe(nested));
    for (std::size_t size = 0; size < writer.size(); ++size) {
        Reader reader(writer.bytes().first(size));
        EXPECT_THROW(decode<ErrorRecord>(reader), DecodeError) << size;
    }
}

}  // namespace
}  // namespace sinew
