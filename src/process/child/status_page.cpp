// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/status_page.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::process {
namespace {

[[noreturn]] void fail(char const* step) {
    throw SystemError(text("memory to share with a child is not available (", step, ": ",
                           std::strerror(errno), "). See ulimit -n and free memory"),
                      errno);
}

}  // namespace

SharedPage::SharedPage() : file_(::memfd_create("sinew status", MFD_CLOEXEC)) {
    if (!file_ || ::ftruncate(file_.get(), sizeof(StatusPage)) != 0) fail("memfd_create");
    at_ = ::mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (at_ == MAP_FAILED) fail("mmap");
    page().running = ~std::uint64_t{0};
}

SharedPage::~SharedPage() { ::munmap(at_, sizeof(StatusPage)); }

}  // namespace sinew::process
