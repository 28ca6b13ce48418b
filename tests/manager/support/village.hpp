// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sinew/manager.hpp>
#include <sinew/manager/this_manager.hpp>
#include <string>
#include <vector>

namespace sinew::testing_support {

/// Objects that make and return other objects.
class Unit {
public:
    explicit Unit(int at) : at_(at) {}
    Unit(int at, std::string note) : at_(at), note_(std::move(note)) {}
    ~Unit();
    int move(int by) { return at_ += by; }
    int at() const { return at_; }
    void step(int number) { steps_.push_back(number); }
    std::vector<int> steps() const { return steps_; }
    std::uint64_t carry(std::vector<std::uint8_t> const& load) { return load.size(); }
    int pid() const;

private:
    int at_;
    std::string note_;
    std::vector<int> steps_;
};

class Village {
public:
    Object<Unit> spawn(int at) { return this_manager::create<Unit>(at); }
    Object<Unit> spawn_slowly(int milliseconds, int at);
    Object<Unit> refuse(std::string const& why);
    Object<Village> found();
    void befriend(Object<Village> const& other) { friends_.push_back(other); }
    Object<Village> friend_slowly(int milliseconds) const;
    void adopt(Object<Unit> const& unit) { adopted_.push_back(unit); }
    Object<Unit> adopted() const { return adopted_.back(); }
    Object<Unit> adopted_slowly(int milliseconds) const;
    /// Calls an object that has not arrived yet, within the manager.
    int spawn_and_move(int at, int by);
    int move_adopted(int by);
    void die();

private:
    std::vector<Object<Unit>> adopted_;
    std::vector<Object<Village>> friends_;
};

}  // namespace sinew::testing_support
