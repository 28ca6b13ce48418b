# SPDX-License-Identifier: Apache-2.0
# cmake --install: library, headers, find_package(sinew), pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sinew)
get_target_property(library_type sinew TYPE)

install(TARGETS sinew EXPORT sinewTargets FILE_SET HEADERS)
install(TARGETS sinew_c EXPORT sinew_cTargets FILE_SET HEADERS)
install(DIRECTORY python/sinew DESTINATION lib/python3/dist-packages
    FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
if(SINEW_BUILD_COMMAND)
    install(TARGETS sinew_command RUNTIME)
    if(TARGET sinew_start)
        install(TARGETS sinew_start RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR})
    endif()
    install(FILES docs/sinew.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES launchers/completion/sinew.bash RENAME sinew
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
install(FILES README.md CHANGELOG.md SECURITY.md CITATION.cff LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY k8s/manifests DESTINATION ${CMAKE_INSTALL_DOCDIR}/k8s)   # messages name them
install(EXPORT sinewTargets NAMESPACE sinew:: DESTINATION ${package_dir})
configure_package_config_file(cmake/sinewConfig.cmake.in ${PROJECT_BINARY_DIR}/sinewConfig.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sinewConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/sinewConfig.cmake ${PROJECT_BINARY_DIR}/sinewConfigVersion.cmake
    cmake/FindHwloc.cmake
    DESTINATION ${package_dir})

# libsinew_c is a package of its own, since programs of C need nothing of what those of C++ do.
set(package_c_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sinew_c)
install(EXPORT sinew_cTargets NAMESPACE sinew:: DESTINATION ${package_c_dir} FILE sinew_cConfig.cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sinew_cConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sinew_cConfigVersion.cmake DESTINATION ${package_c_dir})

# pkg-config knows no targets: spell out what a static libsinew.a needs, a shared one brings along.
set(pc_cflags -pthread)
set(pc_libs -pthread)
if(SINEW_HAVE_MPI)
    list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE flags)
    list(TRANSFORM MPI_CXX_COMPILE_DEFINITIONS PREPEND -D OUTPUT_VARIABLE definitions)
    list(APPEND pc_cflags ${flags} ${definitions})
    list(APPEND pc_libs ${MPI_CXX_LIBRARIES})
endif()
if(library_type STREQUAL "STATIC_LIBRARY")
    if(SINEW_HAVE_HWLOC)
        list(APPEND pc_libs ${Hwloc_LIBRARY})
    endif()
    list(APPEND pc_libs -lssl -lcrypto -ldl)
endif()
list(REMOVE_DUPLICATES pc_libs)
list(JOIN pc_cflags " " pc_cflags)
list(JOIN pc_libs " " pc_libs)
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
string(REGEX REPLACE "[^/]+" ".." pc_up ${pc_dir})
foreach(package sinew sinew_c)
    configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${pc_dir})
endforeach()
