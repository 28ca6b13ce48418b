// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

/// The dictionary object in the manager's process: a std::map if keys have operator<, otherwise a
/// std::unordered_map.
template <class Key, class Value>
class DictObject {
    struct ByOrder {
        using type = std::map<Key, Value>;
    };
    struct ByHash {
        using type = std::unordered_map<Key, Value>;
    };
    static constexpr bool ordered = requires(Key const& key) { key < key; };

public:
    using Map = typename std::conditional_t<ordered, ByOrder, ByHash>::type;
    using Items = std::vector<std::pair<Key, Value>>;

    explicit DictObject(Items const& items) { update(items); }

    void set(Key const& key, Value const& value) { map_.insert_or_assign(key, value); }
    std::optional<Value> get(Key const& key) const {
        auto const found = map_.find(key);
        return found == map_.end() ? std::nullopt : std::optional<Value>(found->second);
    }
    Value at(Key const& key) const {
        auto const found = map_.find(key);
        if (found == map_.end()) detail::refuse_key(map_.size());
        return found->second;
    }
    Value get_or(Key const& key, Value const& other) const { return get(key).value_or(other); }
    bool contains(Key const& key) const { return map_.count(key) > 0; }
    bool erase(Key const& key) { return map_.erase(key) > 0; }
    std::optional<Value> pop(Key const& key) {
        auto value = get(key);
        map_.erase(key);
        return value;
    }
    Value setdefault(Key const& key, Value const& value) {
        return map_.try_emplace(key, value).first->second;
    }
    Value add(Key const& key, Value const& more) {
        auto const [place, is_new] = map_.try_emplace(key, more);
        if (!is_new) place->second = static_cast<Value>(place->second + more);
        return place->second;
    }
    void update(Items const& items) {
        for (auto const& [key, value] : items) set(key, value);
    }
    std::vector<Key> keys() const {
        std::vector<Key> all;
        for (auto const& each : map_) all.push_back(each.first);
        return all;
    }
    std::vector<Value> values() const {
        std::vector<Value> all;
        for (auto const& each : map_) all.push_back(each.second);
        return all;
    }
    Items items() const { return Items(map_.begin(), map_.end()); }
    std::size_t size() const { return map_.size(); }
    void clear() { map_.clear(); }

    // Checkpointable.
    Items save() const { return items(); }
    void restore(Items const& kept) {
        clear();
        update(kept);
    }

private:
    Map map_;
};

}  // namespace sinew::managed
