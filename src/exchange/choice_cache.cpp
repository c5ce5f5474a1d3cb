#include "exchange/choice_cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/file_size_limit.hpp"

namespace couplet::exchange {
namespace {

constexpr std::string_view title = "# couplet: fastest methods of exchanges, 1";
constexpr std::size_t max_lines = 4096;
constexpr std::size_t max_choice_line_bytes = 4096;

// Names come from the system, and separate nothing here.
std::string field(std::string_view text) {
  std::string cleaned(text);
  std::replace_if(
      cleaned.begin(), cleaned.end(), [](unsigned char letter) { return letter < ' '; }, ' ');
  return cleaned;
}

// What a line of this situation begins with.
std::string key_of(const Situation& situation) {
  std::string methods;
  for (const std::string& name : situation.methods) methods += (methods.empty() ? "" : ",") + name;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t", field(situation.machine), situation.node_ranks, situation.neighbors,
                     situation.size_class, situation.is_paired ? "both" : "one", field(methods));
}

// Returns the lines after the title; none if the file is of another kind.
std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != title) return lines;
  while (lines.size() < max_lines && std::getline(file, line)) {
    if (line.size() <= max_choice_line_bytes) lines.push_back(line);
  }
  return lines;
}

// rest: "<method>\t<nanoseconds>".
std::optional<RememberedChoice> choice_from(std::string_view rest) {
  const std::size_t tab = rest.find('\t');
  if (tab == 0 || tab == std::string_view::npos) return std::nullopt;
  RememberedChoice choice{.method = std::string(rest.substr(0, tab))};
  const std::string_view number = rest.substr(tab + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), choice.time_ns);
  const bool is_good = read.ec == std::errc() && read.ptr == number.data() + number.size();
  return is_good && std::isfinite(choice.time_ns) && choice.time_ns >= 0 ? std::optional(choice) : std::nullopt;
}

Status write_all(const std::string& path, const std::string& text) {
  COUPLET_TRY(os::check_file_size(path, text.size()));
  os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return os::system_failure(errno, fmt::format("cannot create {}", path));
  for (std::size_t done = 0; done < text.size();) {
    const auto wrote =
        os::retry_interrupted([&] { return ::write(file.number(), text.data() + done, text.size() - done); });
    if (wrote <= 0) return os::system_failure(errno, fmt::format("cannot write {}", path));
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

}  // namespace

std::optional<RememberedChoice> ChoiceCache::find(const Situation& situation) const {
  if (!is_on()) return std::nullopt;
  const std::string key = key_of(situation);
  for (const std::string& line : lines_of(path_)) {
    if (!line.starts_with(key)) continue;
    auto choice = choice_from(std::string_view(line).substr(key.size()));
    const auto& known = situation.methods;
    if (choice && std::find(known.begin(), known.end(), choice->method) != known.end()) return choice;
  }
  return std::nullopt;
}

Status ChoiceCache::store(const Situation& situation, const RememberedChoice& choice) const {
  const std::string key = key_of(situation);
  std::string text = fmt::format("{}\n{}{}\t{:.0f}\n", title, key, choice.method, choice.time_ns);
  std::size_t count = 1;
  for (const std::string& line : lines_of(path_)) {
    if (!line.starts_with(key) && count++ < max_lines) text += line + '\n';
  }
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, std::max<std::size_t>(slash, 1));
  const std::string making = os::temporary_name(folder, "exchange-methods");
  Status written = write_all(making, text);
  if (written.ok() && std::rename(making.c_str(), path_.c_str()) != 0) {
    written = os::system_failure(errno, fmt::format("cannot write {}", path_));
  }
  if (!written.ok()) static_cast<void>(os::remove_file(making));
  return written;
}

}  // namespace couplet::exchange
