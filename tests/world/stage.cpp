#include "stage.hpp"

#include <algorithm>
#include <cstring>

#include "job.hpp"
#include "kernel/files.hpp"
#include "kernel/network.hpp"
#include "programs.hpp"

namespace world {
namespace {

constexpr Nanoseconds max_play_ns = 150 * second;  // of simulated time
constexpr std::uint64_t max_steps = 60'000'000;
// Time for hub and relays to end after the last process. A process that the hub cannot call counts as lost after 60 s.
constexpr Nanoseconds max_end_ns = 80 * second;
constexpr std::uint64_t relay_pause_ms = 5;
constexpr Nanoseconds max_abort_ns = second / 5;  // until the launcher of an MPI job has ended all of its ranks
constexpr const char* hub_port = "4711";
constexpr const char* rejoin_patience_s = "15";
constexpr const char* secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

class Stage {
 public:
  explicit Stage(const Plan& plan) : plan_(plan), kernel_(plan.seed) {}
  Outcome play();

 private:
  [[nodiscard]] std::map<std::string, std::string> environment() const;
  [[nodiscard]] std::string hub_address() const {
    return "10.0.0." + std::to_string(plan_.hub_node + 1) + ":" + hub_port;
  }
  [[nodiscard]] std::string programs() const;
  void furnish(int node);
  void start_hub();
  void start(const Role& role);
  void put_in_job(Life& life);
  void end_launch(Launch& launch);
  void start_job_again();
  void start_relay(int node, std::map<std::string, std::string> environment, double join_timeout_s);
  [[nodiscard]] Process* find(const std::string& name);
  void carry_out(const Fault& fault);
  void kill(const Action& what);
  static void harm(Process& process, const Action& what, const std::function<void()>& how);
  [[nodiscard]] bool all_ended() const;
  void look_at_end(Kernel::End end);

  const Plan& plan_;
  Kernel kernel_;
  Outcome outcome_;
  Process* hub_ = nullptr;
  std::map<int, Process*> relays_;
  std::vector<std::unique_ptr<Launch>> launches_;  // the launches of the MPI job
  std::size_t faults_done_ = 0;
};

std::uint64_t run_of_hub = 0;

std::map<std::string, std::string> Stage::environment() const {
  std::map<std::string, std::string> all = {{"COUPLET_HUB", hub_address()},
                                            {"COUPLET_SECRET_FILE", "/sim/secret"},
                                            {"COUPLET_RUN_DIR", "/sim/run"},
                                            {"COUPLET_LIBEXEC", "/sim/libexec"},
                                            {"COUPLET_LOG", "quiet"},
                                            {"COUPLET_SPIN_US", "0"},
                                            {"HOME", "/sim"}};
  for (const auto& [key, value] : plan_.settings) {
    all[key] = value;
  }
  return all;
}

std::string Stage::programs() const {
  std::string list;
  for (const Role& role : plan_.roles) {
    if (role.rank == 0) {
      list += (list.empty() ? "" : ",") + role.program + ":" + std::to_string(role.size);
    }
  }
  return list;
}

void Stage::furnish(int node) {
  auto& files = files_of(node);
  const auto file = files.make("/sim/secret", S_IFREG | 0600);
  static_cast<void>(files.reserve(*file, std::strlen(secret)));
  std::memcpy(file->data, secret, std::strlen(secret));
  file->size = std::strlen(secret);
}

void Stage::start_hub() {
  std::vector<std::string> arguments = {
      "--programs", programs(),      "--listen",    hub_address(),       "--linger",
      "2",          "--secret-file", "/sim/secret", "--rejoin-patience", rejoin_patience_s};
  if (run_of_hub != 0) {
    char run[17];
    std::snprintf(run, sizeof run, "%016llx", static_cast<unsigned long long>(run_of_hub));
    arguments.insert(arguments.end(), {"--resume", run});
  }
  hub_ = &kernel_.start("hub", plan_.hub_node, environment(),
                        [arguments] { run_hub(arguments, [](std::uint64_t run_id) { run_of_hub = run_id; }); });
  auto& harms = outcome_.history.harms;
  for (Harm& harm : harms) {
    harm.end_ns = harm.kind == "no-hub" ? std::min(harm.end_ns, kernel_.now()) : harm.end_ns;
  }
  hub_->on_death = [this, &harms, hub = hub_] {
    if (!hub->ended) {
      harms.push_back({"no-hub", "hub", kernel_.now(), never});
    }
  };
}

void Stage::start(const Role& role) {
  auto& lives = outcome_.history.lives;
  std::uint64_t number = 0;
  for (const Life& life : lives) {
    number += life.role == &role ? 1 : 0;
  }
  Life& life = lives.emplace_back();
  life.role = &role;
  life.number = number;
  life.begin_ns = kernel_.now();
  life.process = &kernel_.start(role.name(), role.node, environment(), [this, &life] { act(plan_, life); });
  if (plan_.job.has(role.program)) {
    put_in_job(life);
  }
  life.process->on_death = [this, &life] {
    life.end_ns = kernel_.now();
    life.killed = !life.process->ended;
    if (life.killed && life.launch != nullptr) {
      kernel_.at(kernel_.now() + kernel_.random().below(max_abort_ns),
                 [this, launch = life.launch] { end_launch(*launch); });
    }
  };
}

void Stage::put_in_job(Life& life) {
  const auto in_job = [this](const Role& role) { return plan_.job.has(role.program); };
  const auto& roles = plan_.roles;
  if (launches_.empty()) {
    const auto size = static_cast<std::size_t>(std::count_if(roles.begin(), roles.end(), in_job));
    launches_.push_back(std::make_unique<Launch>(size, plan_.job.mapped, plan_.job.served));
  }
  life.launch = launches_.back().get();
  life.job_rank = static_cast<std::size_t>(std::count_if(roles.data(), life.role, in_job));
  life.launch->ranks[life.job_rank].process = life.process;
  if (life.launch->over) {  // a rank was killed before this one was started
    kernel_.at(kernel_.now(), [this, &life] { kernel_.kill(*life.process); });
  }
}

// Does what the launcher of an MPI job does if one of its ranks was killed.
void Stage::end_launch(Launch& launch) {
  launch.over = true;
  for (const Launch::Rank& rank : launch.ranks) {
    if (rank.process != nullptr && !rank.process->dead) {
      outcome_.history.harms.push_back({"kill", rank.process->name, kernel_.now(), kernel_.now()});
      kernel_.kill(*rank.process);
    }
  }
}

// Starts all ranks, if all of the former launch were killed.
void Stage::start_job_again() {
  const auto& ranks = launches_.back()->ranks;
  if (!std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) {
        return rank.process != nullptr && rank.process->dead && !rank.process->ended;
      })) {
    return;
  }
  launches_.push_back(std::make_unique<Launch>(ranks.size(), plan_.job.mapped, plan_.job.served));
  for (const Role& role : plan_.roles) {
    if (plan_.job.has(role.program)) {
      start(role);
    }
  }
}

// Starts a relay, as its keeper does. A relay that is killed is started again.
void Stage::start_relay(int node, std::map<std::string, std::string> environment, double join_timeout_s) {
  Process& process = kernel_.start("relay@" + std::to_string(node), node, environment, [=, this] {
    if (run_relay(join_timeout_s, true) == relay_exists && join_timeout_s >= 0) {
      kernel_.at(kernel_.now() + second / 10, [=, this] { start_relay(node, environment, join_timeout_s); });
    }
  });
  relays_[node] = &process;
  process.on_death = [=, this, &process] {
    if (!process.ended) {
      kernel_.at(kernel_.now() + relay_pause_ms * 1'000'000, [=, this] { start_relay(node, environment, 10); });
    }
  };
}

Process* Stage::find(const std::string& name) {
  if (name == "hub") {
    return hub_;
  }
  if (name.starts_with("relay@")) {
    const auto found = relays_.find(std::atoi(name.c_str() + std::strlen("relay@")));
    return found == relays_.end() ? nullptr : found->second;
  }
  auto& lives = outcome_.history.lives;
  const auto last =
      std::find_if(lives.rbegin(), lives.rend(), [&](const Life& life) { return life.role->name() == name; });
  return last == lives.rend() ? nullptr : last->process;
}

void Stage::kill(const Action& what) {
  Process* const process = find(what.object);
  if (process == nullptr || process->dead) {
    return;
  }
  outcome_.history.harms.push_back({"kill", what.object, kernel_.now(), kernel_.now()});
  harm(*process, what, [this, process] { kernel_.kill(*process); });
}

// Does it now, or when the process makes that call.
void Stage::harm(Process& process, const Action& what, const std::function<void()>& how) {
  if (const auto after = what.whole("after", 0); after > 0) {
    process.harmed_at = process.steps + static_cast<std::uint64_t>(after);
    process.harm = how;
  } else {
    how();
  }
}

void Stage::carry_out(const Fault& fault) {
  ++faults_done_;
  const Action& what = fault.what;
  auto& harms = outcome_.history.harms;
  if (what.verb == "kill") {
    kill(what);
  } else if (what.verb == "start") {
    Process* const former = find(what.object);
    if (former == nullptr || !former->dead || (former->ended && what.whole("left", 0) == 0)) {
      return;  // it was not killed, or it has not died yet
    }
    if (what.object == "hub") {
      start_hub();
      return;
    }
    if (plan_.job.has(what.object.substr(0, what.object.find('/')))) {
      start_job_again();
      return;
    }
    for (const Role& role : plan_.roles) {
      if (role.name() == what.object) {
        start(role);
      }
    }
  } else if (what.verb == "stop") {
    if (Process* const process = find(what.object); process != nullptr && !process->dead) {
      harm(*process, what, [this, process, what] {
        const auto until = kernel_.now() + static_cast<Nanoseconds>(what.real("s", 1) * 1e9);
        kernel_.stop(*process, until);
        outcome_.history.harms.push_back({"stop", what.object, kernel_.now(), until});
      });
    }
  } else {
    const int one = std::atoi(what.object.c_str());
    const int other = std::atoi(what.object.c_str() + what.object.find('-') + 1);
    if (what.verb == "cut") {
      network().cut(one, other);
      harms.push_back({"cut", what.object, kernel_.now(), never});
    } else if (what.verb == "wall") {
      network().wall(one, other);
      harms.push_back({"wall", what.object, kernel_.now(), never});
    } else if (what.verb == "heal") {
      network().heal(one, other);
      for (Harm& harm : harms) {
        harm.end_ns =
            harm.kind == "cut" && harm.whom == what.object ? std::min(harm.end_ns, kernel_.now()) : harm.end_ns;
      }
    } else if (what.verb == "reset") {
      network().reset(one, other);
      harms.push_back({"reset", what.object, kernel_.now(), kernel_.now()});
    }
  }
}

bool Stage::all_ended() const {
  const auto& lives = outcome_.history.lives;
  return faults_done_ == plan_.faults.size() &&
         std::all_of(lives.begin(), lives.end(), [](const Life& life) { return life.process->dead; });
}

// Checks what outlives the universe.
void Stage::look_at_end(Kernel::End end) {
  auto& findings = outcome_.findings;
  if (end != Kernel::End::finished) {
    const char* const words[] = {"finished", "a deadlock", "out of time", "out of steps"};
    std::string who;
    for (const Life& life : outcome_.history.lives) {
      if (!life.process->dead) {
        who += " " + life.role->name() + " (" + (life.calls.empty() ? "" : life.calls.back().verb) + ")";
      }
    }
    findings.push_back({"hang", std::string(words[static_cast<int>(end)]) + ":" + who});
    return;
  }
  const auto joined = [this](const Role& role) {
    const auto& lives = outcome_.history.lives;
    return std::any_of(lives.begin(), lives.end(), [&](const Life& life) {
      return life.role == &role && std::any_of(life.calls.begin(), life.calls.end(), [](const Call& call) {
               return call.verb == "join" && call.ended() && call.status == 0;
             });
    });
  };
  if (!std::all_of(plan_.roles.begin(), plan_.roles.end(), joined)) {
    return;  // the hub waits for required processes that have never come
  }
  const auto quiet = [this] {
    return hub_->dead &&
           std::all_of(relays_.begin(), relays_.end(), [](const auto& each) { return each.second->dead; });
  };
  static_cast<void>(kernel_.run(quiet, max_end_ns, max_steps * 2));
  if (!quiet()) {
    std::string who = hub_->dead ? "" : " hub";
    for (const auto& [node, relay] : relays_) {
      who += relay->dead ? "" : " relay@" + std::to_string(node);
    }
    findings.push_back({"left-behind", "still running:" + who});
  }
}

Outcome Stage::play() {
  run_of_hub = 0;
  kernel_.set_switching(plan_.switching);
  for (int node = 0; node < plan_.node_count(); ++node) {
    furnish(node);
  }
  kernel_.on_spawn = [this](const std::string&, char* const* given) {
    auto environment = kernel_.process().environment;
    for (; *given != nullptr; ++given) {
      const std::string text = *given;
      if (text.starts_with("COUPLET_")) {
        environment[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
      }
    }
    const int node = kernel_.process().node;
    kernel_.at(kernel_.now() + 1'000'000, [this, node, environment] { start_relay(node, environment, -1); });
    return 0;
  };
  start_hub();
  for (const Role& role : plan_.roles) {
    kernel_.at(kernel_.now() + kernel_.random().below(second / 10), [this, &role] { start(role); });
  }
  for (const Fault& fault : plan_.faults) {
    kernel_.at(kernel_.now() + static_cast<Nanoseconds>(fault.time_s * 1e9), [this, &fault] { carry_out(fault); });
  }
  const auto roles = plan_.roles.size();
  const auto end =
      kernel_.run([&] { return outcome_.history.lives.size() >= roles && all_ended(); }, max_play_ns, max_steps);
  outcome_.history.seed = plan_.seed;
  outcome_.history.end_ns = kernel_.now();
  look_at_end(end);
  outcome_.steps = kernel_.steps();
  outcome_.trace = kernel_.trace();
  return std::move(outcome_);
}

}  // namespace

Outcome play(const Plan& plan, double calls_from_s) {
  Stage stage(plan);
  if (calls_from_s >= 0) {
    kernel->print_from(start_of_time + static_cast<Nanoseconds>(calls_from_s * 1e9));
  }
  return stage.play();
}

}  // namespace world
