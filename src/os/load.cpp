#include "os/load.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace couplet::os {
namespace {

// Returns the field of that number (counted from 0) of a line of numbers, or -1 if there is none.
std::int64_t field(std::string_view line, int number) noexcept {
  for (; number > 0; --number) {
    const auto space = line.find(' ');
    if (space == std::string_view::npos) return -1;
    line.remove_prefix(space + 1);
  }
  std::int64_t value = -1;
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

}  // namespace

LoadMeter::LoadMeter() : file_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {}

int LoadMeter::runnable() const noexcept {
  std::array<char, 128> text{};  // "0.20 0.18 0.12 1/80 11206": the fourth field counts those that run
  if (!file_) return -1;
  const ssize_t bytes = ::pread(file_.number(), text.data(), text.size(), 0);
  return bytes > 0 ? static_cast<int>(field({text.data(), static_cast<std::size_t>(bytes)}, 3)) : -1;
}

std::uint64_t LoadMeter::delay_ns() noexcept {
  const Descriptor file(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};  // time on a core, time spent waiting for one, how often
  if (!file) return 0;
  const ssize_t bytes = ::read(file.number(), text.data(), text.size());
  return bytes > 0 ? static_cast<std::uint64_t>(
                         std::max<std::int64_t>(0, field({text.data(), static_cast<std::size_t>(bytes)}, 1)))
                   : 0;
}

RunMeter::RunMeter(std::uint32_t process)
    : file_(process == 0 ? -1 : ::open(fmt::format("/proc/{}/schedstat", process).c_str(), O_RDONLY | O_CLOEXEC)) {}

double RunMeter::share(std::uint64_t now_ns) noexcept {
  std::array<char, 128> text{};  // time on a core, time spent waiting for one, how often
  if (!file_) return 1;
  const ssize_t bytes = ::pread(file_.number(), text.data(), text.size(), 0);
  if (bytes <= 0) return 0;
  const std::string_view line(text.data(), static_cast<std::size_t>(bytes));
  const auto run_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, field(line, 0) + field(line, 1)));
  const std::uint64_t ran_ns = run_ns - std::min(run_ns, std::exchange(last_run_ns_, run_ns));
  const std::uint64_t passed_ns = now_ns - std::min(now_ns, std::exchange(last_ns_, now_ns));
  return passed_ns == 0 ? 1 : std::min(1.0, static_cast<double>(ran_ns) / static_cast<double>(passed_ns));
}

int LoadMeter::cores() noexcept {
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace couplet::os
