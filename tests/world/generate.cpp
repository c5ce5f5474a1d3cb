// Makes a plan from a seed: which programs are coupled, over what, and which faults they meet.
#include <algorithm>

#include "base/random.hpp"
#include "plan.hpp"

namespace world {
namespace {

using couplet::Random;

// Seeds below this one keep the worlds that docs/chaos.md and mutants/mutants.toml name.
constexpr std::uint64_t first_seed_with_tasks = 5'500;
constexpr std::uint64_t first_seed_with_new_creations = 50'000'000;
constexpr std::uint64_t first_seed_with_returns = 52'000'000;
constexpr std::uint64_t first_seed_with_mixed_rounds = 53'000'000;
constexpr std::uint64_t first_seed_with_leaders = 54'000'000;

Action make(const std::string& verb, const std::string& object, std::map<std::string, std::string> values = {}) {
  return {verb, object, std::move(values)};
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

std::string milliseconds(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(value) / 1e3);
  return text;
}

void add_program(Plan& plan, const std::string& program, int size, int node, const std::vector<Action>& script) {
  for (int rank = 0; rank < size; ++rank) {
    plan.roles.push_back({program, rank, size, node, script});
  }
}

// Makes a reader one that polls or has little time for each read, that wants several steps at once, or one of several.
// It has random numbers of its own, so that all else of a world stays as it was before there were such readers.
void vary_reading(Action& open, std::map<std::string, std::string>& how, std::uint64_t slots, Random& random) {
  const char* const timeouts[] = {"0", "0", "0.001", "0.02"};
  if (random.chance(0.5)) {
    how["timeout"] = timeouts[random.below(4)];
  }
  if (random.chance(0.15)) {
    open.values["every"] = number(random.between(2, 3));
  } else if (slots >= 2 && random.chance(0.15)) {
    how["at_least"] = "2";
    how["up_to"] = number(random.between(2, 4));
  }
}

// A writer and one or two reading programs.
void add_series(Plan& plan, Random& random, Random& variety) {
  const int writer_node = static_cast<int>(random.below(2));
  const auto steps = random.between(3, 25);
  const int readers = random.chance(0.3) ? 2 : 1;
  const auto slots = random.between(1, 6);
  std::map<std::string, std::string> made = {{"slots", number(slots)}};
  if (random.chance(0.7)) {
    made["required"] = readers == 2 && random.chance(0.5) ? "reader,second" : "reader";
  }
  const auto put_pause = random.chance(0.5) ? random.below(50) : random.below(400);
  std::vector<Action> writes = {make("join", ""), make("create", "eta", made),
                                make("put", "eta",
                                     {{"steps", number(steps)},
                                      {"pause", milliseconds(put_pause)},
                                      {"claim", number(random.below(2))},
                                      {"stride", number(random.chance(0.8) ? 1 : 10)}})};
  if (random.chance(0.3)) {
    writes.push_back(make("close", "eta"));
  }
  writes.push_back(make("leave", ""));
  add_program(plan, "writer", random.chance(0.3) ? 2 : 1, writer_node, writes);
  for (int reader = 0; reader < readers; ++reader) {
    std::vector<Action> reads = {make("join", "")};
    if (random.chance(0.3)) {
      reads.push_back(make("idle", "", {{"s", milliseconds(random.below(3000))}}));
    }
    reads.push_back(make("open", "eta", {{"mode", random.chance(0.7) ? "hold" : "follow"}}));
    std::map<std::string, std::string> how = {{"up_to", number(random.between(1, 4))},
                                              {"timeout", random.chance(0.3) ? "0.1" : "1"}};
    if (random.chance(0.3)) {
      how["pause"] = milliseconds(random.below(200));
    }
    vary_reading(reads.back(), how, slots, variety);
    reads.push_back(make("read", "eta", how));
    if (random.chance(0.3)) {
      reads.push_back(make("close", "eta"));
    }
    reads.push_back(make("leave", ""));
    const int node = random.chance(0.5) ? writer_node : 1 - writer_node;
    const int team = random.chance(0.3) ? 5 : 2;  // five: the ranks of a tree with one that is neither root nor leaf
    add_program(plan, reader == 0 ? "reader" : "second", random.chance(0.2) ? team : 1, node, reads);
  }
}

// Makes the programs of the series one MPI job, with the series in its window. The processes of a job sleep for only
// 0.1 ms, so a world of theirs must not last long.
void put_in_window(Plan& plan, Random& random) {
  for (Role& role : plan.roles) {
    if (role.rank == 0) {
      plan.job.programs.push_back(role.program);
    }
    for (Action& action : role.script) {
      if (action.values.count("pause") != 0) {
        action.values["pause"] = milliseconds(static_cast<std::uint64_t>(action.real("pause", 0) * 250));
      }
      if (action.verb == "idle") {
        action.values["s"] = milliseconds(static_cast<std::uint64_t>(action.real("s", 0) * 250));
      }
    }
  }
  plan.job.mapped = random.chance(0.5);
  plan.job.served = random.chance(0.25);
  plan.settings["COUPLET_SERIES_ETA_WINDOW"] = "1";
}

// Lets the writer create the series several times, and the readers open it as often. The hub is killed and started
// again meanwhile.
void create_again(Plan& plan, Random& random) {
  const auto times = random.between(2, 5);
  std::map<std::string, std::vector<Action>> scripts;
  for (const Role& role : plan.roles) {
    const bool has_series = role.program == "writer" || role.program == "reader" || role.program == "second";
    if (!has_series || scripts.count(role.program) != 0) {
      continue;
    }
    std::vector<Action> script = {make("join", "")};
    for (std::uint64_t time = 0; time < times; ++time) {
      for (Action action : role.script) {
        if (action.verb == "put") {
          action.values["steps"] = number(random.below(5));
        }
        if (action.verb != "join" && action.verb != "leave" && action.verb != "close") {
          script.push_back(action);
        }
      }
      script.push_back(make("close", "eta"));
      if (random.chance(0.5)) {
        script.push_back(make("idle", "", {{"s", milliseconds(random.below(3000))}}));
      }
    }
    script.push_back(make("leave", ""));
    scripts[role.program] = script;
  }
  for (Role& role : plan.roles) {
    if (const auto script = scripts.find(role.program); script != scripts.end()) {
      role.script = script->second;
    }
  }
  for (auto kills = random.between(1, 3); kills > 0; --kills) {
    const double time_s = static_cast<double>(random.below(6000)) / 1e3;
    std::map<std::string, std::string> how;
    if (random.chance(0.7)) {
      how["after"] = number(random.below(60));
    }
    plan.faults.push_back({time_s, make("kill", "hub", how)});
    // Calls wait 4 s for a hub that is away.
    const double away_s = static_cast<double>(random.between(50, random.chance(0.5) ? 2000 : 8000)) / 1e3;
    plan.faults.push_back({time_s + away_s, make("start", "hub")});
  }
  plan.faults.push_back({15, make("start", "hub")});  // a kill may have come after all others
  if (random.chance(0.5)) {
    const double time_s = static_cast<double>(random.below(6000)) / 1e3;
    plan.faults.push_back({time_s, make("reset", number(random.below(2)) + "-" +
                                                     number(static_cast<std::uint64_t>(plan.node_count() - 1)))});
  }
}

// Two programs that exchange messages, in one direction or in both by turns.
void add_talk(Plan& plan, Random& random) {
  const auto rounds = random.between(1, 6);
  std::vector<Action> first = {make("join", "")};
  std::vector<Action> other = {make("join", "")};
  const bool both = random.chance(0.5);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto count = number(random.between(1, 8));
    const auto bytes = number(random.chance(0.8) ? random.between(8, 2000) : random.between(2'000, 120'000));
    first.push_back(make("send", "bob/0", {{"count", count}, {"bytes", bytes}}));
    other.push_back(make("receive", "alice/0", {{"count", count}}));
    if (random.chance(0.3)) {
      (random.chance(0.5) ? first : other).push_back(make("idle", "", {{"s", milliseconds(random.below(2500))}}));
    }
    if (both) {
      other.push_back(make("send", "alice/0", {{"count", "1"}, {"bytes", bytes}}));
      first.push_back(make("receive", "bob/0", {{"count", "1"}}));
    }
  }
  first.push_back(make("leave", ""));
  other.push_back(make("leave", ""));
  add_program(plan, "alice", 1, static_cast<int>(random.below(2)), first);
  add_program(plan, "bob", 1, static_cast<int>(random.below(2)), other);
}

// Two or three programs whose ranks make collective calls together. They stand beside the others in a world.
void add_sums(Plan& plan, Random& random) {
  const char* const names[] = {"left", "right", "third"};
  const std::uint64_t programs = random.chance(0.3) ? 3 : 2;
  std::string all;
  for (std::uint64_t program = 0; program < programs; ++program) {
    all += (program == 0 ? "" : "+") + std::string(names[program]);
  }
  std::map<std::string, std::string> how = {{"rounds", number(random.between(3, 30))}};
  if (random.chance(0.3)) {
    how["timeout"] = random.chance(0.5) ? "0.5" : "3";
  }
  for (std::uint64_t program = 0; program < programs; ++program) {
    std::vector<Action> script = {make("join", "")};
    if (random.chance(0.2)) {
      script.push_back(make("idle", "", {{"s", milliseconds(random.below(2500))}}));
    }
    how["pause"] = milliseconds(random.chance(0.5) ? 0 : random.below(200));
    script.push_back(make("sum", all, how));
    script.push_back(make("leave", ""));
    add_program(plan, names[program], static_cast<int>(random.between(1, 3)), static_cast<int>(random.below(2)),
                script);
  }
}

// Some of the ranks that make collective calls leave after a few rounds, and are started again while the others go on.
void let_some_return(Plan& plan, Random& random) {
  for (Role& role : plan.roles) {
    const auto sum =
        std::find_if(role.script.begin(), role.script.end(), [](const Action& action) { return action.verb == "sum"; });
    if (sum == role.script.end() || random.chance(0.5)) {
      continue;
    }
    sum->values["rounds"] = number(random.between(1, 5));
    for (auto returns = random.between(1, 2); returns > 0; --returns) {
      const double time_s = static_cast<double>(random.chance(0.5) ? random.below(500) : random.below(6000)) / 1e3;
      plan.faults.push_back({time_s, make("start", role.name(), {{"left", "1"}})});
    }
  }
}

// Their rounds are broadcasts and sums at one member, too.
void mix_rounds(Plan& plan) {
  for (Role& role : plan.roles) {
    for (Action& action : role.script) {
      if (action.verb == "sum") {
        action.values["mixed"] = "1";
      }
    }
  }
}

bool makes_sums(const Role& role) {
  return std::any_of(role.script.begin(), role.script.end(), [](const Action& each) { return each.verb == "sum"; });
}

// The first member says which round it is, and leaves after one call or a few; it may come back. Some of the others are
// stopped as they meet. In a group of one rank for each program nobody else tells them what has happened.
void let_first_lead(Plan& plan, Random& random) {
  if (random.chance(0.5)) {
    std::erase_if(plan.roles, [](const Role& role) { return makes_sums(role) && role.rank > 0; });
    std::erase_if(plan.faults, [](const Fault& fault) { return !fault.what.object.ends_with("/0"); });
    for (Role& role : plan.roles) {
      role.size = makes_sums(role) ? 1 : role.size;
    }
  }
  std::vector<std::string> members;
  for (Role& role : plan.roles) {
    for (Action& action : role.script) {
      if (action.verb != "sum") {
        continue;
      }
      action.values["lead"] = "1";
      if (members.empty()) {
        action.values["rounds"] = number(random.between(1, 3));
      }
      members.push_back(role.name());
    }
  }
  for (auto stops = random.below(4); stops > 0; --stops) {
    const auto& whom = members[random.between(1, members.size() - 1)];
    plan.faults.push_back(
        {static_cast<double>(random.below(300)) / 1e3,
         make("stop", whom,
              {{"s", milliseconds(random.between(10, 2000))}, {"after", number(random.between(1, 300))}})});
  }
  if (random.chance(0.7)) {
    plan.faults.push_back({static_cast<double>(random.below(3000)) / 1e3, make("start", members[0], {{"left", "1"}})});
  }
}

// Requesters, couplers and groups of workers. They run beside the other programs of a world.
void add_tasks(Plan& plan, Random& random) {
  const auto node = [&] { return static_cast<int>(random.below(2)); };
  const int requesters = random.chance(0.3) ? 2 : 1;
  for (int number_of = 0; number_of < requesters; ++number_of) {
    std::vector<Action> script = {make("join", ""), make("open_tasks", "requester")};
    for (auto rounds = random.between(1, 4); rounds > 0; --rounds) {
      const char* const timeouts[] = {"0", "0.01", "0.2", "5"};
      std::map<std::string, std::string> how = {{"count", number(random.between(1, 12))},
                                                {"timeout", timeouts[random.below(4)]}};
      how["words"] = number(random.chance(0.8) ? random.between(1, 200) : random.between(200, 20'000));
      how["slices"] = random.chance(0.3) ? "0" : "60";
      script.push_back(make("submit", "", how));
      if (random.chance(0.4)) {
        script.push_back(make("idle", "", {{"s", milliseconds(random.below(2000))}}));
      }
    }
    script.push_back(make("close_tasks", ""));
    script.push_back(make("leave", ""));
    add_program(plan, number_of == 0 ? "asker" : "other", random.chance(0.2) ? 2 : 1, node(), script);
  }
  std::map<std::string, std::string> how = {{"requesters", requesters == 2 ? "asker,other" : "asker"}};
  const int programs = random.chance(0.3) ? 2 : 1;
  how["workers"] = programs == 2 ? "doer,helper" : "doer";
  how["retry"] = number(random.below(2));
  if (random.chance(0.3)) {
    how["queue"] = number(random.between(1, 4));
  }
  std::vector<Action> dispatches = {make("join", ""), make("open_tasks", "coupler", how)};
  if (random.chance(0.5)) {
    dispatches.push_back(make("idle", "", {{"s", milliseconds(random.below(5000))}}));
  }
  dispatches.insert(dispatches.end(), {make("work", ""), make("close_tasks", ""), make("leave", "")});
  add_program(plan, "coupler", random.chance(0.3) ? 2 : 1, node(), dispatches);
  for (int program = 0; program < programs; ++program) {
    const std::string pause = milliseconds(random.chance(0.5) ? 0 : random.below(300));
    const std::vector<Action> works = {
        make("join", ""), make("open_tasks", "worker", {{"group", number(random.below(2))}}),
        make("work", "", {{"pause", pause}}), make("close_tasks", ""), make("leave", "")};
    add_program(plan, program == 0 ? "doer" : "helper", static_cast<int>(random.between(1, 3)), node(), works);
  }
}

std::string somebody(const Plan& plan, Random& random) {
  const auto which = random.below(plan.roles.size() + 3);
  if (which < plan.roles.size()) {
    return plan.roles[which].name();
  }
  return which == plan.roles.size() ? "relay@" + number(random.below(2)) : "hub";
}

std::vector<std::string> with_its_program(const Plan& plan, const std::string& whom, bool all) {
  std::vector<std::string> names;
  for (const Role& role : plan.roles) {
    const std::string program = whom.substr(0, whom.find('/'));
    const bool of_the_job = plan.job.has(program) && plan.job.has(role.program);
    if (all && (role.program == program || of_the_job)) {
      names.push_back(role.name());
    }
  }
  return names.empty() ? std::vector<std::string>{whom} : names;
}

void add_fault(Plan& plan, Random& random, double time_s) {
  const auto later = [&](std::uint64_t max_ms) { return time_s + static_cast<double>(random.below(max_ms)) / 1e3; };
  const auto cable = number(random.below(2)) + "-" + number(static_cast<std::uint64_t>(plan.node_count() - 1));
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2: {
      const auto whom = somebody(plan, random);
      const bool again = !whom.starts_with("relay") && random.chance(whom == "hub" ? 0.8 : 0.5);
      const double again_s = later(3000) + 0.05;
      for (const auto& each : with_its_program(plan, whom, again)) {  // a program is always started again as a whole
        std::map<std::string, std::string> how;
        if (random.chance(0.7)) {
          how["after"] = number(random.below(random.chance(0.5) ? 60 : 2000));
        }
        plan.faults.push_back({time_s, make("kill", each, how)});
        if (again) {
          plan.faults.push_back({again_s, make("start", each)});
        }
      }
      return;
    }
    case 3:
    case 4:
      plan.faults.push_back({time_s, make("cut", cable)});
      plan.faults.push_back({later(6000), make("heal", cable)});
      return;
    case 5:
    case 6:
      plan.faults.push_back({time_s, make("stop", somebody(plan, random), {{"s", milliseconds(random.below(4000))}})});
      return;
    default:
      plan.faults.push_back({time_s, make("reset", cable)});
  }
}

}  // namespace

Plan Plan::generate(std::uint64_t seed) {
  Random random(seed * 2 + 1);
  Random variety(seed * 2);
  Plan plan;
  plan.seed = seed;
  const double switching[] = {0.01, 0.05, 0.2, 0.5};
  plan.switching = switching[random.below(4)];
  const auto kind = random.below(4);
  if (kind != 0) {
    add_series(plan, random, variety);
  }
  if (Random windows(~seed); kind != 0 && windows.chance(0.15)) {
    put_in_window(plan, windows);
  }
  if (kind == 0 || kind == 3) {
    add_talk(plan, random);
  }
  if (Random sums(seed ^ 0x50350U);
      plan.job.programs.empty() && sums.chance(seed < first_seed_with_leaders ? 0.12 : 0.3)) {
    add_sums(plan, sums);
    if (seed >= first_seed_with_returns) {
      let_some_return(plan, sums);
    }
    if (seed >= first_seed_with_mixed_rounds && sums.chance(0.7)) {
      mix_rounds(plan);
    }
    if (seed >= first_seed_with_leaders && sums.chance(0.5)) {
      let_first_lead(plan, sums);
    }
  }
  if (Random tasks(seed ^ 0x7a5c5U); seed >= first_seed_with_tasks && plan.job.programs.empty() && tasks.chance(0.12)) {
    add_tasks(plan, tasks);
  }
  plan.hub_node = random.chance(0.5) ? 2 : 0;
  if (random.chance(0.1)) {
    plan.settings["COUPLET_LINKS"] = "self,tcp";
  }
  if (random.chance(0.2)) {
    plan.settings["COUPLET_RELAY"] = "in_calls";
  }
  if (random.chance(0.2)) {
    plan.settings["COUPLET_SPIN_US"] = "5";
  }
  for (auto faults = random.below(4); faults > 0; --faults) {
    const double time_s = static_cast<double>(random.chance(0.5) ? random.below(50) : random.below(4000)) / 1e3;
    add_fault(plan, random, time_s);
  }
  if (Random again(seed ^ 0xa6a1U);
      seed >= first_seed_with_new_creations && kind != 0 && plan.job.programs.empty() && again.chance(0.2)) {
    create_again(plan, again);
  }
  // The hub is on node 2 or 0, and has to be reached.
  if (Random walls(seed ^ 0x3a110U); walls.chance(0.15)) {
    const bool back = plan.hub_node == 2 && walls.chance(0.5);
    const double time_s = walls.chance(0.5) ? 0 : static_cast<double>(walls.below(3000)) / 1e3;
    plan.faults.push_back({time_s, make("wall", back ? "1-0" : "0-1")});
  }
  return plan;
}

}  // namespace world
