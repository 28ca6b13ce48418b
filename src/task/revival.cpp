// SPDX-License-Identifier: Apache-2.0
#include <any>
#include <cstddef>
#include <filesystem>
#include <future>
#include <ios>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <sinew/detail/queue_end.hpp>
#include <sinew/managed/barrier.hpp>
#include <sinew/remote_error.hpp>
#include <string>
#include <system_error>
#include <typeinfo>
#include <variant>

#include "src/task/demangle.hpp"

namespace sinew::detail {

namespace {

using Make = std::exception_ptr (*)(ErrorRecord);

/// A remote exception whose base class composes its own message: what() returns the original's.
template <class E>
class RemoteInWords : public E, public RemoteException {
public:
    template <class... Arguments>
    explicit RemoteInWords(ErrorRecord record, Arguments&&... arguments)
        : E(std::forward<Arguments>(arguments)...), RemoteException(std::move(record)) {}
    char const* what() const noexcept override { return record().what.c_str(); }
};

template <class E>
std::exception_ptr from_words(ErrorRecord record) {
    return std::make_exception_ptr(RemoteAs<E>(std::move(record)));
}

template <class E>
std::exception_ptr from_nothing(ErrorRecord record) {
    return std::make_exception_ptr(RemoteInWords<E>(std::move(record)));
}

/// Makes an exception class of sinew's that carries an error number.
template <class E>
std::exception_ptr from_number(ErrorRecord record) {
    std::string const what = record.what;
    int const code = record.code;
    return std::make_exception_ptr(RemoteInWords<E>(std::move(record), what, code));
}

/// An error category that this program does not define: it has a name, and codes without messages.
class ForeignCategory : public std::error_category {
public:
    explicit ForeignCategory(std::string name) : name_(std::move(name)) {}
    char const* name() const noexcept override { return name_.c_str(); }
    std::string message(int code) const override { return name_ + " " + std::to_string(code); }

private:
    std::string name_;
};

std::error_code code_of(ErrorRecord const& record) {
    for (auto const* known : {&std::generic_category(), &std::system_category(),
                              &std::iostream_category(), &std::future_category()})
        if (record.category == known->name()) return {record.code, *known};
    // Categories are never freed, as codes refer to them. A program has few, all in its sources;
    // the limits keep a faulty peer from filling the memory.
    constexpr std::size_t most = 256, longest = 256;
    static std::mutex guard;
    static auto& foreign = *new std::map<std::string, ForeignCategory>;
    static auto& any = *new ForeignCategory("foreign");
    std::scoped_lock const lock(guard);
    if (auto const known = foreign.find(record.category); known != foreign.end())
        return {record.code, known->second};
    if (foreign.size() == most || record.category.size() > longest) return {record.code, any};
    return {record.code, foreign.try_emplace(record.category, record.category).first->second};
}

template <class E>
std::exception_ptr from_code(ErrorRecord record) {
    std::string const what = record.what;
    std::error_code const code = code_of(record);
    if constexpr (std::is_constructible_v<E, std::error_code, std::string>)
        return std::make_exception_ptr(RemoteInWords<E>(std::move(record), code, what));
    else if constexpr (std::is_constructible_v<E, std::string, std::error_code>)
        return std::make_exception_ptr(RemoteInWords<E>(std::move(record), what, code));
    else
        return std::make_exception_ptr(
            RemoteInWords<E>(std::move(record), static_cast<std::future_errc>(code.value())));
}

template <class... E>
void add(std::map<std::string, Make>& table, auto make) {
    (table.emplace(exception_name(typeid(E).name()), make.template operator()<E>()), ...);
}

std::map<std::string, Make> known_types() {
    std::map<std::string, Make> table;
    add<std::runtime_error, std::logic_error, std::out_of_range, std::invalid_argument,
        std::domain_error, std::length_error, std::range_error, std::overflow_error,
        std::underflow_error, Error, UsageError, Unavailable, Timeout, PeerLost, DecodeError,
        Cancelled, PoolBroken, QueueClosed, BrokenBarrier>(
        table, []<class E>() -> Make { return from_words<E>; });
    add<std::exception, std::bad_alloc, std::bad_array_new_length, std::bad_cast, std::bad_typeid,
        std::bad_exception, std::bad_function_call, std::bad_weak_ptr, std::bad_optional_access,
        std::bad_variant_access, std::bad_any_cast>(
        table, []<class E>() -> Make { return from_nothing<E>; });
    add<SystemError, BackendError>(table, []<class E>() -> Make { return from_number<E>; });
    add<std::system_error, std::filesystem::filesystem_error, std::ios_base::failure,
        std::future_error>(table, []<class E>() -> Make { return from_code<E>; });
    return table;
}

struct Revivals {
    std::mutex guard;
    std::map<std::string, Make> makers = known_types();
};

Revivals& revivals() {
    static auto& all = *new Revivals;  // never destroyed: may be used during exit
    return all;
}

}  // namespace

std::exception_ptr revive(ErrorRecord record) {
    Make make = nullptr;
    {
        std::scoped_lock const lock(revivals().guard);
        auto const found = revivals().makers.find(record.type);
        if (found != revivals().makers.end()) make = found->second;
    }
    if (make == nullptr) return std::make_exception_ptr(TaskError(std::move(record)));
    try {
        return make(record);
    } catch (...) {  // the exception could not be constructed: report it without its type
        return std::make_exception_ptr(TaskError(std::move(record)));
    }
}

void register_revival(char const* mangled, std::exception_ptr (*make)(ErrorRecord)) {
    std::scoped_lock const lock(revivals().guard);
    revivals().makers.insert_or_assign(exception_name(mangled), make);
}

}  // namespace sinew::detail
