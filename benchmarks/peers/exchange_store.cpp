// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/exchange_store.hpp"

#include <cstring>
#include <numeric>
#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

template <class Bytes>
void append(std::vector<char>& to, Bytes const& bytes) {
    std::size_t const length = bytes.size();
    auto const* const as_bytes = reinterpret_cast<char const*>(&length);
    to.insert(to.end(), as_bytes, as_bytes + sizeof length);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class Bytes>
Bytes take(char const*& from) {
    std::size_t length = 0;
    std::memcpy(&length, from, sizeof length);
    char const* const begin = from + sizeof length;
    from = begin + length;
    return Bytes(begin, from);
}

}  // namespace

void ExchangeStore::set(std::string const& key, std::vector<char> const& data) {
    known_[key] = data;
    append(unsent_, key);
    append(unsent_, data);
}

void ExchangeStore::wait(std::vector<std::string> const& keys) {
    for (std::string const& key : keys)
        if (!known_.contains(key)) exchange();
}

std::vector<char> ExchangeStore::get(std::string const& key) {
    wait({key});
    auto const found = known_.find(key);
    if (found == known_.end())
        throw BackendError(text("gloo asks for key \"", key, "\", which no rank has set"), 0);
    return found->second;
}

void ExchangeStore::exchange() {
    std::size_t const mine = unsent_.size();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(comm_.size()));
    comm_.allgather(std::span(&mine, 1), sizes);
    std::vector<char> all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    comm_.allgatherv(unsent_, all, sizes);
    unsent_.clear();
    for (char const* next = all.data(); next != all.data() + all.size();) {
        auto const key = take<std::string>(next);
        known_[key] = take<std::vector<char>>(next);
    }
}

}  // namespace sinew::bench
