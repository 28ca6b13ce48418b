// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <sinew/detail/dict_object.hpp>

namespace sinew::managed {

/// A dictionary that processes share. Each method is atomic; results are copies. Keys with
/// operator< are iterated in order, others in any order. Thread-safe.
template <class Key, class Value, class Mode = Waits>
class Dict : public Handle<Dict<Key, Value, Mode>, DictObject<Key, Value>> {
    using Kept = DictObject<Key, Value>;
    template <class R>
    using Gives = typename Mode::template Gives<R>;

public:
    using Items = typename Kept::Items;
    explicit Dict(Object<Kept> object) : Handle<Dict, Kept>(std::move(object)) {}
    static char const* kept() { return typeid(Kept).name(); }
    Dict<Key, Value, Replies> async() const { return Dict<Key, Value, Replies>(this->object()); }

    Gives<void> set(Key const& key, Value const& value) const {
        return call<&Kept::set>(key, value);
    }
    Gives<std::optional<Value>> get(Key const& key) const { return call<&Kept::get>(key); }
    /// Throws std::out_of_range if the key is missing.
    Gives<Value> at(Key const& key) const { return call<&Kept::at>(key); }
    /// Returns `other` if the key is missing.
    Gives<Value> get_or(Key const& key, Value const& other) const {
        return call<&Kept::get_or>(key, other);
    }
    Gives<bool> contains(Key const& key) const { return call<&Kept::contains>(key); }
    /// Returns false if the key is missing.
    Gives<bool> erase(Key const& key) const { return call<&Kept::erase>(key); }
    /// Erases the key and returns its value; returns nothing if the key is missing.
    Gives<std::optional<Value>> pop(Key const& key) const { return call<&Kept::pop>(key); }
    /// Returns the key's value; a missing key is first set to `value`.
    Gives<Value> setdefault(Key const& key, Value const& value) const {
        return call<&Kept::setdefault>(key, value);
    }
    /// Adds `more` to the key's value and returns the sum; a missing key is set to `more`.
    Gives<Value> add(Key const& key, Value const& more) const requires requires(Value value) {
        value + value;
    }
    { return call<&Kept::add>(key, more); }
    /// Sets all of `items`, as one atomic step.
    Gives<void> update(Items const& items) const { return call<&Kept::update>(items); }
    Gives<std::vector<Key>> keys() const { return call<&Kept::keys>(); }
    Gives<std::vector<Value>> values() const { return call<&Kept::values>(); }
    Gives<Items> items() const { return call<&Kept::items>(); }
    Gives<std::size_t> size() const { return call<&Kept::size>(); }
    bool empty() const requires std::same_as<Mode, Waits> { return size() == 0; }
    Gives<void> clear() const { return call<&Kept::clear>(); }

private:
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return Mode::of(this->object().template async<M>(arguments...));
    }
};
template <class Key, class Value>
using AsyncDict = Dict<Key, Value, Replies>;

}  // namespace sinew::managed
