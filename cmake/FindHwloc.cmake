# SPDX-License-Identifier: Apache-2.0
# hwloc (Debian: libhwloc-dev), as the target sinew::hwloc.
find_path(Hwloc_INCLUDE_DIR hwloc.h)
find_library(Hwloc_LIBRARY hwloc)
mark_as_advanced(Hwloc_INCLUDE_DIR Hwloc_LIBRARY Hwloc_CONFIG)
find_file(Hwloc_CONFIG hwloc/autogen/config.h HINTS ${Hwloc_INCLUDE_DIR})
if(Hwloc_CONFIG)
    file(STRINGS ${Hwloc_CONFIG} line REGEX "define HWLOC_VERSION \"")
    string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" Hwloc_VERSION "${line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwloc REQUIRED_VARS Hwloc_LIBRARY Hwloc_INCLUDE_DIR
    VERSION_VAR Hwloc_VERSION)
if(Hwloc_FOUND AND NOT TARGET sinew::hwloc)
    add_library(sinew::hwloc UNKNOWN IMPORTED)
    set_target_properties(sinew::hwloc PROPERTIES
        IMPORTED_LOCATION ${Hwloc_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${Hwloc_INCLUDE_DIR})
endif()
