// SPDX-License-Identifier: Apache-2.0
// A Pool and a Manager in an external project: their processes run this program again.
#include <iostream>
#include <numeric>
#include <vector>

#include <sinew/init.hpp>
#include <sinew/manager.hpp>
#include <sinew/pool.hpp>

struct Total {
    long value = 0;
    long add(long more) { return value += more; }
};

long square(long x) { return x * x; }

int main(int argc, char** argv) {
    sinew::init(argc, argv);
    std::vector<long> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 1);
    sinew::Pool pool(2);
    sinew::Manager manager;
    auto total = manager.create<Total>();
    long last = 0;
    for (long const each : pool.map<square>(numbers)) last = total.call<&Total::add>(each);
    std::cout << "the squares of 1 to 100 add up to " << last << '\n';
}
