// A member of a universe that does what it is told, line by line, and says what came of it: for tests/universe.
// usage: member PROGRAM [RANK SIZE] [--timeout S] [--relay]
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "runtime/control_lanes.hpp"
#include "universe/join.hpp"

namespace {

using namespace couplet;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string words(const Status& status) {
  if (status.ok()) {
    return "ok";
  }
  return std::string(code_name(static_cast<couplet_status>(status.code()))) + " " + status.text();
}

universe::SeriesRecord record_of(universe::Membership& member, const std::string& name) {
  universe::SeriesRecord record;
  record.name = name;
  record.program = member.programs()[static_cast<std::size_t>(member.program())].name;
  record.type = COUPLET_DOUBLE;
  record.shape = {4};
  record.slots = 2;
  universe::SeriesPart part;
  part.writer = member.id();
  part.node = member.node();
  part.box = {1, {0}, {4}};
  part.file = "series-" + name;
  record.parts.push_back(part);
  return record;
}

class Session {
 public:
  explicit Session(std::unique_ptr<universe::Membership> member)
      : member_(std::move(member)), engine_(member_->doorbell(), {}) {
    static_cast<void>(member_->attach(&engine_));
    member_->on_lost(
        [this](channel::PeerId id, const Status& why) { losses_.push_back(std::to_string(id) + " " + why.text()); });
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { static_cast<void>(member_->attach(nullptr)); }

  bool command(std::istringstream& line) {
    std::string word;
    std::string name;
    double number = 0;
    line >> word;
    auto& registry = member_->registry();
    const auto soon = os::deadline_after(10);
    if (word == "leave") {
      say("left " + words(member_->leave(soon)));
      return false;
    }
    if (word == "lost") {
      const auto status =
          engine_.wait([&] { return !losses_.empty(); }, os::deadline_after(20), [] { return "a loss"; });
      say(status.ok() ? "lost " + losses_.front() : words(status));
      if (status.ok()) {
        losses_.erase(losses_.begin());
      }
    } else if (word == "alive") {
      line >> number;
      say("alive " + words(member_->alive(static_cast<channel::PeerId>(number))));
    } else if (word == "hub") {
      const auto status =
          engine_.wait([&] { return !member_->hub().ok(); }, os::deadline_after(20), [] { return "the hub's end"; });
      say(status.ok() ? "hub " + words(member_->hub()) : words(status));
    } else if (word == "announce") {
      line >> name;
      const auto record = registry.announce(record_of(*member_, name), soon);
      say(record.ok() ? "announced " + std::to_string(record->incarnation) : words(record.status()));
    } else if (word == "find") {
      line >> name >> number;
      const auto record = registry.find(name, -1, os::deadline_after(number));
      say(record.ok() ? "found " + record->name + " of " + record->program + (record->closed ? " closed" : "")
                      : words(record.status()));
    } else if (word == "opened" || word == "closed" || word == "written") {
      line >> name;
      const auto status = word == "opened"   ? registry.reader_opened(name, soon)
                          : word == "closed" ? registry.reader_closed(name, soon)
                                             : registry.writer_closed(name, soon);
      say(word + " " + words(status));
    } else if (word == "news") {
      line >> name >> number;
      const auto known = [&] { return registry.news(name).incarnation >= static_cast<std::int64_t>(number); };
      const auto status = engine_.wait(known, os::deadline_after(20), [] { return "news"; });
      say("news " + words(status));
    } else if (word == "setting") {
      line >> name;
      say("setting " + member_->setting(name));
    } else if (word == "relay_of") {
      line >> number;
      const auto relay = registry.relay_of(static_cast<std::uint16_t>(number), os::deadline_after(1));
      say(relay.ok() ? "relay " + std::to_string(*relay) : words(relay.status()));
    } else {
      say("unknown " + word);
    }
    return true;
  }

 private:
  std::unique_ptr<universe::Membership> member_;
  engine::Engine engine_;
  std::vector<std::string> losses_;
};

}  // namespace

int main(int count, char** arguments) {
  universe::JoinWishes wishes;
  bool relay = false;
  std::vector<std::string> plain;
  for (int index = 1; index < count; ++index) {
    const std::string word = arguments[index];
    if (word == "--timeout") {
      wishes.timeout_s = std::stod(arguments[++index]);
      wishes.timeout_given = true;
    } else if (word == "--relay") {
      relay = true;
    } else {
      plain.push_back(word);
    }
  }
  wishes.program = plain.empty() ? std::string("relay") : plain[0];
  if (plain.size() == 3) {
    wishes.rank = std::stoi(plain[1]);
    wishes.size = std::stoi(plain[2]);
  }
  auto options = universe::join_options(wishes);
  if (!options.ok()) {
    say("error " + words(options.status()));
    return 1;
  }
  options->relay = relay;
  options->make_lane = runtime::tcp_control_lanes();
  options->note = [](const std::string& text) { say("note " + text); };
  options->listen = [](const os::Endpoint& local) -> Result<os::Endpoint> {
    auto endpoint = local;
    endpoint.port = 4711;
    return endpoint;
  };
  auto member = universe::join(std::move(*options));
  if (!member.ok()) {
    say("error " + words(member.status()));
    return 1;
  }
  const auto& self = (*member)->peer((*member)->id());
  say(fmt::format("joined {} {} {} {} {}", (*member)->id(), (*member)->size(), self.incarnation, self.node,
                  (*member)->node_directory()));
  Session session(std::move(*member));
  std::string text;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    if (!session.command(line)) {
      return 0;
    }
  }
  return 0;
}
