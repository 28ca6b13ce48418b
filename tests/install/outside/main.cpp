// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include <sinew/version.hpp>

int main() { std::cout << "sinew " << sinew::version() << '\n'; }
