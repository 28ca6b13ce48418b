// SPDX-License-Identifier: Apache-2.0
// A rank for a system without a C library: prints its rank, and what of its launcher's it can see.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

int main() {
    std::printf("rank %s of %s\n", std::getenv("SINEW_RANK"), std::getenv("SINEW_SIZE"));
    for (char** word = environ; *word != nullptr; ++word)
        if (std::strncmp(*word, "LD_", 3) == 0) std::printf("has %s\n", *word);
    char const* const command = std::getenv("SINEW_COMMAND");
    if (command != nullptr && ::access(command, X_OK) != 0) std::printf("no %s\n", command);
    if (command == nullptr) std::printf("no SINEW_COMMAND\n");
    return 0;
}
