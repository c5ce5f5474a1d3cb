#include "clients.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace bloodflow {
namespace {

// Numbers of a check are sent in this unit.
constexpr double unit = 1.0 / (1LL << 40);
constexpr double max_stable_speed = 0.4;

std::int64_t fixed(double value) {
  return std::llround(value / unit);
}

enum Sum { mass_excess, inward, outward, sum_count };
enum Largest { speed, change, is_first, is_broken, largest_count };

}  // namespace

// ---- the monitor ----

Monitor::Monitor(const Flow& flow, const Values& values, std::uint64_t first_round, Stopwatch& watch)
    : flow_(flow), values_(values), first_round_(first_round), watch_(watch) {}

void Monitor::register_with(couplet::StepManager& manager, std::uint64_t every,
                            std::function<void(const Check&)> take) {
  manager.add_reduction<std::int64_t>(
      {.name = "sums", .every = every}, COUPLET_OPERATION_SUM, sum_count, true,
      [this](std::uint64_t /*round*/, std::span<std::int64_t> sums) {
        const Stopwatch::Lap lap(watch_);
        sum(sums);
        return true;
      },
      [this](std::uint64_t began, std::uint64_t /*givers*/, std::span<const std::int64_t> sums) {
        check_.round = first_round_ + began;
        check_.mass_excess = unit * static_cast<double>(sums[mass_excess]);
        check_.inward = unit * static_cast<double>(sums[inward]);
        check_.outward = unit * static_cast<double>(sums[outward]);
      });
  manager.add_reduction<std::int64_t>(
      {.name = "largest", .every = every}, COUPLET_OPERATION_MAX, largest_count, true,
      [this](std::uint64_t /*round*/, std::span<std::int64_t> largest) {
        const Stopwatch::Lap lap(watch_);
        find_largest(largest);
        return true;
      },
      [this, take = std::move(take)](std::uint64_t began, std::uint64_t /*givers*/,
                                     std::span<const std::int64_t> largest) {
        check_.max_speed = unit * static_cast<double>(largest[speed]);
        check_.has_change = largest[is_first] == 0;
        check_.max_change = unit * static_cast<double>(largest[change]);
        if (largest[is_broken] != 0 || check_.max_speed > max_stable_speed) {
          throw std::runtime_error("the flow was not stable in round " + std::to_string(first_round_ + began) +
                                   ": a lower inflow or a higher viscosity helps");
        }
        take(check_);
      });
}

void Monitor::sum(std::span<std::int64_t> sums) const {
  std::fill(sums.begin(), sums.end(), 0);
  for (std::size_t number = 0; number < values_.sites.size(); ++number) {
    const Site& site = flow_.vessel.sites()[values_.sites[number]];
    const Moments m = moments(values_.of(number));
    if (!std::isfinite(m.density) || std::abs(m.density) > 100) continue;  // the other reduction tells
    sums[mass_excess] += fixed(m.density - 1);
    if (site.x == 0) sums[inward] += fixed(m.density * m.velocity.x);
    if (site.x == flow_.vessel.extent().x - 1) sums[outward] += fixed(m.density * m.velocity.x);
  }
}

void Monitor::find_largest(std::span<std::int64_t> largest) {
  std::fill(largest.begin(), largest.end(), 0);
  const bool has_last = sites_ == values_.sites;
  if (!has_last) {
    sites_ = values_.sites;
    speeds_.assign(sites_.size(), 0);
    largest[is_first] = 1;
  }
  for (std::size_t number = 0; number < sites_.size(); ++number) {
    const Vector u = moments(values_.of(number)).velocity;
    const double now = std::sqrt(dot(u, u));
    if (!std::isfinite(now) || now > 100) {
      largest[is_broken] = 1;
      continue;
    }
    largest[speed] = std::max(largest[speed], fixed(now));
    largest[change] = std::max(largest[change], fixed(std::abs(now - speeds_[number])));
    speeds_[number] = now;
  }
}

// ---- steering ----

std::vector<Command> read_commands(const std::string& text) {
  std::vector<Command> commands;
  std::istringstream all(text);
  for (std::string word; std::getline(all, word, ',');) {
    std::istringstream one(word);
    Command command;
    char first = 0;
    char second = 0;
    one >> command.round >> first >> command.inflow >> second >> command.angle;
    if (!one || first != ':' || second != ':' || !(one >> std::ws).eof()) {
      throw std::invalid_argument("a command must be round:inflow:angle, not " + word);
    }
    commands.push_back(command);
  }
  return commands;
}

Steering::Steering(Flow& flow, std::vector<Command> pending, std::vector<Command> own_commands,
                   std::uint64_t first_round)
    : flow_(flow), pending_(std::move(pending)), own_commands_(std::move(own_commands)), first_round_(first_round) {}

void Steering::register_with(couplet::StepManager& manager, std::int32_t root) {
  manager.add("steering", *this);
  manager.add_broadcast<double>(
      {.name = "commands", .root = root}, 3,
      [this](std::uint64_t round, std::span<double> value) -> std::optional<std::size_t> {
        const auto command = next(first_round_ + round);
        if (!command) return std::nullopt;
        value[0] = static_cast<double>(command->round);
        value[1] = command->inflow;
        value[2] = command->angle;
        return 3;
      },
      [this](std::uint64_t /*began*/, std::span<const double> value) {
        pending_.push_back({static_cast<std::uint64_t>(value[0]), value[1], value[2]});
      });
}

// One command in a round. What was commanded for rounds before the first one is in the state from which the run began.
std::optional<Command> Steering::next(std::uint64_t round) {
  for (auto one = own_commands_.begin(); one != own_commands_.end(); ++one) {
    if (one->round > round + delay || one->round <= first_round_) continue;
    const Command command = *one;
    own_commands_.erase(one);
    return command;
  }
  return std::nullopt;
}

void Steering::end_round(const couplet::Moment& moment) {
  const std::uint64_t next_round = first_round_ + moment.round + 1;
  std::erase_if(pending_, [&](const Command& command) {
    if (command.round > next_round) return false;
    flow_.wanted_inflow = command.inflow;
    flow_.angle = command.angle;
    return true;
  });
}

// ---- frames ----

void FrameSender::register_with(couplet::StepManager& manager, std::int32_t viewer) {
  manager_ = &manager;
  const std::int32_t client = manager.add("frames", *this);
  const auto size = static_cast<std::int64_t>(image_.size());
  const couplet::RequestTerms terms = {.peer = viewer, .title = "frame", .is_optional = true};
  request_ = manager.send(client, terms, image_.data(), {{size}, {0}, {size}});
}

void FrameSender::put(const Frame& frame) {
  image_[0] = static_cast<std::int64_t>(frame.round);
  image_[1] = std::llround(1000 * frame.angle);
  std::copy(frame.speed.begin(), frame.speed.end(), image_.begin() + head);
  std::copy(frame.wall.begin(), frame.wall.end(),
            image_.begin() + head + static_cast<std::ptrdiff_t>(frame.speed.size()));
  has_frame_ = true;
}

void FrameSender::fill(const couplet::Moment& /*moment*/) {
  if (!has_frame_) return;
  manager_->set_length(request_, image_.size() * sizeof(image_[0]));
  has_frame_ = false;
}

// ---- states ----

namespace {

constexpr std::uint64_t magic = 0x31574F4C46424C42;

// The head of a file, which is followed by the commands, the sites, their values, and a sum of all bytes.
struct Head {
  std::uint64_t magic = 0, round = 0;
  double inflow = 0, wanted_inflow = 0, angle = 0;
  std::int64_t rank_count = 0, command_count = 0, site_count = 0;
};

std::string name_of(std::uint64_t round, std::int32_t rank) {
  return "round-" + std::to_string(round) + ".rank-" + std::to_string(rank);
}

std::uint64_t sum_of(std::span<const char> bytes) {
  std::uint64_t hash = bytes.size();
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  return hash;
}

template <typename T>
void append(std::vector<char>& bytes, const T* data, std::size_t count) {
  const auto* const first = reinterpret_cast<const char*>(data);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

template <typename T>
bool extract(const std::vector<char>& bytes, std::size_t& at, T* data, std::size_t count) {
  if (bytes.size() - at < count * sizeof(T)) return false;
  std::copy_n(bytes.data() + at, count * sizeof(T), reinterpret_cast<char*>(data));
  at += count * sizeof(T);
  return true;
}

struct Part {
  Head head;
  std::vector<Command> commands;
  Values values;
};

std::optional<Part> read_part(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Part part;
  std::size_t at = 0;
  if (!extract(bytes, at, &part.head, 1) || part.head.magic != magic) return std::nullopt;
  const auto limit = static_cast<std::int64_t>(bytes.size());
  const Head& head = part.head;
  if (head.command_count < 0 || head.command_count > limit || head.site_count < 0 || head.site_count > limit) {
    return std::nullopt;
  }
  part.commands.resize(head.command_count);
  part.values.sites.resize(head.site_count);
  part.values.f.resize(head.site_count * directions);
  std::uint64_t sum = 0;
  if (!extract(bytes, at, part.commands.data(), part.commands.size()) ||
      !extract(bytes, at, part.values.sites.data(), part.values.sites.size()) ||
      !extract(bytes, at, part.values.f.data(), part.values.f.size())) {
    return std::nullopt;
  }
  const std::size_t end = at;
  if (!extract(bytes, at, &sum, 1) || sum != sum_of({bytes.data(), end})) return std::nullopt;
  return part;
}

}  // namespace

Keeper::Keeper(const Flow& flow, const Values& values, const Steering& steering, std::filesystem::path folder,
               std::uint64_t every, std::uint64_t first_round, std::int32_t rank, std::int32_t rank_count)
    : flow_(flow),
      values_(values),
      steering_(steering),
      folder_(std::move(folder)),
      every_(every),
      first_round_(first_round),
      rank_(rank),
      rank_count_(rank_count) {}

void Keeper::end_round(const couplet::Moment& moment) {
  const std::uint64_t next = first_round_ + moment.round + 1;
  if (next % every_ != 0) return;
  std::filesystem::create_directories(folder_);
  const std::vector<Command>& pending = steering_.pending();
  const Head head = {.magic = magic,
                     .round = next,
                     .inflow = flow_.inflow,
                     .wanted_inflow = flow_.wanted_inflow,
                     .angle = flow_.angle,
                     .rank_count = rank_count_,
                     .command_count = static_cast<std::int64_t>(pending.size()),
                     .site_count = static_cast<std::int64_t>(values_.sites.size())};
  std::vector<char> bytes;
  append(bytes, &head, 1);
  append(bytes, pending.data(), pending.size());
  append(bytes, values_.sites.data(), values_.sites.size());
  append(bytes, values_.f.data(), values_.sites.size() * directions);
  const std::uint64_t sum = sum_of(bytes);
  append(bytes, &sum, 1);
  // A rank that is killed here leaves no file of that name.
  const std::filesystem::path temporary = folder_ / (name_of(next, rank_) + ".new");
  std::ofstream file(temporary, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw std::runtime_error("the state of round " + std::to_string(next) + " cannot be written to " +
                             temporary.string());
  std::filesystem::rename(temporary, folder_ / name_of(next, rank_));
  if (next > 2 * every_) std::filesystem::remove(folder_ / name_of(next - 2 * every_, rank_));
}

std::optional<State> load(const std::filesystem::path& folder, Values& values) {
  std::map<std::uint64_t, std::map<std::int32_t, std::filesystem::path>, std::greater<>> files;
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::istringstream name(entry.path().filename().string());
    std::uint64_t round = 0;
    std::int32_t rank = 0;
    std::string word;
    if (std::getline(name, word, '-') && word == "round" && name >> round && std::getline(name, word, '-') &&
        word == ".rank" && name >> rank && name.peek() == std::istringstream::traits_type::eof()) {
      files[round][rank] = entry.path();
    }
  }
  for (const auto& [round, paths] : files) {
    std::vector<Part> parts;
    for (const auto& [rank, path] : paths) {
      if (auto part = read_part(path); part && part->head.round == round) parts.push_back(std::move(*part));
    }
    if (parts.empty() || static_cast<std::int64_t>(parts.size()) != parts.front().head.rank_count) continue;
    std::map<std::int32_t, const double*> where;
    for (const Part& part : parts) {
      for (std::size_t n = 0; n < part.values.sites.size(); ++n) where[part.values.sites[n]] = part.values.of(n);
    }
    const auto missing = [&](std::int32_t site) { return !where.contains(site); };
    if (std::any_of(values.sites.begin(), values.sites.end(), missing)) continue;
    for (std::size_t n = 0; n < values.sites.size(); ++n) {
      std::copy_n(where[values.sites[n]], directions, values.f.begin() + static_cast<std::ptrdiff_t>(n) * directions);
    }
    const Head& head = parts.front().head;
    return State{round, head.inflow, head.wanted_inflow, head.angle, parts.front().commands};
  }
  return std::nullopt;
}

}  // namespace bloodflow
