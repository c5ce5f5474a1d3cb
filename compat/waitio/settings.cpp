#include "settings.hpp"

#include <couplet/couplet.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "report.hpp"

namespace waitio {
namespace {

constexpr int max_blocks = 256;  // Couplet's limit of programs
constexpr std::int64_t default_port = 7100;
constexpr std::int64_t default_threshold = 524288;
constexpr std::array<const char*, 5> type_names = {"", "socket", "file", "hybrid", "verbs"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string required(const char* name, const char* what) {
  std::string value = variable(name);
  if (value.empty()) {
    throw Error(fmt::format("{} is not set; it has to be {}", name, what));
  }
  return value;
}

// Reads a whole number of a range. Returns nothing if the variable is not set.
std::optional<std::int64_t> number(const char* name, std::int64_t lowest, std::int64_t highest, const char* what) {
  const std::string text = variable(name);
  if (text.empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest) {
    throw Error(
        fmt::format("{} is '{}'; it has to be {}, a whole number from {} to {}", name, text, what, lowest, highest));
  }
  return value;
}

std::int64_t required_number(const char* name, std::int64_t lowest, std::int64_t highest, const char* what) {
  required(name, fmt::format("{}, a whole number from {} to {}", what, lowest, highest).c_str());
  return *number(name, lowest, highest, what);
}

template <std::size_t size>
void put(std::array<char, size>& into, const char* name, const std::string& text) {
  if (text.size() >= size) {
    throw Error(fmt::format("{} is too long: it has {} characters, and {} are possible", name, text.size(), size - 1));
  }
  std::copy(text.begin(), text.end(), into.begin());
}

CommType read_type(bool given_hub) {
  const std::string text = variable("WAITIO_COMM_TYPE");
  if (text.empty()) {
    return given_hub ? CommType::none : CommType::socket;
  }
  const auto found = std::find(type_names.begin() + 1, type_names.end(), text);
  if (found == type_names.end()) {
    throw Error(fmt::format("WAITIO_COMM_TYPE is '{}'; it has to be socket, file, hybrid or verbs", text));
  }
  return static_cast<CommType>(found - type_names.begin());
}

constexpr auto scratch_meaning = "the absolute path of a directory that all parallel blocks share";

// Without this check, each PB would wait for the others until its patience is over.
void require_usable_directory(const std::string& path) {
  struct stat facts {};
  int error = ::stat(path.c_str(), &facts) == 0 ? 0 : errno;
  if (error == 0 && !S_ISDIR(facts.st_mode)) {
    error = ENOTDIR;
  } else if (error == 0 && ::access(path.c_str(), W_OK | X_OK) != 0) {
    error = errno;
  }
  if (error != 0) {
    throw Error(
        fmt::format("WAITIO_SCRATCH_DIR is '{}': {}; it has to be {}", path, std::strerror(error), scratch_meaning));
  }
}

// Returns the directory of a job's files: the same for all PBs, and another one for each job.
std::string read_directory() {
  const std::string scratch = required("WAITIO_SCRATCH_DIR", scratch_meaning);
  const std::string job = required("COUPLER_JOB_ID", "a name of this coupled run that all parallel blocks share");
  if (!scratch.starts_with('/')) {
    throw Error(fmt::format("WAITIO_SCRATCH_DIR is '{}'; it has to be an absolute path", scratch));
  }
  if (job.find('/') != std::string::npos) {
    throw Error(fmt::format("COUPLER_JOB_ID is '{}'; it has to be part of a file's name, without '/'", job));
  }
  require_usable_directory(scratch);
  return fmt::format("{}/.waitio-file-{}", scratch, job);
}

double read_patience() {
  constexpr double default_s = 600;
  const std::string text = variable("COUPLET_JOIN_TIMEOUT");
  if (text.empty()) {
    return default_s;
  }
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end != '\0' || std::isnan(seconds)) {
    throw Error(fmt::format("COUPLET_JOIN_TIMEOUT is '{}'; it has to be a number of seconds", text));
  }
  return std::isinf(seconds) ? -1 : seconds;
}

// Under couplet run, the name of the program says which PB it is: pb0, pb1, ...
std::optional<int> block_of_name(const std::string& name) {
  int block = 0;
  const auto [end, error] =
      std::from_chars(name.data() + std::min<std::size_t>(2, name.size()), name.data() + name.size(), block);
  const bool right = name.starts_with("pb") && error == std::errc() && end == name.data() + name.size() && block >= 0 &&
                     name == fmt::format("pb{}", block);
  return right ? std::optional(block) : std::nullopt;
}

void read_place(Settings& settings) {
  if (settings.given_hub != 0) {
    settings.block_count =
        static_cast<int>(number("WAITIO_NPB", 1, max_blocks, "the number of parallel blocks").value_or(0));
  } else {
    settings.block_count =
        static_cast<int>(required_number("WAITIO_NPB", 1, max_blocks, "the number of parallel blocks"));
  }
  const int highest = settings.block_count == 0 ? max_blocks - 1 : settings.block_count - 1;
  constexpr auto what = "the id of this parallel block, less than WAITIO_NPB";
  const auto named = settings.given_hub != 0 ? block_of_name(variable("COUPLET_PROGRAM")) : std::nullopt;
  const auto given = named ? number("WAITIO_PBID", 0, highest, what)
                           : std::optional<std::int64_t>(required_number("WAITIO_PBID", 0, highest, what));
  settings.block = static_cast<int>(given.value_or(named.value_or(0)));
}

}  // namespace

const char* comm_type_name(CommType type) noexcept {
  return type_names[static_cast<std::size_t>(type)];
}

Settings read_settings() {
  Settings settings;
  settings.given_hub = variable("COUPLET_HUB").empty() ? 0 : 1;
  settings.patience_s = read_patience();
  read_place(settings);
  settings.type = read_type(settings.given_hub != 0);
  settings.threshold = number("WAITIO_HYBRID_THRESHOULD", 0, INT64_MAX, "the length from which messages go by files")
                           .value_or(default_threshold);
  number("WAITIO_MAXFILE_SIZE_PER_PROC", 0, INT64_MAX, "a number of bytes");
  const std::int64_t port =
      number("WAITIO_MASTER_PORT", 1, 65535, "the port of parallel block 0").value_or(default_port);
  if (settings.type == CommType::file || settings.type == CommType::hybrid) {
    put(settings.directory, "WAITIO_SCRATCH_DIR", read_directory());
  }
  if (settings.given_hub != 0) {
    put(settings.hub, "COUPLET_HUB", variable("COUPLET_HUB"));
  } else if (settings.type == CommType::file) {
    put(settings.hub, "WAITIO_SCRATCH_DIR", fmt::format("file:{}", settings.directory.data()));
  } else {
    const std::string host =
        required("WAITIO_MASTER_HOST", "the host of rank 0 of parallel block 0, as the others reach it");
    put(settings.hub, "WAITIO_MASTER_HOST", fmt::format("{}:{}", host, port));
  }
  return settings;
}

LinkVariables::LinkVariables(const Settings& settings) {
  if (settings.type == CommType::none) {
    return;
  }
  const char* links = settings.type == CommType::file     ? "self,shm,file"
                      : settings.type == CommType::hybrid ? "self,shm,tcp,file"
                                                          : "self,shm,tcp";
  const bool own_links = variable("COUPLET_LINKS").empty();
  set("COUPLET_LINKS", links);
  if (settings.directory[0] != '\0') {
    set("COUPLET_FILE_DIRECTORY", settings.directory.data());
  }
  // With links that the user has chosen, a hybrid connection may be impossible.
  if (settings.type == CommType::hybrid && own_links && variable("COUPLET_HYBRID").empty()) {
    set("COUPLET_HYBRID", "tcp+file");
    set("COUPLET_HYBRID_THRESHOLD", fmt::format("{}", std::max<std::int64_t>(settings.threshold - 1, 0)));
  }
}

void LinkVariables::set(const char* name, const std::string& value) {
  if (variable(name).empty()) {
    ::setenv(name, value.c_str(), 1);
    set_.push_back(name);
  }
}

LinkVariables::~LinkVariables() {
  for (const char* const name : set_) {
    ::unsetenv(name);
  }
}

}  // namespace waitio
