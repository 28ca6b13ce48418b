// SPDX-License-Identifier: Apache-2.0
// bin/sinew of a copy made by `sinew agent --copy-to`: executes the copy's command by the copy's own
// loader, with the copy's libraries. It is statically linked, so the system need not have a C library
// that fits; nothing is passed on by variables, so programs that sinew starts use their own libraries.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launchers/common/copy_layout.hpp"
#include "launchers/common/exit_codes.hpp"

namespace {

[[noreturn]] void fail(char const* what) {
    std::fprintf(stderr, "sinew: %s (%s)\n", what, std::strerror(errno));
    std::exit(sinew::launch::exit_launcher_failed);
}

// As process 1 of a container, this one would ignore a request to end, and so would the loader of
// the command's many libraries: it is blocked, and so pending, until main() of the command.
void keep_requests_to_end() {
    if (::getpid() != 1) return;
    sigset_t requests;
    ::sigemptyset(&requests);
    ::sigaddset(&requests, SIGTERM);
    ::sigaddset(&requests, SIGINT);
    ::sigprocmask(SIG_BLOCK, &requests, nullptr);
}

// Removes the last part of a path.
void cut(char* path) {
    if (char* const slash = std::strrchr(path, '/')) *slash = '\0';
}

struct Path {
    char words[PATH_MAX];
    Path(char const* folder, char const* name) {
        int const length = std::snprintf(words, sizeof words, "%s/%s", folder, name);
        if (length >= 0 && static_cast<std::size_t>(length) < sizeof words) return;
        errno = ENAMETOOLONG;
        fail("the folder of this copy cannot be used");
    }
};

}  // namespace

int main(int argc, char** argv) {
    using namespace sinew::launch;
    keep_requests_to_end();
    char folder[PATH_MAX];
    auto const length = ::readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length < 0) fail("/proc/self/exe cannot be read. Is /proc mounted?");
    folder[length] = '\0';
    cut(folder);
    cut(folder);
    Path loader(folder, copy_loader), command(folder, copy_command),
        libraries(folder, copy_libraries);
    char option[] = "--library-path";

    // The loader's four words come before the arguments; a null ends them.
    auto** const words =
        static_cast<char**>(std::calloc(static_cast<std::size_t>(argc) + 5, sizeof(char*)));
    if (words == nullptr) fail("no memory");
    words[0] = loader.words;
    words[1] = option;
    words[2] = libraries.words;
    words[3] = command.words;
    for (int i = 1; i < argc; ++i) words[3 + i] = argv[i];
    ::execv(loader.words, words);
    std::fprintf(stderr,
                 "sinew: %s cannot be executed (%s). Copy it again: sinew agent --copy-to %s\n",
                 loader.words, std::strerror(errno), folder);
    return exit_launcher_failed;
}
