// SPDX-License-Identifier: Apache-2.0
#include "tests/manager/support/village.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace sinew::testing_support {

Unit::~Unit() {
    if (!note_.empty()) std::ofstream(note_, std::ios::app) << "ended\n";
}

int Unit::pid() const { return ::getpid(); }

Object<Unit> Village::spawn_slowly(int milliseconds, int at) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return spawn(at);
}

Object<Unit> Village::refuse(std::string const& why) { throw std::out_of_range(why); }

Object<Village> Village::found() { return this_manager::create<Village>(); }

Object<Unit> Village::adopted_slowly(int milliseconds) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return adopted_.back();
}

Object<Village> Village::friend_slowly(int milliseconds) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    return friends_.back();
}

int Village::spawn_and_move(int at, int by) {
    auto const other = this_manager::create<Village>();
    auto const unit = other.async<&Village::spawn_slowly>(20, at);
    return unit.call<&Unit::move>(by);
}

int Village::move_adopted(int by) {
    auto const other = this_manager::create<Village>();
    other.call<&Village::adopt>(adopted_.back());
    auto const unit = other.async<&Village::adopted_slowly>(20);
    return unit.call<&Unit::move>(by);
}

void Village::die() { ::raise(SIGKILL); }

}  // namespace sinew::testing_support
