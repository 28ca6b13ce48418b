// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/program_kind.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "launchers/program/command_output.hpp"
#include "launchers/program/elf.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

constexpr std::chrono::milliseconds loader_patience{5000};

/// Whether indirect dependencies are examined.
enum class Depth : std::uint8_t { direct, closure };

bool tells(ProgramKind const& kind) { return kind.open_mpi || kind.mpich; }

ProgramKind unknown(std::string path, std::string why) {
    ProgramKind kind;
    kind.unknown = true;
    kind.path = std::move(path);
    kind.why = std::move(why);
    return kind;
}

ProgramKind unusable(std::string path, int error, std::string why) {
    ProgramKind kind;
    kind.error = error;
    kind.path = std::move(path);
    kind.why = std::move(why);
    return kind;
}

/// Adds what is known about a library. Returns false if that is nothing.
bool add_library(ProgramKind& kind, std::string const& program, std::string const& library) {
    auto const one = kind_of_library(library);
    if (!tells(one) && !one.sinew && !one.unknown) return false;
    kind.open_mpi |= one.open_mpi;
    kind.mpich |= one.mpich;
    kind.sinew |= one.sinew;
    kind.unknown |= one.unknown;
    kind.why += text(kind.why.empty() ? program + " wants " : ", ", library);
    return true;
}

/// The C and C++ runtime: libraries that do not depend on an MPI library.
bool is_basic(std::string_view library) {
    constexpr std::array<std::string_view, 14> basic{
        "libc.so",      "libm.so",      "libpthread.so", "libdl.so",     "librt.so",
        "ld-linux",     "libgcc_s.so",  "libstdc++.so",  "libgomp.so",   "libutil.so",
        "libatomic.so", "libresolv.so", "libz.so",       "libselinux.so"};
    return std::any_of(basic.begin(), basic.end(),
                       [&](std::string_view name) { return library.starts_with(name); });
}

bool preloads(std::vector<std::string> const& environment) {
    if (environment.empty()) {
        char const* const value = std::getenv("LD_PRELOAD");
        return value != nullptr && *value != '\0';
    }
    return std::any_of(environment.begin(), environment.end(), [](std::string const& variable) {
        return variable.starts_with("LD_PRELOAD=") && variable.size() > 11;
    });
}

/// Asks the dynamic loader for all libraries it would load: lines "\tlibx.so => /path (0x...)".
void ask_loader(ProgramKind& kind, std::string const& path, Elf const& elf,
                std::vector<std::string> const& environment) {
    auto const answer =
        command_output({elf.interpreter, "--list", path}, {.time = loader_patience}, environment);
    if (!answer.succeeded() && answer.out.empty()) {
        kind.unknown = !tells(kind);
        kind.why += text(kind.why.empty() ? "" : "; ", elf.interpreter, " --list ", path,
                         answer.timed_out ? " took too long" : " failed: ",
                         answer.err.substr(0, answer.err.find('\n')));
        return;
    }
    std::string_view rest = answer.out;
    while (!rest.empty()) {
        auto const line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        auto const begin = line.find_first_not_of(" \t");
        if (begin == std::string_view::npos) continue;
        auto word = line.substr(begin, line.find(' ', begin) - begin);
        // A preloaded library is listed by its path.
        if (auto const slash = word.rfind('/'); slash != word.npos) word.remove_prefix(slash + 1);
        std::string const library(word);
        bool const missing = line.find("=> not found") != std::string_view::npos;
        if (missing) kind.why += text(kind.why.empty() ? path + ": " : ", ", library, " not found");
        if (std::find(elf.needed.begin(), elf.needed.end(), library) == elf.needed.end())
            add_library(kind, path, library);
    }
}

ProgramKind of_elf(std::string const& path, Elf const& elf, Depth depth,
                   std::vector<std::string> const& environment) {
    if (elf.kind == Elf::Kind::fixed) return unknown(path, path + " is statically linked");
    if (elf.kind != Elf::Kind::dynamic)
        return unknown(path, path + " is not a program for this kind of machine, or is damaged");
    ProgramKind kind;
    kind.path = path;
    for (auto const& library : elf.needed) add_library(kind, path, library);
    if (tells(kind) || depth == Depth::direct) return kind;
    bool const plain = std::all_of(elf.needed.begin(), elf.needed.end(), is_basic);
    if (plain && !kind.sinew && !preloads(environment)) return kind;
    if (elf.interpreter.empty()) return unknown(path, path + " names no dynamic loader");
    if (::access(elf.interpreter.c_str(), X_OK) != 0)
        return unusable(path, ENOENT,
                        text(path, " needs the dynamic loader ", elf.interpreter,
                             ", which is not here. Is it built for another system?"));
    ask_loader(kind, path, elf, environment);
    if (tells(kind)) kind.unknown = false;  // an MPI library behind a neutral name
    return kind;
}

/// Returns the program named after "#!", without its argument.
std::string script_interpreter(std::string_view head) {
    head = head.substr(0, head.find('\n'));
    auto const begin = head.find_first_not_of(" \t", 2);
    if (begin == std::string_view::npos) return {};
    return std::string(head.substr(begin, head.find_first_of(" \t", begin) - begin));
}

ProgramKind of_script(std::string const& path, std::string_view head) {
    auto const interpreter = script_interpreter(head);
    if (!interpreter.empty() && ::access(interpreter.c_str(), X_OK) != 0) {
        bool const dos = interpreter.back() == '\r';
        return unusable(path, errno == EACCES ? EACCES : ENOENT,
                        text(path, " is a script for '",
                             dos ? interpreter.substr(0, interpreter.size() - 1) : interpreter,
                             dos ? "' with Windows line ends. Convert them with dos2unix"
                                 : "', which cannot be run. Correct its first line"));
    }
    return unknown(path, path + " is a script");
}

ProgramKind of_file(std::string const& path, Depth depth,
                    std::vector<std::string> const& environment) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    // A program may be executable but not readable.
    if (!file) return unknown(path, path + " cannot be read");
    auto const elf = read_elf_file(file.get());
    if (elf.kind != Elf::Kind::not_elf) return of_elf(path, elf, depth, environment);
    std::array<char, 512> bytes{};
    auto const count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
    std::string_view const head(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    if (head.starts_with("#!")) return of_script(path, head);
    // A first line without NUL is text. Shells run it as a script; the kernel does not.
    if (head.substr(0, head.find('\n')).find('\0') == std::string_view::npos)
        return unusable(path, ENOEXEC,
                        path +
                            " is a script that does not say what runs it. Begin it with a line "
                            "#!/bin/sh, or say sh before its name");
    return unusable(path, ENOEXEC, path + " is neither a program for this machine nor a script");
}

/// Returns the first argument that is itself an MPI program. Other programs do not count: in `perf
/// stat ./prog`, "stat" happens to be the name of a program too.
ProgramKind of_arguments(std::vector<std::string> const& argv, std::string const& folder,
                         std::string const& path_variable,
                         std::vector<std::string> const& environment) {
    constexpr std::size_t most = 32;
    for (std::size_t index = 1; index < std::min(argv.size(), most); ++index) {
        auto const& word = argv[index];
        if (word.empty() || word.front() == '-' || word.find('=') != std::string::npos) continue;
        auto const found = find_program(word, folder, path_variable);
        if (found.error != 0) continue;
        auto kind = of_file(found.path, Depth::closure, environment);
        if (tells(kind)) return kind;
    }
    return {};
}

std::string why_not(std::string const& name, int error, std::string const& path_variable) {
    bool const in_path = name.find('/') == std::string::npos;
    if (error == ENOENT && in_path)
        return text("'", name, "' is not in PATH (", path_variable, "). For one in the working ",
                    "folder say ./", name);
    if (error == ENOENT) return text("'", name, "' does not exist. Check the path and --wdir");
    if (error == EACCES)
        return text("'", name, "' may not be executed (a folder, or no permission). Check it with ",
                    "ls -l; chmod +x makes a file executable");
    return text("'", name, "' cannot be reached: ", std::strerror(error));
}

}  // namespace

ProgramKind inspect(std::vector<std::string> const& argv, std::string const& folder,
                    std::string const& path_variable, std::vector<std::string> const& environment) {
    std::string const name = argv.empty() ? "" : argv.front();
    auto const found = find_program(name, folder, path_variable);
    if (found.error != 0)
        return unusable({}, found.error, why_not(name, found.error, path_variable));
    bool const wrapper = runs_other_programs(found.path) || runs_other_programs(name);
    auto kind = of_file(found.path, wrapper ? Depth::direct : Depth::closure, environment);
    if (tells(kind) || kind.error != 0) return kind;
    if (!wrapper && !kind.unknown && argv.size() == 1) return kind;
    auto inner = of_arguments(argv, folder, path_variable, environment);
    if (!wrapper && !kind.unknown) {
        // This is `cp ./prog there`, or a wrapper whose name is not known.
        if (tells(inner)) return unknown(found.path, "of an argument: " + inner.why);
        return kind;
    }
    if (tells(inner)) {
        inner.path = found.path;
        return inner;
    }
    return kind.unknown ? kind : unknown(found.path, found.path + " runs other programs");
}

}  // namespace sinew::launch
