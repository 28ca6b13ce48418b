// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cereal/types/memory.hpp>
#include <memory>
#include <random>

#include <sinew/task/encoding.hpp>

namespace sinew::task_test {

struct Point {
    std::int32_t x = 0;
    double y = 0;
    bool operator==(Point const&) const = default;
};

/// Encoded by its own members, as handles are.
struct Handle {
    std::string name;
    bool operator==(Handle const&) const = default;
    void encode_to(Writer& writer) const { encode(writer, name); }
    static Handle decode_from(Reader& reader) { return {decode<std::string>(reader)}; }
};

/// A user-defined type that cereal supports, with members of all kinds.
struct Record {
    std::vector<Handle> handles;
    std::map<std::string, Point> points;
    std::int16_t row[3] = {};
    std::shared_ptr<std::string> name, same;
    std::unique_ptr<Record> inner;

    template <class Archive>
    void serialize(Archive& archive) {
        archive(handles, cereal::make_nvp("points", points), row);
        archive& name& same;
        archive(inner);
    }
    bool operator==(Record const& o) const {
        auto const equal = [](auto const& a, auto const& b) { return a ? b && *a == *b : !b; };
        return handles == o.handles && points == o.points && std::ranges::equal(row, o.row) &&
               equal(name, o.name) && equal(inner, o.inner) && (name == same) == (o.name == o.same);
    }
};

using Anything =
    std::tuple<bool, std::vector<std::pair<std::int64_t, std::optional<std::string>>>,
               std::variant<double, Handle, std::vector<Point>>, std::map<std::uint8_t, Record>,
               std::set<std::string>, std::vector<bool>, std::array<std::deque<Handle>, 2>>;

/// Fills values at random, smaller with increasing depth.
class RandomValue {
public:
    explicit RandomValue(std::uint64_t seed) : random_(seed) {}
    Anything anything();
    std::size_t number(std::size_t below) { return random_() % below; }

private:
    std::string words() { return std::string(number(12), static_cast<char>('a' + number(26))); }
    Point point() {
        return {static_cast<std::int32_t>(random_()), static_cast<double>(number(99))};
    }
    Record record(int depth);
    std::mt19937_64 random_;
};

inline Record RandomValue::record(int depth) {
    Record record;
    for (auto n = number(4); n > 0; --n) record.handles.push_back({words()});
    for (auto n = number(4); n > 0; --n) record.points[words()] = point();
    for (auto& number_ : record.row) number_ = static_cast<std::int16_t>(number(1000));
    if (number(2) == 0) record.name = std::make_shared<std::string>(words());
    record.same = record.name;
    if (depth < 3 && number(2) == 0)
        record.inner = std::make_unique<Record>(this->record(depth + 1));
    return record;
}

inline Anything RandomValue::anything() {
    Anything value;
    auto& [flag, pairs, either, records, set, bits, arrays] = value;
    flag = number(2) == 0;
    for (auto n = number(4); n > 0; --n)
        pairs.emplace_back(random_(), number(2) == 0 ? std::optional(words()) : std::nullopt);
    if (number(2) == 0) either = Handle{words()};
    else if (number(2) == 0) either = std::vector<Point>(number(4), point());
    for (auto n = number(3); n > 0; --n) records.emplace(static_cast<std::uint8_t>(n), record(0));
    for (auto n = number(4); n > 0; --n) set.insert(words());
    for (auto n = number(9); n > 0; --n) bits.push_back(number(2) == 0);
    arrays[number(2)].assign(number(3), Handle{words()});
    return value;
}

}  // namespace sinew::task_test
