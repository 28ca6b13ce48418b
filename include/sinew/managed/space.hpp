// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <sinew/detail/managed_handle.hpp>

namespace sinew {
namespace detail {
[[noreturn]] void refuse_name(std::string const& name);
[[noreturn]] void refuse_type(std::string const& name, char const* is, char const* wanted);
}  // namespace detail

namespace managed {

/// The object with the named values, in the manager's process.
class SpaceObject {
public:
    template <class T>
    void set(std::string const& name, T const& value) {
        values_.insert_or_assign(name, std::any(value));
    }
    template <class T>
    T get(std::string const& name) const {
        auto const found = values_.find(name);
        if (found == values_.end()) detail::refuse_name(name);
        if (auto const* const value = std::any_cast<T>(&found->second)) return *value;
        detail::refuse_type(name, found->second.type().name(), typeid(T).name());
    }
    bool contains(std::string const& name) const { return values_.count(name) > 0; }
    bool erase(std::string const& name) { return values_.erase(name) > 0; }
    std::vector<std::string> names() const;

private:
    std::map<std::string, std::any> values_;
};

/// Values by name, each of any copyable type that can be encoded; multiprocessing's Namespace. A
/// value is read as the type it was set as: `set("x", 3)` is an int; text is a std::string.
/// Thread-safe.
template <class Mode = Waits>
class BasicSpace : public Handle<BasicSpace<Mode>, SpaceObject> {
    template <class R>
    using Gives = typename Mode::template Gives<R>;
    template <class T>
    using Kept = std::conditional_t<std::is_convertible_v<T const&, char const*>, std::string, T>;

public:
    explicit BasicSpace(Object<SpaceObject> object)
        : Handle<BasicSpace, SpaceObject>(std::move(object)) {}
    static char const* kept() { return typeid(SpaceObject).name(); }
    BasicSpace<Replies> async() const { return BasicSpace<Replies>(this->object()); }

    template <class T>
    Gives<void> set(std::string const& name, T const& value) const {
        return call<&SpaceObject::set<Kept<T>>>(name, Kept<T>(value));
    }
    /// Throws std::out_of_range if there is no such name, and UsageError if the value has another
    /// type.
    template <class T>
    Gives<T> get(std::string const& name) const {
        return call<&SpaceObject::get<T>>(name);
    }
    Gives<bool> contains(std::string const& name) const {
        return call<&SpaceObject::contains>(name);
    }
    /// Returns false if there is no such name.
    Gives<bool> erase(std::string const& name) const { return call<&SpaceObject::erase>(name); }
    Gives<std::vector<std::string>> names() const { return call<&SpaceObject::names>(); }

private:
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return Mode::of(this->object().template async<M>(arguments...));
    }
};
using Space = BasicSpace<Waits>;
using AsyncSpace = BasicSpace<Replies>;

}  // namespace managed
}  // namespace sinew
