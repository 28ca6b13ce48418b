# SPDX-License-Identifier: Apache-2.0
# The headers of libpmix (Debian keeps them beside the library, known to pkg-config). Target
# sinew::pmix links nothing: the library is loaded at run time.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(PC_Pmix QUIET pmix)
endif()
find_path(Pmix_INCLUDE_DIR pmix_server.h HINTS ${PC_Pmix_INCLUDE_DIRS})
mark_as_advanced(Pmix_INCLUDE_DIR)
set(Pmix_VERSION "${PC_Pmix_VERSION}")
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Pmix REQUIRED_VARS Pmix_INCLUDE_DIR VERSION_VAR Pmix_VERSION)
if(Pmix_FOUND AND NOT TARGET sinew::pmix)
    add_library(sinew::pmix INTERFACE IMPORTED)
    set_target_properties(sinew::pmix PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${Pmix_INCLUDE_DIR}")
endif()
