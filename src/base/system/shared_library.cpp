// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/shared_library.hpp"

#include <dlfcn.h>

#include <sinew/error.hpp>

namespace sinew {

SharedLibrary SharedLibrary::already_loaded(char const* name) {
    return {::dlopen(name, RTLD_LAZY | RTLD_NOLOAD), name};
}

SharedLibrary SharedLibrary::open(std::string const& name) {
    if (void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) return {handle, name};
    char const* const reason = ::dlerror();
    throw Unavailable(reason != nullptr ? reason : name + " cannot be loaded");
}

std::string SharedLibrary::path_of(char const* symbol) const {
    ::Dl_info about{};
    void* const found = address(symbol);
    if (found == nullptr || ::dladdr(found, &about) == 0 || about.dli_fname == nullptr)
        return name_;
    return about.dli_fname;
}

void* SharedLibrary::address(char const* symbol) const {
    return handle_ != nullptr ? ::dlsym(handle_, symbol) : nullptr;
}

}  // namespace sinew
