// What happens in one world: which processes there are, what each does, and which faults occur when. A plan is made
// from a seed or read from text, and can be written as text, so that a shrunk plan can be kept.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace world {

// "put eta steps=20 pause=0.01": a verb, at most one word without a name, and named values.
struct Action {
  std::string verb;
  std::string object;
  std::map<std::string, std::string> values;
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise = "") const;
  [[nodiscard]] double real(const std::string& key, double otherwise) const;
  [[nodiscard]] std::int64_t whole(const std::string& key, std::int64_t otherwise) const;
  [[nodiscard]] std::string to_text() const;
};

// One rank of a program. Its name is "program/rank".
struct Role {
  std::string program;
  int rank = 0;
  int size = 1;
  int node = 0;
  std::vector<Action> script;
  [[nodiscard]] std::string name() const { return program + "/" + std::to_string(rank); }
};

// A fault and its time in seconds: kill, start or stop of a role, "hub" or "relay@NODE"; cut, heal or reset of "A-B",
// two nodes; wall of "A-B": from then on, nobody on A can connect to B. A kill or stop with after=N happens when that
// process makes its N-th call of the kernel after that time. A start with left=1 also starts one that has left.
struct Fault {
  double time_s = 0;
  Action what;
};

// The programs that are one MPI job, whose ranks have a window. It ends as a whole if one of its ranks is killed.
struct JobPlan {
  std::vector<std::string> programs;  // empty: there is no job
  bool mapped = true;                 // ranks of a node map each other's memory
  bool served = false;                // a fetch waits for a call of the rank whose memory it reads
  [[nodiscard]] bool has(const std::string& program) const;
};

struct Plan {
  std::uint64_t seed = 0;  // decides the order in which processes run
  int hub_node = 0;
  double switching = 0.05;
  std::map<std::string, std::string> settings;
  JobPlan job;
  std::vector<Role> roles;
  std::vector<Fault> faults;

  [[nodiscard]] int node_count() const;
  [[nodiscard]] std::string to_text() const;
  // Returns a plan without roles if the text is not a plan.
  static Plan from_text(const std::string& text);
  static Plan generate(std::uint64_t seed);
  // Returns plans that each leave out a little, with the most promising ones first.
  [[nodiscard]] std::vector<Plan> smaller() const;
};

}  // namespace world
