#include "os/host.hpp"

#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "os/error.hpp"

namespace couplet::os {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int cores_by_affinity() {
  for (std::size_t cores = 1024; cores <= 1U << 20U; cores *= 4) {
    std::vector<unsigned long> mask(cores / (8 * sizeof(unsigned long)));
    auto* const set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (::sched_getaffinity(0, cores / 8, set) == 0) {
      return CPU_COUNT_S(cores / 8, set);
    }
    if (errno != EINVAL) {
      break;
    }
  }
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

// Reads "<quota> <period>" of the version 2 control group, and rounds up. Returns 0 if there is no limit.
int cores_by_quota() {
  const std::string line = first_line("/sys/fs/cgroup/cpu.max");
  char* rest = nullptr;
  const long quota = std::strtol(line.c_str(), &rest, 10);
  const long period = rest == line.c_str() ? 0 : std::strtol(rest, nullptr, 10);
  return quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("unknown");
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::string boot_id() {
  std::string line = first_line("/proc/sys/kernel/random/boot_id");
  return line.empty() ? "unknown" : line;
}

int usable_cores() {
  const int affinity = std::max(1, cores_by_affinity());
  const int quota = cores_by_quota();
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

std::uint32_t process_id() noexcept {
  return static_cast<std::uint32_t>(::getpid());
}

std::size_t descriptor_limit() noexcept {
  // Every system allows this many.
  constexpr std::size_t least = 256;
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::size_t>(files.rlim_cur) : least;
}

std::string run_directory() {
  const char* const chosen = std::getenv("COUPLET_RUN_DIR");
  if (chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  return fmt::format("/dev/shm/couplet-{}", ::geteuid());
}

Result<std::uint64_t> random_bits() {
  std::uint64_t bits = 0;
  if (retry_interrupted([&] { return ::getrandom(&bits, sizeof bits, 0); }) != static_cast<ssize_t>(sizeof bits)) {
    return system_failure(errno, "cannot get random bits");
  }
  return bits;
}

}  // namespace couplet::os
