// What each process of a world has seen: one record for each of its calls of the library.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "job.hpp"
#include "kernel/kernel.hpp"
#include "plan.hpp"

namespace world {

struct StepSeen {
  std::int64_t step = 0;
  std::uint64_t ordinal = 0;
  std::uint64_t life = 0;  // which life of the writer has made the contents, and by which creation, as they say
  bool intact = true;
};

struct Statistics {
  std::uint64_t published = 0, first = 0, delivered = 0, lost = 0, skipped = 0, pending = 0;
};

struct Call {
  std::string verb;
  std::string object;
  double timeout_s = -1;  // negative: the call has no timeout of its own
  Nanoseconds begin_ns = 0;
  Nanoseconds end_ns = never;  // never: the call has not returned
  Nanoseconds stopped_ns = 0;  // how long the process was stopped during the call
  int status = 0;
  std::string text;
  // Of put: the step. Of messages and tasks: the number of the message or task. Of what arrives: also the sender's
  // life. Of a task that arrives: also the place of the requester's role in the plan.
  std::int64_t number = -1;
  std::uint64_t life = 0;
  std::uint64_t sender = 0;
  bool intact = true;
  // Of read and count: the steps.
  std::vector<StepSeen> steps;
  std::uint64_t lost = 0;
  Statistics statistics;
  [[nodiscard]] bool ended() const noexcept { return end_ns != never; }
};

// One life of one process.
struct Life {
  const Role* role = nullptr;
  std::uint64_t number = 0;  // 0, then one more each time it is started again
  Process* process = nullptr;
  Launch* launch = nullptr;  // the launch of its MPI job; nullptr: it belongs to none
  std::size_t job_rank = 0;
  Nanoseconds begin_ns = 0;
  Nanoseconds end_ns = never;  // when it ended or was killed
  bool killed = false;
  std::deque<Call> calls;
};

struct Harm {
  std::string kind;
  std::string whom;
  Nanoseconds begin_ns = 0;
  Nanoseconds end_ns = never;
};

struct History {
  std::uint64_t seed = 0;
  std::deque<Life> lives;
  std::vector<Harm> harms;
  Nanoseconds end_ns = 0;
};

// What steps say as the life of their writer: the number of the life + 16 * how many creations it had begun before.
inline constexpr std::uint64_t lives_per_creation = 16;

// Lets virtual time pass.
void sleep_s(double seconds);

// Records the beginning of a call, and its end with what it has returned.
Call& begin_call(Life& life, const char* verb, const std::string& object, double timeout_s);
int end_call(Life& life, Call& call, int status);

// Carries out the script of a life. Called in its simulated process.
void act(const Plan& plan, Life& life);

struct Finding {
  std::string rule;
  std::string text;
};
[[nodiscard]] std::vector<Finding> check(const Plan& plan, const History& history);
// What check() says of tasks.
[[nodiscard]] std::vector<Finding> check_tasks(const Plan& plan, const History& history);

}  // namespace world
