#include "runtime/cost_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_depth.hpp"
#include "os/descriptor.hpp"
#include "os/error.hpp"

namespace couplet::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::string_view schema_name = "couplet.cost.machine";
constexpr int schema_version = 1;
constexpr std::size_t max_curves = 1024;  // in each list
constexpr std::size_t max_hosts = 65536;
constexpr std::size_t max_label_bytes = 256;
constexpr std::uint64_t max_count = std::uint64_t{1} << 62U;
constexpr std::uint64_t max_members = 1U << 30U;
constexpr std::uint64_t max_piece_bytes = std::uint64_t{1} << 30U;
constexpr std::string_view what_to_do =
    "; write the file again with `couplet probe --save`, or set COUPLET_COST_FILE=none to do without";

constexpr std::array<std::string_view, 3> link_ways = {"eager", "announced", "pieces"};
constexpr std::array<std::string_view, 2> copy_ways = {"cached", "streaming"};

// A value of the file, and where it is: "links[2].points[0]".
struct Place {
  const Json* value = nullptr;
  std::string name;

  template <typename... Arguments>
  [[nodiscard]] Status mistake(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    return fail(Code::config, "{} {}", name.empty() ? "the file" : name,
                fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[nodiscard]] bool has(const char* key) const { return value->contains(key); }

  Result<Place> member(const char* key) const {
    if (!value->is_object()) return mistake("has to be an object");
    const auto found = value->find(key);
    if (found == value->end()) return mistake("has no \"{}\"", key);
    return Place{&*found, name.empty() ? key : fmt::format("{}.{}", name, key)};
  }
  Result<std::string> text(const char* key) const {
    COUPLET_TRY_VALUE(const Place found, member(key));
    if (!found.value->is_string()) return found.mistake("has to be a text, not {}", found.shown());
    auto text = found.value->get<std::string>();
    if (text.empty() || text.size() > max_label_bytes) {
      return found.mistake("has to have between 1 and {} characters, not {}", max_label_bytes, text.size());
    }
    return text;
  }
  Result<std::uint64_t> count(const char* key, std::uint64_t min, std::uint64_t max) const {
    COUPLET_TRY_VALUE(const Place found, member(key));
    if (!found.value->is_number_unsigned()) {
      return found.mistake("has to be a whole number of at least {}, not {}", min, found.shown());
    }
    const auto number = found.value->get<std::uint64_t>();
    if (number < min || number > max) return found.mistake("has to be between {} and {}, not {}", min, max, number);
    return number;
  }
  Result<double> seconds(const char* key) const {
    COUPLET_TRY_VALUE(const Place found, member(key));
    if (!found.value->is_number()) return found.mistake("has to be a number of seconds, not {}", found.shown());
    const auto number = found.value->get<double>();
    if (!(number >= 0 && number <= cost::max_point_s)) {
      return found.mistake("has to be a number of seconds between 0 and {}, not {}",
                           static_cast<std::uint64_t>(cost::max_point_s), number);
    }
    return number;
  }
  // Returns the entries of a list; none if there is no such member and it need not be there.
  Result<std::vector<Place>> list(const char* key, std::size_t min, std::size_t max) const {
    std::vector<Place> entries;
    if (min == 0 && !has(key)) return entries;
    COUPLET_TRY_VALUE(const Place found, member(key));
    if (!found.value->is_array()) return found.mistake("has to be a list, not {}", found.shown());
    if (found.value->size() < min || found.value->size() > max) {
      return found.mistake("has to have between {} and {} entries, not {}", min, max, found.value->size());
    }
    for (const Json& entry : *found.value) {
      entries.push_back({&entry, fmt::format("{}[{}]", found.name, entries.size())});
    }
    return entries;
  }
  [[nodiscard]] std::string shown() const {
    std::string text = value->dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }
};

template <std::size_t count>
Result<std::size_t> word_of(const Place& entry, const char* key, const std::array<std::string_view, count>& words) {
  COUPLET_TRY_VALUE(const std::string text, entry.text(key));
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  return entry.mistake("has the {} \"{}\"; there are {}", key, text, fmt::join(words, ", "));
}

Result<cost::Curve> points_of(const Place& entry) {
  COUPLET_TRY_VALUE(const auto points, entry.list("points", 1, cost::max_curve_points));
  cost::Curve curve;
  for (const Place& one : points) {
    cost::Point point;
    COUPLET_TRY_VALUE(point.bytes, one.count("bytes", 0, max_count));
    COUPLET_TRY_VALUE(point.time_s, one.seconds("time_s"));
    if (one.has("measured_s")) {
      COUPLET_TRY_VALUE(point.measured_s, one.seconds("measured_s"));
    }
    if (!curve.points.empty() && point.bytes <= curve.points.back().bytes) {
      return one.mistake("has {} bytes after {}: the sizes have to increase", point.bytes, curve.points.back().bytes);
    }
    curve.points.push_back(point);
  }
  return curve;
}

// Two curves of the same thing would contradict each other.
class Once {
 public:
  Status take(const Place& entry, std::string what) {
    if (const auto [place, is_new] = seen_.insert(std::move(what)); !is_new) {
      return entry.mistake("is the second curve of {}", *place);
    }
    return {};
  }

 private:
  std::set<std::string> seen_;
};

Status read_links(const Place& file, cost::MachineCosts& costs) {
  COUPLET_TRY_VALUE(const auto entries, file.list("links", 0, max_curves));
  Once once;
  for (const Place& entry : entries) {
    cost::LinkCurve curve;
    COUPLET_TRY_VALUE(curve.link, entry.text("link"));
    COUPLET_TRY_VALUE(const std::size_t way, word_of(entry, "way", link_ways));
    curve.way = static_cast<cost::LinkWay>(way);
    if (curve.way == cost::LinkWay::pieces) {
      COUPLET_TRY_VALUE(curve.piece_bytes, entry.count("piece_bytes", min_piece_bytes, max_piece_bytes));
    }
    COUPLET_TRY(once.take(entry, fmt::format("link \"{}\", {} {}", curve.link, link_ways[way], curve.piece_bytes)));
    COUPLET_TRY_VALUE(curve.times, points_of(entry));
    costs.links.push_back(std::move(curve));
  }
  return {};
}

Status read_copies(const Place& file, cost::MachineCosts& costs) {
  COUPLET_TRY_VALUE(const auto entries, file.list("copies", 0, max_curves));
  Once once;
  for (const Place& entry : entries) {
    cost::CopyCurve curve;
    COUPLET_TRY_VALUE(const std::size_t way, word_of(entry, "way", copy_ways));
    curve.way = static_cast<cost::CopyWay>(way);
    COUPLET_TRY(once.take(entry, fmt::format("{} copies", copy_ways[way])));
    COUPLET_TRY_VALUE(curve.times, points_of(entry));
    costs.copies.push_back(std::move(curve));
  }
  return {};
}

Status read_collectives(const Place& file, cost::MachineCosts& costs) {
  std::array<std::string_view, 10> calls{};
  for (std::size_t kind = 0; kind < calls.size(); ++kind)
    calls[kind] = name_of(static_cast<cost::Collective>(kind + 1));
  std::array<std::string_view, cost::method_count - 1> methods{};
  for (std::size_t one = 0; one < methods.size(); ++one) methods[one] = name_of(static_cast<cost::Method>(one + 1));
  COUPLET_TRY_VALUE(const auto entries, file.list("collectives", 0, max_curves));
  Once once;
  for (const Place& entry : entries) {
    cost::CollectiveCurve curve;
    COUPLET_TRY_VALUE(const std::size_t call, word_of(entry, "call", calls));
    COUPLET_TRY_VALUE(const std::size_t method, word_of(entry, "method", methods));
    COUPLET_TRY_VALUE(const std::uint64_t members, entry.count("members", 1, max_members));
    COUPLET_TRY_VALUE(const std::uint64_t systems, entry.count("systems", 1, members));
    curve.call = static_cast<cost::Collective>(call + 1);
    curve.method = static_cast<cost::Method>(method + 1);
    curve.members = static_cast<std::int32_t>(members);
    curve.systems = static_cast<std::int32_t>(systems);
    if (!is_possible(curve.method, {.kind = curve.call})) {
      return entry.mistake("has the method \"{}\", which \"{}\" does not have", methods[method], calls[call]);
    }
    COUPLET_TRY(once.take(
        entry, fmt::format("{} by {}, {} members on {} systems", calls[call], methods[method], members, systems)));
    COUPLET_TRY_VALUE(curve.times, points_of(entry));
    costs.collectives.push_back(std::move(curve));
  }
  if (const auto pieces = method_pieces(costs).size(); pieces > cost::max_method_pieces) {
    return file.mistake(
        "leads to {} choices of collective methods; at most {} are possible: leave out some curves of "
        "\"collectives\"",
        pieces, cost::max_method_pieces);
  }
  return {};
}

Status read_exchanges(const Place& file, cost::MachineCosts& costs) {
  COUPLET_TRY_VALUE(const auto entries, file.list("exchanges", 0, max_curves));
  Once once;
  for (const Place& entry : entries) {
    cost::ExchangeCurve curve;
    COUPLET_TRY_VALUE(curve.method, entry.text("method"));
    COUPLET_TRY(once.take(entry, fmt::format("method \"{}\"", curve.method)));
    COUPLET_TRY_VALUE(curve.times, points_of(entry));
    costs.exchanges.push_back(std::move(curve));
  }
  return {};
}

Status read_machine(const Place& file, cost::MachineCosts& costs) {
  COUPLET_TRY_VALUE(const Place machine, file.member("machine"));
  COUPLET_TRY_VALUE(costs.machine, machine.text("name"));
  COUPLET_TRY_VALUE(const auto hosts, machine.list("hosts", 0, max_hosts));
  for (const Place& host : hosts) {
    if (!host.value->is_string()) return host.mistake("has to be a text, not {}", host.shown());
    costs.hosts.push_back(host.value->get<std::string>());
  }
  return {};
}

Result<cost::MachineCosts> checked(std::string_view text) {
  const Json json = json_depth(text) > max_json_depth ? Json() : Json::parse(text, nullptr, false);
  const Place file{&json, ""};
  if (json_depth(text) > max_json_depth) return file.mistake("is nested more than {} levels deep", max_json_depth);
  if (json.is_discarded()) return file.mistake("is not JSON");
  COUPLET_TRY_VALUE(const std::string schema, file.text("schema"));
  if (schema != schema_name) return file.mistake("is a \"{}\", not a \"{}\"", schema, schema_name);
  COUPLET_TRY_VALUE(const Place version, file.member("version"));
  if (*version.value != schema_version) {
    return file.mistake("has the schema version {}, and this Couplet reads version {}", version.shown(),
                        schema_version);
  }
  cost::MachineCosts costs;
  COUPLET_TRY(read_machine(file, costs));
  COUPLET_TRY(read_links(file, costs));
  COUPLET_TRY(read_copies(file, costs));
  COUPLET_TRY(read_collectives(file, costs));
  COUPLET_TRY(read_exchanges(file, costs));
  return costs;
}

// Returns not_found if there is no such file.
Result<std::string> read_file(const std::string& path) {
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe is not waited for
  if (!file) return os::system_failure(errno, "the file cannot be read");
  struct stat information {};
  if (::fstat(file.number(), &information) != 0) return os::system_failure(errno, "the file cannot be read");
  if (!S_ISREG(information.st_mode)) return fail(Code::config, "it is not a file");
  if (static_cast<std::size_t>(information.st_size) > max_cost_file_bytes) {
    return fail(Code::config, "the file has {} bytes; at most {} are possible", information.st_size,
                max_cost_file_bytes);
  }
  std::string text(static_cast<std::size_t>(information.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto count =
        os::retry_interrupted([&] { return ::read(file.number(), text.data() + done, text.size() - done); });
    if (count < 0) return os::system_failure(errno, "the file cannot be read");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

std::string other_machine(const cost::MachineCosts& costs, const CostRequest& request, const std::string& path) {
  const auto& hosts = costs.hosts;
  if (!request.machine.empty() && request.machine != costs.machine) {
    return fmt::format(
        "cost file {} was measured on machine '{}', and this is machine '{}' (setting machine): its numbers may not "
        "hold here",
        path, costs.machine, request.machine);
  }
  if (!request.machine.empty() || hosts.empty()) return {};
  if (std::find(hosts.begin(), hosts.end(), request.host) != hosts.end()) return {};
  return fmt::format(
      "cost file {} was measured on machine '{}', and host '{}' is not one of its {} hosts: its numbers may not hold "
      "here; set COUPLET_MACHINE={} if it is the same machine",
      path, costs.machine, request.host, hosts.size(), costs.machine);
}

}  // namespace

std::string KnownCosts::origin() const {
  return path.empty() ? std::string() : fmt::format("cost file {} of machine '{}'", path, costs.machine);
}

Result<cost::MachineCosts> costs_from_json(std::string_view text, const std::string& path) {
  auto costs = checked(text);
  if (costs.ok()) return costs;
  return fail(Code::config, "cost file {}: {}{}", path, costs.status().text(), what_to_do);
}

std::string default_cost_path() {
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && *folder == '/') {
    return std::string(folder) + "/couplet/cost.json";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.config/couplet/cost.json" : std::string();
}

Result<KnownCosts> load_costs(const CostRequest& request) {
  KnownCosts known;
  if (request.file == no_cost_file) {
    known.why = "the setting cost_file is none";
    return known;
  }
  const bool is_named = !request.file.empty();
  const std::string path = is_named ? request.file : default_cost_path();
  if (path.empty()) {
    known.why = "there is no default place: HOME and XDG_CONFIG_HOME are not set";
    return known;
  }
  const auto text = read_file(path);
  if (!is_named && text.status().code() == Code::not_found) {
    known.why = fmt::format("there is no file {}", path);
    return known;
  }
  auto costs = text.ok() ? costs_from_json(*text, path) : Result<cost::MachineCosts>(text.status());
  if (!text.ok()) costs = fail(Code::config, "cost file {}: {}{}", path, text.status().text(), what_to_do);
  if (!costs.ok() && is_named) return costs.status();
  if (!costs.ok()) {
    known.why = "it is left out";
    known.warning = costs.status().text();
    return known;
  }
  known.costs = std::move(*costs);
  known.path = path;
  known.why = is_named ? "the setting cost_file" : "it lies in the default place";
  known.warning = other_machine(known.costs, request, path);
  return known;
}

}  // namespace couplet::runtime
