// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include <sinew/detail/call.hpp>
#include <sinew/detail/method.hpp>

#include "src/base/text.hpp"
#include "tests/support/message_of.hpp"

struct Config {
    int cells;
};
int simulate(Config const& config, int steps) { return config.cells * steps; }

#include "tests/support/alternative_main.hpp"

namespace sinew::task_test {
namespace {

using detail::Call;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::message_of;

double square(double x) noexcept { return x * x; }
std::string shout(std::string text) { return text + "!"; }
std::size_t length_of(std::vector<int>&& values) { return values.size(); }
int calls = 0;
void note() { ++calls; }

struct Scale {
    double factor;
    double operator()(double x) const { return factor * x; }
};
struct Greeter {
    std::string greeting;
    std::string operator()(std::string const& name, int times) {
        std::string all;
        for (int i = 0; i < times; ++i) all += greeting + name;
        return all;
    }
    template <class Archive>
    void serialize(Archive& archive) {
        archive(greeting);
    }
};
struct Either {
    int operator()(int x) const { return -x; }
    std::string operator()(std::string const& x) const { return x + x; }
};

/// Calls through encoded bytes, as two processes would: the entry gets only what is written here.
template <class F, class... Passed>
auto call(F const& function, Passed const&... passed) {
    using Typed = Call<F, Passed...>;
    Writer sent, answer;
    Typed::encode_function(sent, function);
    Typed::encode_arguments(sent, passed...);
    auto const* entry = detail::find_task(detail::id_of(Typed::entry()));
    EXPECT_EQ(entry, &Typed::entry());
    Reader arguments(sent.bytes());
    auto const made = entry->make ? entry->make(arguments) : nullptr;
    entry->run(made.get(), arguments, answer);
    EXPECT_EQ(arguments.left(), 0u);
    Reader result(answer.bytes());
    if constexpr (std::is_void_v<typename Typed::Result>) {
        EXPECT_EQ(result.left(), 0u);
    } else {
        auto value = Typed::decode_result(result);
        EXPECT_EQ(result.left(), 0u);
        return value;
    }
}

template <class F, class... Passed>
std::string name_of(F const&, Passed const&...) {
    return detail::task_name(Call<F, Passed...>::entry());
}

TEST(Call, NamedFunctions) {
    EXPECT_EQ(call(task<simulate>, Config{3}, 4), 12);
    EXPECT_EQ(call(task<&square>, 3.0), 9.0);
    EXPECT_EQ(call(task<length_of>, std::vector<int>{1, 2}), 2u);
    call(task<note>);
    EXPECT_EQ(std::exchange(calls, 0), 1);
}

TEST(Call, FunctionsThatArePassedByTheirName) {
    EXPECT_EQ(call(simulate, Config{6}, 7), 42);
    EXPECT_EQ(call(&simulate, Config{6}, 7), 42);
    EXPECT_EQ(call(square, 3), 9);
    EXPECT_EQ(call(shout, "hello"), "hello!");
    EXPECT_EQ(call(length_of, std::vector{1, 2}), 2u);
    calls = 0;
    call(note);
    EXPECT_EQ(std::exchange(calls, 0), 1);
    auto const one_of_two = [](bool first) {
        return first ? &square : +[](double x) { return -x; };
    };
    EXPECT_EQ(call(one_of_two(true), 3), 9);
    EXPECT_EQ(call(one_of_two(false), 3), -3);
    EXPECT_EQ(name_of(simulate, Config{6}, 7), "a function int (*)(Config const&, int)");
}

TEST(Call, FunctionsWithoutAPlaceAreRefused) {
    int (*none)(int) = nullptr;
    EXPECT_THAT(message_of<UsageError>([&] { call(none, 1); }),
                AllOf(HasSubstr("a null pointer"), HasSubstr("map<f>")));
    // A function of the C library, which has no tasks.
    int (*const elsewhere)(int) = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_DEFAULT, "toupper"));
    ASSERT_NE(elsewhere, nullptr);
    EXPECT_THAT(message_of<UsageError>([&] { call(elsewhere, 1); }),
                HasSubstr("of a library that holds no tasks"));
}

TEST(Call, PlacesThatAreNoCodeAreADecodeError) {
    auto const right = detail::place_of_function(reinterpret_cast<void (*)()>(&simulate));
    EXPECT_EQ(detail::function_at(right), reinterpret_cast<void (*)()>(&simulate));
    static int data = 0;
    auto const base = reinterpret_cast<std::uintptr_t>(&simulate) - right;
    for (std::uint64_t const wrong :
         {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63 | right,
          reinterpret_cast<std::uintptr_t>(&data) - base})
        EXPECT_THROW(detail::function_at(wrong), DecodeError) << wrong;
}

// A class whose name does not contain "lambda".
struct Unchangeable {
    explicit Unchangeable(int by_) : by(by_) {}
    int const by;
    int operator()(int x) const { return by * x; }
    void encode_to(Writer& writer) const { encode(writer, by); }
    static Unchangeable decode_from(Reader& reader) { return Unchangeable(decode<int>(reader)); }
};

TEST(Call, ObjectsThatCannotBeAssignedAreNoLambdas) { EXPECT_EQ(call(Unchangeable(6), 7), 42); }

TEST(Call, ArgumentsAreConvertedHere) {
    EXPECT_EQ(call(task<square>, 3), 9.0);
    EXPECT_EQ(call(task<shout>, "hey"), "hey!");
    static_assert(std::is_same_v<Call<Task<shout>, char[4]>::Arguments, std::tuple<std::string>>);
}

TEST(Call, LambdasWithoutCaptures) {
    EXPECT_EQ(call([](double x) { return x * x; }, 3), 9.0);
    EXPECT_EQ(call([](auto const& a, auto b) { return a + b; }, std::string("a"), 'b'), "ab");
    EXPECT_EQ(call(task<[](int x) { return x + 1; }>, 3), 4);
    call([] { note(); });
    EXPECT_EQ(std::exchange(calls, 0), 1);
}

TEST(Call, TheStateOfFunctionObjectsTravels) {
    EXPECT_EQ(call(Scale{2.5}, 4), 10.0);
    EXPECT_EQ(call(Greeter{"hi "}, "you, ", 2), "hi you, hi you, ");
}

TEST(Call, OverloadsAreChosenByWhatIsPassed) {
    EXPECT_EQ(call(Either(), 3), -3);
    EXPECT_EQ(call(Either(), std::string("ab")), "abab");
}

TEST(Call, ExceptionsOfTheFunctionComeOut) {
    Writer answer;
    auto const refuse = [](int) -> int { throw std::out_of_range("no such cell"); };
    Writer sent;
    encode(sent, 1);
    Reader arguments(sent.bytes());
    EXPECT_THROW((Call<decltype(refuse), int>::entry().run(nullptr, arguments, answer)),
                 std::out_of_range);
    EXPECT_EQ(answer.size(), 0u);
}

TEST(Call, ArgumentsCutShortAreADecodeError) {
    Reader nothing({});
    Writer answer;
    EXPECT_THROW((Call<Task<square>, double>::entry().run(nullptr, nothing, answer)), DecodeError);
}

/// Its own function cannot decode it.
struct Cursed {
    int value = 0, more = 0;
    template <class Archive>
    void save(Archive& archive) const {
        archive(value, more);
    }
    template <class Archive>
    void load(Archive& archive) {
        archive(value);
        throw std::runtime_error("no such version");
    }
};
int value_of(Cursed const& cursed) { return cursed.value; }
void decode_too_much() {
    Reader nothing({});
    decode<int>(nothing);
}

// The start of the next task's arguments is then unknown; the caller must see that nothing was
// read.
TEST(Call, ArgumentsThatThrowWhenTheyAreReadAreADecodeErrorAndAreNotTaken) {
    Writer sent, answer;
    Call<Task<value_of>, Cursed>::encode_arguments(sent, Cursed{1, 2});
    Reader arguments(sent.bytes());
    try {
        Call<Task<value_of>, Cursed>::entry().run(nullptr, arguments, answer);
        FAIL();
    } catch (DecodeError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("no such version"));
        EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
    }
    EXPECT_EQ(arguments.left(), sent.size());
}

TEST(Call, ADecodeErrorOfTheFunctionLeavesItsArgumentsTaken) {
    Writer sent, answer;
    encode(sent, 1);
    Reader arguments(sent.bytes());
    auto const fail = [](int) { decode_too_much(); };
    EXPECT_THROW((Call<decltype(fail), int>::entry().run(nullptr, arguments, answer)), DecodeError);
    EXPECT_EQ(arguments.left(), 0u);
}

TEST(TaskName, IsWhatPeopleCallIt) {
    EXPECT_EQ(name_of(task<simulate>, Config{1}, 2), "simulate(Config const&, int)");
    EXPECT_THAT(name_of(task<square>, 1.0), HasSubstr("square"));
    EXPECT_THAT(name_of(Scale{1}, 1.0), HasSubstr("Scale"));
    EXPECT_THAT(name_of([](std::string const& s) { return s; }, "x"), HasSubstr("IsWhatPeople"));
}

template <class A, class B>
struct Grid {
    int cells() const { return 0; }
    int add(A, B) { return 0; }
};

TEST(TaskName, OfAMethodIsItsOwn) {
    using detail::Method;
    using Numbers = Grid<int, std::pair<int, double>>;
    EXPECT_THAT((name_of(Method<Numbers, &Numbers::cells>())),
                AllOf(HasSubstr("Grid<int, std::pair<int, double> >::cells"),
                      Not(HasSubstr("Method")), Not(HasSubstr("&"))));
    EXPECT_THAT((name_of(Method<Numbers, &Numbers::add>(), 1, std::pair(1, 2.0))),
                AllOf(HasSubstr("Grid<int, std::pair<int, double> >::add"),
                      Not(HasSubstr("Method")), Not(HasSubstr("&"))));
}

TEST(FindTask, UnknownIdsGiveNull) {
    auto const known = detail::id_of(Call<Task<note>>::entry());
    EXPECT_NE(detail::find_task(known), nullptr);
    constexpr std::uint64_t none = 0, module = std::uint64_t{1} << 48;
    for (auto const other : {none, known.value + 1, known.value ^ module, ~none})
        EXPECT_EQ(detail::find_task({other}), nullptr) << other;
}

// Never called: mentioning the call is enough.
[[maybe_unused]] auto const& mentioned() {
    return Call<Task<[](int x) { return 1000 + x; }>, int>::entry();
}

std::string table_here() {
    return text(detail::id_of(mentioned()).value, " ",
                detail::id_of(Call<Task<note>>::entry()).value, " ",
                detail::id_of(Call<Scale, double>::entry()).value, " ",
                detail::program_identity().text, "\n");
}

TEST(ProgramIdentity, SaysWhatIsCompared) {
    std::string const text = detail::program_identity().text;
    EXPECT_THAT(text,
                testing::MatchesRegex(
                    "build [0-9a-f:sh]{16,}.*, [0-9]+ tasks \\([0-9a-f]{16}\\), .*endian 64 bit"));
}

TEST(ProgramIdentity, IsTheSameInAnotherProcessOfTheProgramAndSoAreItsIds) {
    std::array<char, 4096> path{};
    ASSERT_GT(::readlink("/proc/self/exe", path.data(), path.size() - 1), 0);
    std::FILE* const other = ::popen(text("'", path.data(), "' --print-table").c_str(), "r");
    ASSERT_NE(other, nullptr);
    std::array<char, 4096> line{};
    EXPECT_NE(std::fgets(line.data(), line.size(), other), nullptr);
    EXPECT_EQ(::pclose(other), 0);
    EXPECT_EQ(line.data(), table_here());
}

int print_table(int, char**) {
    std::fputs(table_here().c_str(), stdout);
    return 0;
}

testing_support::AlternativeMain const table_main("--print-table", print_table);

}  // namespace
}  // namespace sinew::task_test
