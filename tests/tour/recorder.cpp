#include "recorder.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

namespace {

constexpr std::size_t capacity = 1U << 20U;
std::array<void*, capacity> visited;
std::size_t count = 0;
bool recording = false;

// Folders that are on no trip of their own: values, names, clocks.
constexpr std::array quiet = {"base", "counters"};

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

// Returns "channel  Channel::try_send" for "couplet::channel::Channel::try_send(...)", or "" if it is not worth a line.
std::string line_of(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_sname == nullptr) {
    return {};
  }
  std::string name = demangled(info.dli_sname);
  if (name.starts_with("couplet_")) {
    return "capi      " + name;
  }
  name = name.substr(0, name.find('('));
  constexpr std::string_view prefix = "couplet::";
  if (!name.starts_with(prefix) || name.find('<') != std::string::npos || name.find("{lambda") != std::string::npos) {
    return {};
  }
  name.erase(0, prefix.size());
  const auto colon = name.find("::");
  if (colon == std::string::npos) {
    return {};
  }
  const std::string folder = name.substr(0, colon);
  const std::string function = name.substr(colon + 2);
  if (std::find(quiet.begin(), quiet.end(), folder) != quiet.end() || function.find('~') != std::string::npos) {
    return {};
  }
  return folder + std::string(folder.size() < 10 ? 10 - folder.size() : 1, ' ') + function;
}

}  // namespace

extern "C" {
void __cyg_profile_func_enter(void* function, void*) {
  if (recording && count < capacity) {
    visited[count++] = function;
  }
}
void __cyg_profile_func_exit(void*, void*) {}
}

namespace tour {

void start() {
  count = 0;
  recording = true;
}

std::vector<std::string> stop() {
  recording = false;
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (std::size_t index = 0; index < count; ++index) {
    std::string line = line_of(visited[index]);
    if (!line.empty() && seen.insert(line).second) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace tour
