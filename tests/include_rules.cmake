# SPDX-License-Identifier: Apache-2.0
# Who may include whom. Given ROOT; prints file:line of each violation and fails if there is one.
cmake_minimum_required(VERSION 3.25)

# layer: the layers it may include besides itself. First match wins, so longer paths come first.
# A layer that is not named here yet must be added with its arrows: an unknown folder is an error.
# "folder/." is what lies in the folder itself, without its subfolders.
set(arrows
    "src/base/gpus: src/base"
    "src/base/system: src/base"
    "src/base/waiting: src/base"
    "src/base:"
    "src/transport: src/base"
    "src/node_memory/arena: src/base src/node_memory/."
    "src/node_memory: src/base"
    "collectives/kernels: src/base collectives/."
    "collectives/node: src/base src/node_memory collectives/. collectives/kernels collectives/schedule"
    "collectives: src/base src/transport src/node_memory"
    "src/wire/loop: src/base"
    "src/wire/socket: src/base src/wire/loop"
    "src/wire/tls: src/base src/wire/loop src/wire/socket"
    "src/wire: src/base"
    "src/world: src/base src/transport src/wire"
    "src/task: src/base"
    "src/process/resources: src/base src/task src/wire src/process/."
    "src/process/rpc: src/base src/task src/wire src/process/. src/process/resources"
    "src/process/shared: src/base src/task src/wire src/process/. src/process/rpc"
    "src/process/pipe: src/base src/task src/wire src/process/. src/process/rpc"
    "src/process/queue: src/base src/task src/wire src/process/. src/process/rpc"
    "src/process/child: src/base src/task src/wire src/process/. src/process/resources src/process/shared"
    "src/process: src/base src/task src/wire"
    "src/lease/locks: src/base"
    "src/lease/gpus: src/base src/process/resources src/lease/locks"
    "src/lease: src/base src/process/resources"
    "src/nodes/acquire: src/base src/task src/wire src/process src/nodes/."
    "src/nodes: src/base src/task src/wire src/process"
    "src/pool/scheduler: src/base"
    "src/pool/placement: src/base src/task src/wire src/process src/nodes src/pool/."
    "src/pool/worker: src/base src/task src/wire src/process src/pool/."
    "src/pool: src/base src/task src/wire src/process src/nodes src/world src/comm"
    "src/manager/managed: src/base src/task"
    "src/manager/restart: src/base src/task src/wire src/process src/nodes src/manager/."
    "src/manager/server: src/base src/task src/wire src/process src/nodes src/manager/. src/manager/restart"
    "src/manager: src/base src/task src/wire src/process src/nodes"
    "src/ring: src/base src/task src/wire src/process src/nodes src/transport src/world src/comm"
    "src/service: src/base src/process src/nodes src/pool"
    "src/init: src/base src/process src/nodes src/pool src/manager src/ring"
    "src/comm/black_box: src/base"
    "src/comm/progress: src/base src/transport src/comm/black_box collectives"
    "src/comm/model: src/base collectives src/comm/."
    "src/comm: src/base src/transport src/node_memory src/wire src/world collectives"
    "src/sgd/local: src/base src/comm collectives src/sgd/. src/sgd/coding"
    "src/sgd/optimizer: src/base src/comm collectives src/sgd/. src/sgd/coding"
    "src/sgd/device: src/base"
    "src/sgd/gpu: src/base src/comm src/sgd/. src/sgd/coding src/sgd/device"
    "src/sgd/coding: src/base collectives src/sgd/device"
    "src/sgd: src/base src/comm collectives"
    "src/pmpi: src/base src/transport src/node_memory src/comm collectives"
    "src/c_api: src/base src/comm"
    "k8s/objects: src/base"
    "k8s/config: src/base k8s/objects"
    "k8s/http: src/base k8s/config"
    "k8s/credentials: src/base k8s/objects k8s/config k8s/http"
    "k8s/requests: src/base k8s/objects k8s/config k8s/http k8s/credentials k8s/."
    "k8s: src/base"
    "launchers/common: src/base src/wire"
    "launchers/program: src/base launchers/common"
    "launchers/command_line/hosts: src/base launchers/common launchers/program launchers/command_line/."
    "launchers/command_line: src/base launchers/common launchers/program"
    "launchers/map: src/base launchers/common launchers/command_line"
    "launchers/tree: src/base src/wire launchers/common"
    "launchers/io: src/base src/wire launchers/common launchers/command_line"
    "launchers/control: src/base src/wire launchers/common launchers/io"
    "launchers/pmi: src/base src/wire launchers/common launchers/tree"
    "launchers/blackbox: src/base launchers/common"
    "launchers/checks: src/base src/wire collectives launchers/common launchers/program launchers/map launchers/pmi"
    "launchers/kubernetes/objects: src/base src/wire k8s launchers/common launchers/command_line"
    "launchers/kubernetes: src/base src/wire k8s launchers/common launchers/program launchers/command_line launchers/io"
    "launchers/slurm: src/base launchers/common launchers/program launchers/command_line"
    "launchers/docker: src/base launchers/common launchers/agent"
    "launchers/service/job: src/base launchers/common launchers/agent launchers/service/."
    "launchers/service/client: src/base src/wire launchers/common launchers/command_line launchers/io launchers/service/."
    "launchers/service/dashboard: src/base src/lease launchers/common launchers/dashboard launchers/service/job launchers/service/."
    "launchers/service/server: src/base src/wire src/lease launchers/common launchers/agent launchers/dashboard launchers/service/. launchers/service/job launchers/service/dashboard"
    "launchers/service: src/base src/wire launchers/common launchers/control"
    "launchers/backends: src/base launchers/common launchers/program launchers/command_line launchers/kubernetes launchers/slurm launchers/docker launchers/service"
    "launchers/agent: src/base src/wire src/world launchers/common launchers/program launchers/map launchers/tree launchers/io launchers/pmi launchers/checks"
    "launchers/acquire: src/base src/wire k8s launchers/common launchers/program launchers/command_line launchers/io launchers/kubernetes launchers/slurm launchers/docker launchers/backends launchers/agent"
    "launchers/dashboard/page:"
    "launchers/dashboard/http: src/base src/wire launchers/common launchers/dashboard/. launchers/dashboard/page"
    "launchers/dashboard: src/base src/wire launchers/common launchers/io"
    "launchers/job: src/base src/wire launchers/common launchers/program launchers/command_line launchers/map launchers/tree launchers/io launchers/control launchers/dashboard launchers/backends launchers/agent"
    "launchers/pods: src/base src/wire k8s launchers/kubernetes launchers/common launchers/command_line launchers/tree launchers/backends launchers/agent launchers/job"
    "launchers/verbs/cluster: src/base src/wire k8s launchers/common launchers/program launchers/command_line launchers/io launchers/control launchers/kubernetes launchers/slurm launchers/docker launchers/service launchers/cli launchers/verbs/."
    "launchers: src/base src/wire src/world collectives"
    "include/sinew:"
    "benchmarks/peers: src/world src/transport collectives benchmarks"   # whether a World takes MPI; a kernel for an operation of MPI
    "benchmarks/reduce: collectives"        # the kernels alone, which no public header shows
    "benchmarks/simulate: collectives benchmarks"   # the cost model, which no public header shows
    "benchmarks/support/gpu: src/base src/sgd/device benchmarks"   # kernels, which no public header shows
    "benchmarks/support/sums: collectives benchmarks"      # the kernels, whose time alone is a limit
    "benchmarks/support: src/base benchmarks"   # what a wait costs, beside which figures are read
    "benchmarks/wire: src/wire src/base benchmarks"   # links, which no public header shows
    "benchmarks/pool: src/pool benchmarks"            # its scheduler, with simulated workers
    "benchmarks/manager: examples benchmarks"         # the example's simulator
    "benchmarks:"
    "examples:"
    "tests: src collectives k8s launchers benchmarks examples")

# Public headers that are above a layer, and so not for it: what they declare is made of it.
set(public_above
    "src/base: comm/transport world communicator mpi sinew"
    "src/transport: world communicator mpi sinew"
    "collectives: world communicator mpi sinew"
    "src/wire: comm/transport world communicator mpi sinew"
    "src/world: communicator mpi sinew")

# third-party header: the paths (as regular expressions) it may be included in.
set(third_party
    "mpi\\.h$: src/(transport|world|comm)/mpi_ src/pmpi/ include/sinew/mpi\\.hpp benchmarks/drop_in benchmarks/peers/ benchmarks/python_allreduce/mpi_ tests/support/ tests/(.*/)?mpi_"
    "hwy/: collectives/kernels/"
    "hwloc(\\.h$|/): src/world/ src/base/system/hwloc_topology\\.hpp launchers/"
    "cereal/: include/sinew/task/archive\\.hpp tests/ examples/"
    "openssl/: src/wire/ src/base/sha256 k8s/objects/base64 tests/wire/"
    "pmix: launchers/pmi/ src/world/pmix_ tests/launchers/pmi/"
    "zmq: benchmarks/peers/"
    "grpcpp/: benchmarks/peers/"
    "yaml-cpp/: k8s/objects/"
    "curl/: k8s/"
    "sqlite3: launchers/service/server/database\\.cpp"
    "cuda: tests/gpu/ benchmarks/support/gpu/ collectives/kernels/ examples/sgd_digits/cuda_gpu\\.cu"
    "nccl\\.h$: tests/gpu/"
    "gloo/: benchmarks/peers/"
    "boost/: launchers/ benchmarks/ examples/ tests/"
    "nlohmann/: k8s/ launchers/ src/nodes/acquire/ src/pool/master/report_line benchmarks/ examples/ tests/"
    "(gtest|gmock)/: tests/")

set(violations "")
macro(violation why)
    list(APPEND violations "${file}:${line}: ${why}")
endmacro()

# The part after "key:" of the first row whose key matches, in `row`; the key in `key`.
function(look_up table text how)
    set(key "" PARENT_SCOPE)
    set(row "" PARENT_SCOPE)
    foreach(entry IN LISTS ${table})
        string(REGEX MATCH "^([^:]*):(.*)$" entry "${entry}")
        set(candidate "${CMAKE_MATCH_1}")
        set(rest "${CMAKE_MATCH_2}")
        if((how STREQUAL "folder" AND "${text}" MATCHES "^${candidate}/")
                OR (how STREQUAL "header" AND "${text}" MATCHES "^${candidate}"))
            separate_arguments(rest)
            set(key "${candidate}" PARENT_SCOPE)
            set(row "${rest}" PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()

function(any_match result text)
    set(${result} FALSE PARENT_SCOPE)
    foreach(pattern IN LISTS ARGN)
        if("${text}" MATCHES "^${pattern}")
            set(${result} TRUE PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

macro(check_include)
    # Ours are rooted at the repository and quoted; public ones are <sinew/...>.
    look_up(arrows "${file}" folder)
    set(layer "${key}")
    set(may "${row}")
    if(layer STREQUAL "")
        violation("belongs to no layer that include_rules.cmake knows: add it with its arrows")
    elseif(quote STREQUAL "\"")
        list(TRANSFORM may APPEND "/" OUTPUT_VARIABLE prefixes)
        list(TRANSFORM prefixes REPLACE "/\\./$" "/[^/]+$")
        any_match(allowed "${header}" "${layer}/" ${prefixes})
        if(layer STREQUAL "include/sinew")
            violation("a public header includes \"${header}\" (only <sinew/...> and the standard)")
        elseif(NOT allowed)
            list(JOIN may ", " names)
            violation("${layer} may not include \"${header}\" (only itself, ${names})")
        endif()
    elseif(header MATCHES "^sinew/(.*)\\.hpp$")
        set(name "${CMAKE_MATCH_1}")
        look_up(public_above "${file}" folder)
        if(name IN_LIST row)
            violation("${layer} may not include <${header}>, which is above it")
        endif()
    elseif(header MATCHES "^(src|collectives|k8s|tests|benchmarks|examples)/")
        violation("private <${header}> is included by \"\", not by <>")
    else()
        look_up(third_party "${header}" header)
        if(NOT key STREQUAL "")
            any_match(allowed "${file}" ${row})
            if(NOT allowed)
                list(JOIN row ", " names)
                violation("<${header}> is not for this file (only for ${names})")
            endif()
        endif()
    endif()
endmacro()

set(folders "")
foreach(folder include src collectives k8s launchers benchmarks examples tests)
    if(IS_DIRECTORY ${ROOT}/${folder})
        list(APPEND folders ${folder})
    endif()
endforeach()
execute_process(WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE found
    COMMAND grep -rnE --include=*.hpp --include=*.cpp --include=*.h --include=*.cu
        "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]" ${folders})
string(REGEX MATCHALL "[^\n]+" found "${found}")
set(count 0)
foreach(hit IN LISTS found)
    if(hit MATCHES "^([^:]+):([0-9]+):[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]")
        set(file "${CMAKE_MATCH_1}")
        set(line "${CMAKE_MATCH_2}")
        set(quote "${CMAKE_MATCH_3}")
        set(header "${CMAKE_MATCH_4}")
        check_include()
        math(EXPR count "${count} + 1")
    endif()
endforeach()

if(count EQUAL 0)
    message(FATAL_ERROR "include rules: no #include found under ${ROOT}")
endif()
if(violations)
    list(JOIN violations "\n" text)
    list(LENGTH violations number)
    message("${text}")
    message(FATAL_ERROR "include rules: ${number} of ${count} includes break the arrows of docs/design.md")
endif()
message(STATUS "include rules: ${count} includes, all along the arrows")
