// usage: actor PROGRAM RANK SIZE LIFE SEED NUMBER SCRIPT HISTORY      see actor.hpp; lines of the script: docs/chaos.md
// As a rank of an MPI job it gets the same arguments.
// Exit status: 0 the script was carried out, whatever the calls returned; 2 wrong arguments; 3 no memory for the
// actor's own buffers; 4 the history cannot be written.
#include <fstream>
#include <new>
#include <thread>

#include "actor.hpp"
#include "job.hpp"

namespace chaos {

void Actor::join(const Action& action) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.rank = self_.rank;
  options.size = self_.size;
  options.timeout_s = action.real("timeout", 20);
  const double patience_s = action.real("patience", 20);
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  for (;;) {
    history_.begin("join", piece(",\"timeout\":%.3f", options.timeout_s));
    const auto status = history_.end(join_universe(self_.program, options, &universe_));
    if (status == COUPLET_OK) {
      couplet_universe_group(universe_, &everybody_);
      return;
    }
    universe_ = nullptr;
    const auto spent_s = static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - begun) / 1e9;
    // Its former life may not be known as dead yet; the hub may be about to come back.
    if ((status != COUPLET_ERROR_EXISTS && status != COUPLET_ERROR_HUB_LOST) || spent_s > patience_s) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

void Actor::leave(const Action& action) {
  for (auto& [handle, opened] : opened_) {
    close_one(handle, opened.series);
  }
  for (auto& [name, written] : written_) {
    close_one(name, written.series);
  }
  opened_.clear();
  written_.clear();
  history_.begin("leave", "");
  history_.end(couplet_leave(universe_));
  universe_ = nullptr;
  areas_.clear();
  tasks_.clear();
  groups_.forget();
  flows_.clear();
  if (const double pause_s = action.real("pause", 0); pause_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
  }
}

// Computes, or sleeps: makes no call of the library.
void Actor::idle(const Action& action) {
  const double seconds = action.real("s", 1);
  history_.begin("idle", piece(",\"seconds\":%.3f", seconds));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  history_.end(COUPLET_OK);
}

void Actor::carry_out(const Action& action) {
  static const std::map<std::string, void (Actor::*)(const Action&)> verbs = {
      {"create", &Actor::create},
      {"put", &Actor::put},
      {"open", &Actor::open},
      {"read", &Actor::read},
      {"close", &Actor::close},
      {"send", &Actor::send},
      {"receive", &Actor::receive},
      {"create_area", &Actor::create_area},
      {"open_area", &Actor::open_area},
      {"open_tasks", &Actor::open_tasks},
      {"submit", &Actor::submit},
      {"work", &Actor::work},
      {"close_tasks", &Actor::close_tasks},
      {"leave", &Actor::leave},
  };
  if (action.verb() == "idle") {
    idle(action);
  } else if (action.verb() == "join") {
    join(action);
  } else if (universe_ == nullptr) {
    history_.write("o", action.verb().c_str(), ",\"why\":\"not joined\"");
  } else if (action.verb() == "meet") {
    groups_.meet(universe_, action);
  } else if (action.verb() == "read_area" || action.verb() == "write_area") {
    use_area(action, action.verb() == "write_area");
  } else if (const auto found = verbs.find(action.verb()); found != verbs.end()) {
    (this->*found->second)(action);
  } else {
    history_.write("o", action.verb().c_str(), ",\"why\":\"no such verb\"");
  }
}

}  // namespace chaos

int main(int count, char** arguments) {
  if (count != 9) {
    std::fputs("usage: actor PROGRAM RANK SIZE LIFE SEED NUMBER SCRIPT HISTORY\n", stderr);
    return 2;
  }
  chaos::Self self;
  self.program = arguments[1];
  self.rank = std::atoi(arguments[2]);
  self.size = std::atoi(arguments[3]);
  self.life = std::strtoull(arguments[4], nullptr, 10);
  self.seed = std::strtoull(arguments[5], nullptr, 10);
  self.number = std::strtoull(arguments[6], nullptr, 10);
  std::vector<chaos::Action> actions;
  std::ifstream script(arguments[7]);
  for (std::string line; std::getline(script, line);) {
    actions.emplace_back(line);
  }
  chaos::History history(arguments[8]);
  if (!history.opened() || actions.empty()) {
    return 4;
  }
  history.write("o", "start", chaos::piece(",\"pid\":%d", ::getpid()));
  chaos::begin_job(self.program, self.rank);
  chaos::Actor actor(self, history);
  try {
    for (const auto& action : actions) {
      actor.carry_out(action);
    }
  } catch (const std::bad_alloc&) {
    history.write("o", "stop", ",\"why\":\"no memory for the actor's own buffers\"");
    std::_Exit(3);
  }
  history.write("o", "stop", "");
  chaos::end_job();
  return 0;
}
