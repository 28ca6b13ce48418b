// SPDX-License-Identifier: Apache-2.0
//
// The sections of `sinew info` about this machine.
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include "launchers/checks/check.hpp"
#include "launchers/checks/facts.hpp"
#include "launchers/cli/info_sections.hpp"
#include "launchers/map/binding.hpp"
#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/hwloc_topology.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/wake_up.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::launch {

namespace {

std::string processor_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name") || line.starts_with("Model"))
            if (auto const colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "not told";
}

Section limit_of(__rlimit_resource_t resource, bool bytes) {
    ::rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) return nullptr;
    if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
    if (bytes) return bytes_text(static_cast<double>(limit.rlim_cur));
    return limit.rlim_cur;
}

std::string shared_memory() {
    struct ::statvfs about {};
    if (::statvfs("/dev/shm", &about) != 0) return "not there";
    auto const size = [&](auto blocks) {
        return bytes_text(static_cast<double>(blocks) * static_cast<double>(about.f_frsize));
    };
    return text(size(about.f_blocks), ", ", size(about.f_bavail), " free");
}

#if SINEW_HAVE_HWLOC
std::string info_of(hwloc_obj_t object, char const* key) {
    char const* const value = hwloc_obj_get_info_by_name(object, key);
    return value != nullptr ? value : "";
}

std::string device_kind(hwloc_obj_t device) {
    constexpr unsigned display = 0x03, network = 0x02, infiniband = 0x0207, accelerator = 0x12;
    unsigned const pci_class = device->attr->pcidev.class_id;
    if (pci_class >> 8 == display || pci_class >> 8 == accelerator) return "GPU or accelerator";
    if (pci_class == infiniband) return "InfiniBand";
    if (pci_class >> 8 == network) return "network";
    return {};
}

/// Adds the system's names of a PCI device: "eth0", "mlx5_0". They may be some levels below it.
void add_names(hwloc_obj_t object, Section& names) {
    for (hwloc_obj_t child = object->io_first_child; child != nullptr;
         child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr)
            names.push_back(child->name);
        add_names(child, names);
    }
}

std::string model_of(hwloc_obj_t device) {
    std::string const vendor = info_of(device, "PCIVendor"), model = info_of(device, "PCIDevice");
    if (!vendor.empty() || !model.empty()) return text(vendor, ' ', model);
    std::array<char, 16> numbers{};
    auto const& pci = device->attr->pcidev;
    std::snprintf(numbers.data(), numbers.size(), "%04x:%04x", pci.vendor_id, pci.device_id);
    return numbers.data();
}

int package_of(hwloc_topology_t topology, hwloc_obj_t device) {
    hwloc_obj_t above = device;
    while (above != nullptr && above->cpuset == nullptr) above = above->parent;
    if (above == nullptr) return -1;
    if (above->type != HWLOC_OBJ_PACKAGE)
        above = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, above);
    return above != nullptr ? static_cast<int>(above->logical_index) : -1;
}
#endif

}  // namespace

Section host_section(Processors const& machine) {
    ::utsname system{};
    ::uname(&system);
    struct ::sysinfo memory {};
    ::sysinfo(&memory);
    auto const size = [&](auto units) {
        return bytes_text(static_cast<double>(units) * memory.mem_unit);
    };
    std::set<int> numa;
    for (auto const& core : machine.cores) numa.insert(core.numa);
    return {{"name", system.nodename},
            {"system", text(system.sysname, ' ', system.release, ' ', system.machine)},
            {"processor", processor_model()},
            {"packages", machine.packages()},
            {"NUMA nodes", numa.size()},
            {"usable cores", machine.cores.size()},
            {"hardware threads", machine.hardware_threads()},
            {"cgroup's quota", machine.quota ? Section(*machine.quota) : Section("none")},
            {"slots", machine.slots()},
            {"memory", size(memory.totalram)}};
}

Section devices_section() {
    Section table = Section::array();
#if SINEW_HAVE_HWLOC
    HwlocTopology const topology;
    hwloc_topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology.get()) != 0) return table;
    hwloc_obj_t device = nullptr;
    while ((device = hwloc_get_next_pcidev(topology.get(), device)) != nullptr) {
        std::string const kind = device_kind(device);
        if (kind.empty()) continue;
        Section names = Section::array();
        add_names(device, names);
        int const package = package_of(topology.get(), device);
        table.push_back({{"kind", kind},
                         {"device", model_of(device)},
                         {"package", package >= 0 ? Section(package) : Section()},
                         {"names", names}});
    }
#endif
    return table;
}

Section gpu_section() {
    GpuFacts const gpus = look_at_gpus();
    return {{"CUDA driver", gpus.no_driver.empty() ? gpus.driver : "not usable: " + gpus.no_driver},
            {"GPUs", gpus.count},
            {"NCCL", gpus.no_nccl.empty() ? gpus.nccl : "not usable: " + gpus.no_nccl}};
}

Section ring_section(Processors const& machine) {
    Section table = Section::array();
    for (std::size_t first = 0; first < machine.cores.size();) {
        auto const& begin = machine.cores[first];
        std::vector<int> cores, cpus;
        std::size_t last = first;
        for (; last < machine.cores.size() && machine.cores[last].numa == begin.numa &&
               machine.cores[last].package == begin.package;
             ++last) {
            cores.push_back(machine.cores[last].index);
            cpus.insert(cpus.end(), machine.cores[last].cpus.begin(),
                        machine.cores[last].cpus.end());
        }
        std::sort(cpus.begin(), cpus.end());
        table.push_back({{"local ranks",
                          last - first == 1 ? std::to_string(first) : text(first, '-', last - 1)},
                         {"package", begin.package},
                         {"NUMA node", begin.numa},
                         {"cores", cpu_list(cores)},
                         {"cpus", cpu_list(cpus)}});
        first = last;
    }
    return table;
}

Section interfaces_section() {
    Section table = Section::array();
    for (auto const& interface : wire::interfaces())
        table.push_back({{"name", interface.name},
                         {"address", text(interface.address, '/', interface.prefix)},
                         {"loopback", interface.loopback}});
    return table;
}

Section limits_section() {
    return {{"shared memory", shared_memory()},
            {"locked memory", limit_of(RLIMIT_MEMLOCK, true)},
            {"open files", limit_of(RLIMIT_NOFILE, false)},
            {"processes", limit_of(RLIMIT_NPROC, false)},
            {"core files", limit_of(RLIMIT_CORE, true)}};
}

Section waiting_section() {
    auto const us = std::chrono::duration<double, std::micro>(wake_up().cost).count();
    return {{"wake-up, us", std::round(us * 10) / 10},
            {"source", std::string(name_of(wake_up().source))},
            {"looks before sleeping", may_spin()}};
}

}  // namespace sinew::launch
