// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/command_copy.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <sinew/error.hpp>
#include <span>
#include <vector>

#include "launchers/common/copy_layout.hpp"
#include "launchers/common/own_path.hpp"
#include "launchers/program/elf.hpp"
#include "src/base/system/io.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

namespace fs = std::filesystem;

// A folder with this file is an earlier copy, and may be written over.
constexpr char marker[] = ".sinew-copy";
constexpr char part[] = ".part";
constexpr ::mode_t for_data = 0644, for_programs = 0755;

// Libraries that are loaded when they are needed: without them no host name is found (before glibc
// 2.34), and no program of Open MPI is served.
constexpr std::array late_libraries{"libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"};
constexpr char pmix_library[] = "libpmix.so.2";

struct Piece {
    fs::path from, to;
    ::mode_t mode = for_data;
};

// In the order in which they are copied: bin/sinew is there when all is.
struct Pieces {
    std::vector<Piece> all;
    bool has_pmix = false;
};

std::uintmax_t size_of(Pieces const& pieces) {
    std::uintmax_t sum = 0;
    for (auto const& piece : pieces.all) {
        std::error_code none;
        auto const size = fs::file_size(piece.from, none);
        if (!none) sum += size;
    }
    return sum;
}

std::string mebibytes(std::uintmax_t bytes) {
    return text((bytes + (std::uintmax_t{1} << 20) - 1) >> 20, " MiB");
}

std::string interpreter_of(fs::path const& program) {
    UniqueFd const file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw_errno(text(program.string(), " cannot be read"));
    auto elf = read_elf_file(file.get());
    if (elf.interpreter.empty())
        throw Unavailable(text(program.string(),
                               " is statically linked: no library needs to be "
                               "copied with it. Copy it by cp"));
    return std::move(elf.interpreter);
}

// The files that this process has loaded, which are all that the command needs.
std::vector<fs::path> loaded_libraries() {
    std::vector<fs::path> found;
    ::dl_iterate_phdr(
        [](::dl_phdr_info* info, std::size_t, void* into) {
            // The program itself has no name, and the kernel's library no folder.
            if (std::strchr(info->dlpi_name, '/') != nullptr)
                static_cast<std::vector<fs::path>*>(into)->emplace_back(info->dlpi_name);
            return 0;
        },
        &found);
    return found;
}

// The program that becomes bin/sinew, from where the build or the installation has put it.
fs::path find_start(fs::path const& command) {
    std::array const places{
        command.parent_path() / "sinew_start",
        (command.parent_path() / ".." / SINEW_LIBEXEC_FOLDER / "sinew_start").lexically_normal()};
    for (auto const& place : places)
        if (::access(place.c_str(), X_OK) == 0) return place;
    throw Unavailable(text("the program sinew_start, which a copy needs, is missing (looked for ",
                           places[0].string(), " and ", places[1].string(),
                           "). It is built where a static C library is (Debian: libc6-dev), and "
                           "installed with sinew"));
}

Pieces find_pieces() {
    Pieces pieces;
    for (char const* name : late_libraries) ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    pieces.has_pmix = ::dlopen(pmix_library, RTLD_LAZY | RTLD_LOCAL) != nullptr;

    auto const copy = own_copy();
    fs::path const command = copy ? fs::path(*copy) / copy_command : fs::path(own_path());
    fs::path const loader =
        copy ? fs::path(*copy) / copy_loader : fs::path(interpreter_of(command));
    auto const start = copy ? fs::path(*copy) / copy_start : find_start(command);

    std::error_code none;
    std::set<std::string> names;
    for (auto const& library : loaded_libraries()) {
        auto const name = library.filename();
        if (fs::equivalent(library, loader, none) || !names.insert(name.string()).second) continue;
        pieces.all.push_back({.from = library, .to = fs::path(copy_libraries) / name});
    }
    pieces.all.push_back({.from = loader, .to = copy_loader, .mode = for_programs});
    pieces.all.push_back({.from = command, .to = copy_command, .mode = for_programs});
    pieces.all.push_back({.from = start, .to = copy_start, .mode = for_programs});
    return pieces;
}

// Makes the folder ours: nothing but a copy is written over.
void take_folder(fs::path const& folder) {
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (problem)
        throw SystemError(text(folder.string(), " cannot be made (", problem.message(),
                               "). Name a folder that you may write"),
                          problem.value());
    if (fs::exists(folder / marker, problem)) return;
    fs::directory_iterator entry(folder, problem);
    for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
        if (entry->path().filename() != "lost+found")
            throw UsageError(
                text("--copy-to ", folder.string(), " holds ", entry->path().filename().string(),
                     " (must be empty, or hold an earlier copy). Name an empty folder"));
    UniqueFd const file(
        ::open((folder / marker).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, for_data));
    int const number = problem ? problem.value() : errno;
    if (problem || !file)
        throw SystemError(text(folder.string(), " cannot be used (", std::strerror(number),
                               "). Name a folder that you may write"),
                          number);
}

class CopyJob {
public:
    CopyJob(fs::path folder, Pieces const& pieces)
        : folder_(std::move(folder)), pieces_(pieces), size_(size_of(pieces)) {}

    void run() const {
        for (auto const& piece : pieces_.all) copy(piece);
        remove_old_libraries();
    }
    std::uintmax_t size() const { return size_; }

private:
    void copy(Piece const& piece) const {
        auto const to = folder_ / piece.to, temporary = fs::path(to.string() + part);
        std::error_code problem;
        fs::create_directories(to.parent_path(), problem);
        if (problem) failed(to.parent_path(), problem.value());
        // Programs of any user execute it, whatever the umask is. The folder may be another's.
        ::chmod(to.parent_path().c_str(), for_programs);
        UniqueFd const from(::open(piece.from.c_str(), O_RDONLY | O_CLOEXEC));
        if (!from) failed(piece.from, errno);
        ::unlink(temporary.c_str());  // of a copy that was interrupted
        UniqueFd const into(
            ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!into) failed(temporary, errno);
        if (int const error = copy_bytes(from.get(), into.get());
            error != 0 || ::fchmod(into.get(), piece.mode) != 0 ||
            ::rename(temporary.c_str(), to.c_str()) != 0) {
            int const number = error != 0 ? error : errno;
            ::unlink(temporary.c_str());
            failed(to, number);
        }
    }

    // Returns an errno.
    static int copy_bytes(int from, int into) {
        std::vector<std::byte> buffer(std::size_t{256} << 10);
        for (;;) {
            ssize_t const count = read_all(from, buffer);
            if (count < 0) return errno;
            auto const bytes = std::span(buffer).first(static_cast<std::size_t>(count));
            if (!write_all(into, bytes)) return errno;
            if (bytes.size() < buffer.size()) return 0;
        }
    }

    [[noreturn]] void failed(fs::path const& file, int number) const {
        std::string remedy;
        if (number == ENOSPC || number == EDQUOT) {
            std::error_code none;
            auto const space = fs::space(folder_, none);
            remedy = text(". The copy takes ", mebibytes(size_), "; ",
                          none ? "little" : mebibytes(space.available), " is left in ",
                          folder_.string(), ": make room there");
        }
        throw SystemError(
            text(file.string(), " cannot be copied (", std::strerror(number), ")", remedy), number);
    }

    // Of an earlier version of sinew.
    void remove_old_libraries() const {
        std::set<fs::path> kept;
        for (auto const& piece : pieces_.all) kept.insert(piece.to.filename());
        std::error_code problem;
        fs::directory_iterator entry(folder_ / copy_libraries, problem);
        std::vector<fs::path> old;
        for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
            if (!kept.contains(entry->path().filename())) old.push_back(entry->path());
        for (auto const& path : old) fs::remove(path, problem);
    }

    fs::path const folder_;
    Pieces const& pieces_;
    std::uintmax_t const size_;
};

}  // namespace

std::string copy_command_to(std::string const& folder) {
    auto const pieces = find_pieces();
    take_folder(folder);
    CopyJob const job(folder, pieces);
    job.run();
    return text("copied sinew to ", folder, ": ", pieces.all.size(), " files, ",
                mebibytes(job.size()),
                pieces.has_pmix ? ""
                                : "; without libpmix, which is not installed here: programs of "
                                  "Open MPI cannot be served by this copy unless their image "
                                  "has it");
}

}  // namespace sinew::launch
