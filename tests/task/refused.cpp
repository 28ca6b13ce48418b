// SPDX-License-Identifier: Apache-2.0
//
// Calls that must not compile, one for each CASE; CASE 0 compiles. See refused.cmake.
#include <memory>
#include <mutex>

#include <sinew/detail/call.hpp>
#include <sinew/detail/method.hpp>
#if CASE == 0 || CASE == 19  // slow to compile
#include <sinew/pool/calls.hpp>
#endif

namespace {

using sinew::Task;
using sinew::task;

template <class F, class... Passed>
void call(F const& function, Passed const&... passed) {
    using Call = sinew::detail::Call<F, Passed...>;
    sinew::Writer writer;
    Call::encode_function(writer, function);
    Call::encode_arguments(writer, passed...);
    (void)Call::entry();
}

int half(int x) { return x / 2; }
void change(int& x) { x = 0; }
double of_view(std::string_view text) { return text.empty() ? 0 : 1; }
double of_span(std::span<double const> values) { return values[0]; }
int of_pointer(int const* x) { return *x; }
int of_pointers(std::vector<int*> const& xs) { return *xs[0]; }
int const& give_pointer(int const& x) { return x; }
std::map<int, char*> give_pointers() { return {}; }

struct Silent {  // not trivially copyable, no encoding
    std::string text;
};
int of_silent(Silent const& silent) { return static_cast<int>(silent.text.size()); }
int of_unique(std::unique_ptr<int> const& x) { return *x; }
struct Refers {
    int& to;
};
int of_reference(Refers const& refers) { return refers.to; }
struct Locked {
    std::mutex guard;
    int operator()(int x) const { return x; }
};

struct Other {
    int size() const { return 1; }
};
struct Base {
    int size() const { return 1; }
};
struct Named : Base {};

}  // namespace

void refused() {
    [[maybe_unused]] int const captured = 1;
    [[maybe_unused]] int mutable_one = 1;
    call(task<half>, 4);
    call([](int x) { return x; }, 4);
    call(task<give_pointer>, 4);
    call(half, 4);
    call(&half, 4);
    (void)sinew::detail::Call<sinew::detail::Method<Named, &Named::size>>::entry();
#if CASE == 0
    sinew::PoolCalls const pool(nullptr, {});
    pool.starmap<half>(std::vector<std::tuple<int>>{{1}});
    pool.map(half, std::vector<int>{1});
    pool.apply(half, 1);
#elif CASE == 1
    call([captured](int x) { return x + captured; }, 4);
#elif CASE == 2
    call([&mutable_one](int x) { return x + mutable_one; }, 4);
#elif CASE == 3
    call([&](int x) { return x; }, 4);
#elif CASE == 4
    call(task<change>, 4);
#elif CASE == 5
    call(task<of_view>, "abc");
#elif CASE == 6
    call(task<of_span>, std::vector<double>{1});
#elif CASE == 7
    call(task<of_pointer>, &captured);
#elif CASE == 8
    call(task<of_pointers>, std::vector<int*>());
#elif CASE == 9
    call(task<give_pointers>);
#elif CASE == 10
    call(task<of_silent>, Silent());
#elif CASE == 11
    call(task<of_unique>, std::make_unique<int>(1));
#elif CASE == 12
    call(task<of_reference>, Refers{mutable_one});
#elif CASE == 13
    call(task<half>, 4, 5);
#elif CASE == 14
    call(task<half>, std::string("4"));
#elif CASE == 15
    call(&Silent::text, Silent());
#elif CASE == 16
    call([](auto& x) { return x; }, 4);
#elif CASE == 17
    call(Locked(), 4);
#elif CASE == 18
    using Name = sinew::detail::Method<Named, &Other::size>;
    (void)sinew::detail::Call<Name>::entry();
#elif CASE == 19
    sinew::PoolCalls(nullptr, {}).starmap<half>(std::vector<int>{1});
#endif
}
