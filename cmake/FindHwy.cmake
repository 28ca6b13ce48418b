# SPDX-License-Identifier: Apache-2.0
# Google Highway (Debian: libhwy-dev), as the target sinew::hwy.
find_path(Hwy_INCLUDE_DIR hwy/highway.h)
find_library(Hwy_LIBRARY hwy)
mark_as_advanced(Hwy_INCLUDE_DIR Hwy_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwy REQUIRED_VARS Hwy_LIBRARY Hwy_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "sinew needs Google Highway. Debian: apt-get install libhwy-dev")
if(Hwy_FOUND AND NOT TARGET sinew::hwy)
    add_library(sinew::hwy UNKNOWN IMPORTED)
    set_target_properties(sinew::hwy PROPERTIES
        IMPORTED_LOCATION ${Hwy_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${Hwy_INCLUDE_DIR})
    if(NOT Hwy_LIBRARY MATCHES "\\.a$")
        set_target_properties(sinew::hwy PROPERTIES INTERFACE_COMPILE_DEFINITIONS HWY_SHARED_DEFINE)
    endif()
endif()
