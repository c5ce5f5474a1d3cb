#include "support/series_world.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/assert.hpp"
#include "os/clock.hpp"
#include "support/fake_window.hpp"
#include "universe/hub/openers.hpp"

namespace couplet::testing {

using nlohmann::json;
using universe::SeriesRecord;

SeriesWorld::SeriesWorld()
    : own_directory_(std::make_unique<test::SharedDirectory>()), directory_(own_directory_->path()) {}

std::vector<std::string> SeriesWorld::series_files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().filename().string().starts_with("series-")) {
      names.push_back(entry.path().filename());
    }
  }
  return names;
}

// ---- register ----

namespace {

json to_json(const SeriesRecord& record) {
  json parts = json::array();
  for (const auto& part : record.parts) {
    json fields = json::array();
    for (const auto& boxes : part.boxes) {
      json list = json::array();
      for (const auto& box : boxes) {
        list.push_back({{"dimensions", box.dimensions}, {"start", box.start}, {"stop", box.stop}});
      }
      fields.push_back(list);
    }
    parts.push_back({{"writer", part.writer}, {"node", part.node}, {"boxes", fields}, {"file", part.file}});
  }
  json fields = json::array();
  for (const auto& field : record.fields) {
    fields.push_back({{"name", field.name}, {"type", field.type}, {"shape", field.shape}});
  }
  return {{"name", record.name},
          {"program", record.program},
          {"fields", fields},
          {"slots", record.slots},
          {"incarnation", record.incarnation},
          {"creation", record.creation},
          {"required", record.required_readers},
          {"closed", record.closed},
          {"parts", parts}};
}

SeriesRecord from_json(const json& value) {
  SeriesRecord record;
  record.name = value.at("name");
  record.program = value.at("program");
  for (const auto& field : value.at("fields")) {
    record.fields.push_back({field.at("name"), field.at("type"), field.at("shape").get<std::vector<std::int64_t>>()});
  }
  record.slots = value.at("slots");
  record.incarnation = value.at("incarnation");
  record.creation = value.at("creation");
  record.required_readers = value.at("required").get<std::vector<std::string>>();
  record.closed = value.at("closed");
  for (const auto& part : value.at("parts")) {
    universe::SeriesPart out;
    out.writer = part.at("writer");
    out.node = part.at("node");
    for (const auto& boxes : part.at("boxes")) {
      auto& list = out.boxes.emplace_back();
      for (const auto& box : boxes) {
        list.push_back({box.at("dimensions"), box.at("start"), box.at("stop")});
      }
    }
    out.file = part.at("file");
    record.parts.push_back(out);
  }
  return record;
}

std::optional<SeriesRecord> load(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return file ? std::optional(from_json(json::parse(text.str()))) : std::nullopt;
}

void store(const std::string& path, const SeriesRecord& record) {
  const auto thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  const std::string temporary = fmt::format("{}.{}.{}", path, getpid(), thread);
  std::ofstream(temporary) << to_json(record);
  std::filesystem::rename(temporary, path);
}

}  // namespace

std::string FileRegistry::path(const std::string& name) const {
  return directory_ + "/" + name + ".record";
}

Result<SeriesRecord> FileRegistry::announce(const SeriesRecord& record, std::uint64_t) {
  SeriesRecord next = record;
  if (const auto old = load(path(record.name))) {
    if (!old->closed && alive_(old->parts.front().writer)) {
      return fail(Code::exists, "series '{}' is written by program '{}' already", record.name, old->program);
    }
    next.incarnation = old->incarnation + 1;
  }
  store(path(record.name), next);
  return next;
}

Result<SeriesRecord> FileRegistry::find(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns) {
  for (;;) {
    const auto record = load(path(name));
    if (record && static_cast<std::int64_t>(record->incarnation) > newer_than) {
      return *record;
    }
    if (os::now_ns() >= deadline_ns) {
      return Code::not_yet;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status FileRegistry::writer_closed(const std::string& name, std::uint64_t) {
  if (auto record = load(path(name))) {
    record->closed = true;
    store(path(name), *record);
  }
  return {};
}

// A file for each rank that has opened: <name>.opened.<incarnation>.<program>.<rank>, in which stands what it has said.
Status FileRegistry::reader_opened(const std::string& name, std::uint64_t incarnation,
                                   const universe::OpenerRanks& openers, std::uint64_t) {
  const std::string note = fmt::format("{}.opened.{}.{}.{}", name, incarnation, program_, self_);
  const std::string temporary = fmt::format("{}/new.{}", directory_, note);
  std::ofstream(temporary) << openers.count;
  std::filesystem::rename(temporary, directory_ + "/" + note);
  return {};
}

// A file for each rank that has withdrawn: <name>.withdrawn.<creation>.<rank>. Without writers the name is free.
void FileRegistry::withdraw(const std::string& name, std::uint64_t creation, std::uint64_t) {
  const auto note = [&](channel::PeerId rank) {
    return fmt::format("{}/{}.withdrawn.{}.{}", directory_, name, creation, rank);
  };
  std::ofstream(note(self_)).flush();
  const auto record = load(path(name));
  if (record && record->creation == creation &&
      std::all_of(record->parts.begin(), record->parts.end(), [&](const universe::SeriesPart& part) {
        return std::filesystem::exists(note(part.writer)) || !alive_(part.writer);
      })) {
    std::filesystem::remove(path(name));
  }
}

FileRegistry::News FileRegistry::news(const std::string& name) const {
  const auto record = load(path(name));
  if (!record) {
    return {};
  }
  News news{static_cast<std::int64_t>(record->incarnation), record->closed, {}};
  for (const auto& program : record->required_readers) {
    universe::Openers openers;
    const std::string prefix = fmt::format("{}.opened.{}.{}.", name, record->incarnation, program);
    for (const auto& each : std::filesystem::directory_iterator(directory_)) {
      const std::string file = each.path().filename();
      if (file.starts_with(prefix)) {
        std::int32_t said = 0;
        std::ifstream(each.path()) >> said;
        openers.opened(static_cast<channel::PeerId>(std::stoul(file.substr(prefix.size()))), said);
      }
    }
    if (openers.all_opened(SIZE_MAX, [](channel::PeerId) { return true; })) {
      news.opened.push_back(program);
    }
  }
  return news;
}

// ---- environment ----

FakeEnvironment::FakeEnvironment(const SeriesWorld& world, channel::PeerId self, std::string program,
                                 std::uint16_t incarnation)
    : world_(world),
      self_(self),
      program_(std::move(program)),
      incarnation_(incarnation),
      registry_(world.directory(), self, program_, [this](channel::PeerId peer) { return alive(peer, 0).ok(); }) {
  auto life = os::LifeLock::take(life_path(self, incarnation));
  COUPLET_ASSERT(life.ok());
  life_ = std::move(life).value();
  if (world.job) {
    window_ = open_fake_window(world.job, self);
  }
}

std::string FakeEnvironment::life_path(channel::PeerId peer, std::uint16_t incarnation) const {
  return fmt::format("{}/life-{}-{}", world_.directory(), peer, incarnation);
}

std::string FakeEnvironment::setting(std::string_view key) const {
  const auto found = world_.settings.find(key);
  return found == world_.settings.end() ? std::string() : found->second;
}

Status FakeEnvironment::alive(channel::PeerId peer, std::uint16_t incarnation) {
  if (os::is_locked(life_path(peer, incarnation))) {
    return {};
  }
  return fail(Code::peer_lost, "{} is gone", peer_name(peer));
}

Status FakeEnvironment::program_alive(std::string_view program) {
  if (program == unknown_program) {
    return fail(Code::not_found, "there is no program '{}' in this universe", program);
  }
  if (program == gone_program) {
    return fail(Code::peer_lost, "program '{}' is gone", program);
  }
  return hub_gone ? fail(Code::hub_lost, "the hub is lost") : Status();
}

Result<std::uint64_t> FakeEnvironment::between_slices() {
  ++slices;
  if (interrupt) {
    return Code::not_yet;
  }
  if (interrupt_now) {
    return Code::interrupted;
  }
  return series::longest_slice_ns;
}

// ---- teams of threads ----

Result<std::vector<std::string>> ThreadTeam::gather(const std::string& bytes, std::uint64_t) {
  std::unique_lock lock(room_.mutex);
  const std::uint64_t round = room_.round;
  room_.words[static_cast<std::size_t>(rank_)] = bytes;
  if (++room_.arrived == room_.size) {
    room_.result = room_.words;
    room_.arrived = 0;
    ++room_.round;
    room_.changed.notify_all();
  } else if (!room_.changed.wait_for(lock, std::chrono::seconds(60), [&] { return room_.round != round; })) {
    return fail(Code::timeout, "a member of the team did not come");
  }
  return room_.result;
}

Status ThreadTeam::minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) {
  std::string bytes(values.size_bytes(), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  COUPLET_TRY_VALUE(const auto all, gather(bytes, deadline_ns));
  for (const auto& other : all) {
    COUPLET_ASSERT(other.size() == bytes.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
      std::int64_t value = 0;
      std::memcpy(&value, other.data() + index * sizeof value, sizeof value);
      values[index] = std::min(values[index], value);
    }
  }
  return {};
}

}  // namespace couplet::testing
