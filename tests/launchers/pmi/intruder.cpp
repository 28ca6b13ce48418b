// SPDX-License-Identifier: Apache-2.0
//
// intruder client|tool URI NAMESPACE RANK UID [abort]
//
// A process of another user that connects to the PMIx server of a job and claims to run as user
// UID: as a client (a rank of the job) or as a tool. Exit code 0: accepted, 1: refused, 2: error of
// the test, 77: libpmix is missing. With "abort" it then aborts the whole job.
#include <dlfcn.h>
#include <pmix.h>
#include <pmix_tool.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

uid_t claimed_user = 0;

template <class Function>
Function* symbol(void* library, char const* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

// libpmix calls these instead of the C library's, as with a preloaded library.
extern "C" uid_t geteuid() { return claimed_user; }
extern "C" uid_t getuid() { return claimed_user; }
extern "C" gid_t getegid() { return claimed_user; }
extern "C" gid_t getgid() { return claimed_user; }

int main(int count, char** words) {
    if (count < 6) return 2;
    bool const as_tool = std::strcmp(words[1], "tool") == 0;
    claimed_user = static_cast<uid_t>(std::strtoul(words[5], nullptr, 10));
    void* const library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        std::fprintf(stderr, "no libpmix: %s\n", ::dlerror());
        return 77;
    }
    for (auto const* version : {"", "2", "21", "3", "4", "41"})
        ::setenv((std::string("PMIX_SERVER_URI") + version).c_str(), words[2], 1);
    ::setenv("PMIX_NAMESPACE", words[3], 1);
    ::setenv("PMIX_RANK", words[4], 1);
    ::setenv("PMIX_SECURITY_MODE", "native", 1);
    ::setenv("PMIX_GDS_MODULE", "hash", 1);
    ::setenv("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC", 1);
    ::setenv("PMIX_PTL_MODULE", "tcp", 1);
    ::setenv("PMIX_MCA_ptl_base_max_retries", "1", 1);

    pmix_proc_t self{};
    pmix_status_t status = PMIX_ERROR;
    if (as_tool) {
        pmix_info_t infos[1]{};
        std::strncpy(infos[0].key, PMIX_SERVER_URI, PMIX_MAX_KEYLEN);
        infos[0].value.type = PMIX_STRING;
        infos[0].value.data.string = words[2];
        ::unsetenv("PMIX_NAMESPACE");
        ::unsetenv("PMIX_RANK");
        status = symbol<decltype(PMIx_tool_init)>(library, "PMIx_tool_init")(&self, infos, 1);
    } else {
        status = symbol<decltype(PMIx_Init)>(library, "PMIx_Init")(&self, nullptr, 0);
    }
    auto* const in_words = symbol<decltype(PMIx_Error_string)>(library, "PMIx_Error_string");
    std::printf("as %s of %s: %s\n", words[1], words[3], in_words(status));
    std::fflush(stdout);
    if (status != PMIX_SUCCESS) std::_Exit(1);
    if (count > 6) {
        pmix_proc_t all{};
        std::strncpy(all.nspace, words[3], PMIX_MAX_NSLEN);
        all.rank = PMIX_RANK_WILDCARD;
        status =
            symbol<decltype(PMIx_Abort)>(library, "PMIx_Abort")(77, "by another user", &all, 1);
        std::printf("abort: %s\n", in_words(status));
        std::fflush(stdout);
    }
    std::_Exit(0);
}
