# SPDX-License-Identifier: Apache-2.0
# Writes the source of page_files(). Given FOLDER, with the files of the page, and OUTPUT.
set(files
    "/\;index.html\;text/html\; charset=utf-8"
    "/dashboard.css\;dashboard.css\;text/css\; charset=utf-8"
    "/dashboard.js\;dashboard.js\;text/javascript\; charset=utf-8"
    "/charts.js\;charts.js\;text/javascript\; charset=utf-8"
    "/icon.svg\;icon.svg\;image/svg+xml")
set(arrays "")
set(rows "")
set(index 0)
foreach(entry IN LISTS files)
    string(REGEX MATCH "^([^;]*);([^;]*);(.*)$" entry "${entry}")
    set(target "${CMAKE_MATCH_1}")
    set(type "${CMAKE_MATCH_3}")
    file(READ ${FOLDER}/${CMAKE_MATCH_2} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "constexpr unsigned char file_${index}[] = {${bytes}};\n")
    string(APPEND rows "    PageFile{\"${target}\", \"${type}\", view(file_${index})},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by launchers/dashboard/page/embed_page.cmake.
#include \"launchers/dashboard/page/page.hpp\"

#include <array>
#include <cstddef>

namespace sinew::launch::dashboard {
namespace {

${arrays}
template <std::size_t count>
std::string_view view(unsigned char const (&bytes)[count]) {
    return {reinterpret_cast<char const*>(bytes), count};
}

}  // namespace

std::span<PageFile const> page_files() {
    static std::array const files{
${rows}    };
    return files;
}

}  // namespace sinew::launch::dashboard
")
