// What must hold in every world, whatever its faults.
#include <couplet/couplet.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "history.hpp"

namespace world {
namespace {

bool is_collective(const Call& call) {
  return call.verb == "sum" || call.verb == "agree";
}

class Checker {
 public:
  Checker(const Plan& plan, const History& history) : plan_(plan), history_(history) {}
  std::vector<Finding> check();

 private:
  void report(const std::string& rule, const Life& life, const Call& call, const std::string& text);
  [[nodiscard]] bool writer_makes_few_calls_after(Nanoseconds time_ns) const;
  [[nodiscard]] Nanoseconds stops_of_job(const Life& life) const;
  [[nodiscard]] Nanoseconds fetches_wait(const Life& life, const Call& call) const;
  [[nodiscard]] Nanoseconds fellows_join(const Life& life, const Call& call) const;
  void check_calm(const Life& life, const Call& call);
  [[nodiscard]] bool some_make_fewer_rounds() const;
  [[nodiscard]] bool may_need_patience() const;
  void check_time(const Life& life, const Call& call);
  void check_culprit(const Life& life, const Call& call);
  void check_steps(const Life& life);
  void check_read(const Life& life, const Call& call);
  void check_count(const Life& life, const Call& call);
  void check_name(const Life& life, const Call& call);
  void check_progress(const Life& life);
  [[nodiscard]] std::uint64_t published_before(const std::string& series, Nanoseconds time_ns) const;
  void check_messages(const Life& life);
  void check_collective(const Life& life, const Call& call);
  [[nodiscard]] const Life* writer_of(const std::string& series, std::uint64_t life, int rank) const;

  const Plan& plan_;
  const History& history_;
  const bool is_created_again_ = std::any_of(plan_.roles.begin(), plan_.roles.end(), [](const Role& role) {
    return std::count_if(role.script.begin(), role.script.end(),
                         [](const Action& each) { return each.verb == "create"; }) > 1;
  });
  std::vector<Finding> findings_;
};

std::string seconds_text(Nanoseconds ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns) / 1e9);
  return text;
}

void Checker::report(const std::string& rule, const Life& life, const Call& call, const std::string& text) {
  findings_.push_back({rule, life.role->name() + " life " + std::to_string(life.number) + ", " + call.verb + " " +
                                 call.object + " at " + seconds_text(call.begin_ns - start_of_time) + ": " + text});
}

// Each part of a reader that opens needs up to four calls of its writer rank, one after the other, and time between
// them.
bool Checker::writer_makes_few_calls_after(Nanoseconds time_ns) const {
  constexpr std::int64_t calls_of_each_rank = 4;
  return std::any_of(history_.lives.begin(), history_.lives.end(), [&](const Life& life) {
    const bool ends_soon = std::any_of(life.calls.begin(), life.calls.end(), [&](const Call& call) {
      return (call.verb == "leave" || call.verb == "close") && call.begin_ns < time_ns + second;
    });
    const auto calls = std::count_if(life.calls.begin(), life.calls.end(),
                                     [&](const Call& call) { return call.verb == "put" && call.begin_ns > time_ns; });
    return life.role->program == "writer" && (ends_soon || calls < calls_of_each_rank * life.role->size);
  });
}

// Do some members leave while others still make collective calls?
bool Checker::some_make_fewer_rounds() const {
  std::set<std::string> counts;
  for (const Role& role : plan_.roles) {
    for (const Action& action : role.script) {
      if (action.verb == "sum") {
        counts.insert(action.text("rounds"));
      }
    }
  }
  return counts.size() > 1;
}

// If there are no faults, no call may fail.
void Checker::check_calm(const Life& life, const Call& call) {
  // A put may time out because a reader opens late, and a message because its sender first does something else.
  const bool held_up = call.status == COUPLET_ERROR_TIMEOUT && call.timeout_s >= 0 && call.verb != "open";
  // A writer that sends its steps inside its own calls answers readers only there.
  const auto relay = plan_.settings.find("COUPLET_RELAY");
  const bool in_calls = relay != plan_.settings.end() && relay->second == "in_calls";
  if (call.verb == "open" && in_calls && writer_makes_few_calls_after(call.begin_ns)) {
    return;
  }
  if (is_collective(call) && (call.timeout_s >= 0 || some_make_fewer_rounds())) {
    return;  // a member that gives up, or leaves, fails the call, or the next one, at all others
  }
  if (plan_.faults.empty() && call.ended() && call.status < 0 && !held_up) {
    report("strange-error", life, call, std::string(couplet_status_name(call.status)) + ": " + call.text);
  }
}

// If a fetch waits for a call of the rank that it reads, it also waits while that rank is stopped: MPI has no time
// limit.
Nanoseconds Checker::stops_of_job(const Life& life) const {
  Nanoseconds all = 0;
  for (const Harm& harm : history_.harms) {
    const std::string program = harm.whom.substr(0, harm.whom.find('/'));
    const bool counts = harm.kind == "stop" && life.launch != nullptr && plan_.job.served && plan_.job.has(program);
    all += counts ? harm.end_ns - harm.begin_ns : 0;
  }
  return all;
}

// Between two calls of its writer rank, a fetch waits for the next one. A read looks at its deadline only between its
// look at the sources and its copy, which take fewer fetches than this.
Nanoseconds Checker::fetches_wait(const Life& life, const Call& call) const {
  constexpr Nanoseconds fetches_of_read = 16;
  if (life.launch == nullptr || !plan_.job.served || call.verb != "read") {
    return 0;
  }
  Nanoseconds longest = 0;
  for (const Life& writer : history_.lives) {
    for (std::size_t next = 1; writer.role->program == "writer" && next < writer.calls.size(); ++next) {
      const Call& before = writer.calls[next - 1];
      const bool meanwhile = before.end_ns < call.end_ns && writer.calls[next].begin_ns > call.begin_ns;
      longest = std::max(longest, meanwhile ? writer.calls[next].begin_ns - before.end_ns : Nanoseconds{0});
    }
  }
  return fetches_of_read * longest;
}

// A collective call waits for a rank that was started again and joins, as for one that computes.
Nanoseconds Checker::fellows_join(const Life& life, const Call& call) const {
  const Nanoseconds end_ns = std::min(call.end_ns, history_.end_ns);
  Nanoseconds longest = 0;
  for (const Life& fellow : history_.lives) {
    for (const Call& join : fellow.calls) {
      const bool counts = (fellow.role->program == life.role->program || is_collective(call)) && &fellow != &life &&
                          join.verb == "join";
      const Nanoseconds from_ns = std::max(join.begin_ns, call.begin_ns);
      const Nanoseconds until_ns = std::min(std::min(join.end_ns, fellow.end_ns), end_ns);
      longest = std::max(longest, counts && until_ns > from_ns ? until_ns - from_ns : Nanoseconds{0});
    }
  }
  return longest;
}

// A process behind a firewall that has no hub learns only from its patience that a peer is dead (docs/liveness.md). So
// does the hub of one that is behind the wall and has lost its connection. A hub that is killed after some calls may be
// killed after it was started again.
bool Checker::may_need_patience() const {
  std::int64_t hubs = 1;
  bool has_wall = false;
  bool is_killed_late = false;
  bool is_broken = false;
  for (const Fault& fault : plan_.faults) {
    is_broken = is_broken || fault.what.verb == "cut" || fault.what.verb == "reset";
    const bool kills_hub = fault.what.verb == "kill" && fault.what.object == "hub";
    has_wall = has_wall || fault.what.verb == "wall";
    is_killed_late = is_killed_late || (kills_hub && fault.what.whole("after", 0) > 0);
    hubs -= kills_hub ? 1 : 0;
    hubs += fault.what.verb == "start" && fault.what.object == "hub" ? 1 : 0;
  }
  return has_wall && (is_broken || is_killed_late || hubs <= 0);
}

void Checker::check_time(const Life& life, const Call& call) {
  const double without_timeout_s = may_need_patience() ? 70 : 45;
  if (!call.ended() && life.killed) {
    return;
  }
  const Nanoseconds end_ns = call.ended() ? call.end_ns : history_.end_ns;
  const Nanoseconds stopped_ns =
      call.ended() ? call.stopped_ns : life.process->stopped_ns - std::min(call.stopped_ns, life.process->stopped_ns);
  const double took_s = (static_cast<double>(end_ns - call.begin_ns) - static_cast<double>(stopped_ns)) / 1e9;
  const bool collective = life.role->size > 1 || is_collective(call);
  double slack_s = call.verb == "join" || call.verb == "open" || collective ? 8.0 : 1.0;
  const auto limit = [&] { return call.timeout_s < 0 ? without_timeout_s : call.timeout_s + slack_s; };
  if (took_s <= limit()) {
    return;  // what follows takes long for a reader that has made ten thousands of calls
  }
  slack_s += static_cast<double>(stops_of_job(life) + fetches_wait(life, call)) / 1e9 +
             (collective ? static_cast<double>(fellows_join(life, call)) / 1e9 : 0);
  const double limit_s = limit();
  if (took_s > limit_s) {
    char text[96];
    std::snprintf(text, sizeof text, "took %.2f s with a timeout of %.2f s", took_s, call.timeout_s);
    report("hang", life, call, text);
  }
}

// If an error says that a process is lost, it must name a process that was killed, has left or has ended. The hub keeps
// every process that lives.
void Checker::check_culprit(const Life& life, const Call& call) {
  const bool thrown_out = call.text.find("counts as lost at the hub") != std::string::npos ||
                          call.text.find("does not take this process back") != std::string::npos;
  if (call.ended() && thrown_out) {
    report("living-declared-dead", life, call, call.text);
  }
  if (call.status != COUPLET_ERROR_PEER_LOST || !call.ended()) {
    return;
  }
  const bool has_wall = std::any_of(plan_.faults.begin(), plan_.faults.end(),
                                    [](const Fault& fault) { return fault.what.verb == "wall"; });
  const bool cannot_tell = call.text.find(" is not told that this rank has closed them") != std::string::npos;
  if (has_wall && (cannot_tell || call.text.starts_with("no connection to "))) {
    return;  // without a hub nobody asks the other one to connect; the text says so and calls nobody lost
  }
  // A collective call that another member has revoked names that member before the one that is lost.
  std::string text = call.text;
  for (std::size_t from = text.find("revoked by "); from != std::string::npos; from = text.find("revoked by ")) {
    const std::size_t until = text.find("): ", from);
    text.erase(from, until == std::string::npos ? until : until + 3 - from);
  }
  for (const Life& other : history_.lives) {
    const std::string name = "program '" + other.role->program + "' rank " + std::to_string(other.role->rank) + " ";
    if (text.find(name) == std::string::npos || other.number != 0) {
      continue;
    }
    const bool left = std::any_of(other.calls.begin(), other.calls.end(), [&](const Call& each) {
      // The hub tells others that a process has given up joining before that process knows it.
      const bool gave_up =
          each.verb == "join" && each.ended() && each.status != COUPLET_OK && each.end_ns <= call.end_ns + second;
      return gave_up || (each.verb == "leave" && each.begin_ns <= call.end_ns);
    });
    if (other.end_ns > call.end_ns && !left) {
      report("living-declared-dead", life, call, call.text);
    }
  }
}

const Life* Checker::writer_of(const std::string& series, std::uint64_t number, int rank) const {
  for (const Life& life : history_.lives) {
    const bool wrote = std::any_of(life.calls.begin(), life.calls.end(),
                                   [&](const Call& call) { return call.verb == "create" && call.object == series; });
    if (wrote && life.number == number % lives_per_creation && life.role->rank == rank) {
      return &life;
    }
  }
  return nullptr;
}

void Checker::check_read(const Life& life, const Call& call) {
  if (call.steps.empty()) {
    report("empty-ok", life, call, "OK without a step");
  }
  for (const StepSeen& seen : call.steps) {
    const std::string what = "step " + std::to_string(seen.step) + " of life " + std::to_string(seen.life);
    if (!seen.intact) {
      report("wrong-contents", life, call, what);
      continue;
    }
    const Life* const writer = writer_of(call.object, seen.life, 0);
    const bool was_put =
        writer != nullptr && std::any_of(writer->calls.begin(), writer->calls.end(), [&](const Call& each) {
          return each.verb == "put" && each.number == seen.step && each.begin_ns <= call.end_ns;
        });
    if (!was_put) {
      report("invented-step", life, call, what);
    }
  }
}

void Checker::check_count(const Life& life, const Call& call) {
  const Statistics& f = call.statistics;
  if (f.published - f.first != f.delivered + f.lost + f.skipped + f.pending) {
    report("accounting", life, call,
           "published " + std::to_string(f.published) + ", first " + std::to_string(f.first) + ", delivered " +
               std::to_string(f.delivered) + ", lost " + std::to_string(f.lost) + ", skipped " +
               std::to_string(f.skipped) + ", pending " + std::to_string(f.pending));
  }
}

// Returns how many steps of the series all ranks of its writer had put by then.
std::uint64_t Checker::published_before(const std::string& series, Nanoseconds time_ns) const {
  std::uint64_t least = UINT64_MAX;
  for (const Life& life : history_.lives) {
    const bool wrote = std::any_of(life.role->script.begin(), life.role->script.end(),
                                   [&](const Action& each) { return each.verb == "create" && each.object == series; });
    if (wrote) {
      const auto put = std::count_if(life.calls.begin(), life.calls.end(), [&](const Call& call) {
        return call.verb == "put" && call.object == series && call.status == COUPLET_OK && call.end_ns <= time_ns;
      });
      least = std::min(least, static_cast<std::uint64_t>(put));
    }
  }
  return least == UINT64_MAX ? 0 : least;
}

// If there are no faults, a reader is given what was put some time ago, however short its reads are.
void Checker::check_progress(const Life& life) {
  constexpr Nanoseconds time_to_fetch = 3 * second;
  std::uint64_t next = 0;
  std::uint64_t every = 1;
  Nanoseconds since_ns = never;  // when the reader could first have had something
  for (const Action& each : life.role->script) {
    every = each.verb == "open" ? static_cast<std::uint64_t>(each.whole("every", 1)) : every;
  }
  for (const Call& call : life.calls) {
    if (!plan_.faults.empty() || !call.ended() || is_created_again_) {
      return;
    }
    if (call.verb == "open" || (call.verb == "read" && call.status == COUPLET_OK)) {
      next = call.steps.empty() ? next : call.steps.back().ordinal + 1;
      since_ns = call.end_ns;
    } else if (call.verb == "read" && call.status == COUPLET_NOT_YET && call.end_ns > since_ns + time_to_fetch) {
      const std::uint64_t there = published_before(call.object, call.begin_ns - time_to_fetch);
      if (there >= next + 2 * every) {  // two, since a read may want two at least
        report("reader-starved", life, call,
               "no step after " + std::to_string(next) + " ordinals, and " + std::to_string(there) + " are published");
        return;
      }
    }
  }
}

// All ranks of the program that writes a series take part in each creation of it, and close it before the next one.
void Checker::check_name(const Life& life, const Call& call) {
  if (call.verb == "create" && call.status == COUPLET_ERROR_EXISTS) {
    report("name-taken", life, call, call.text);
  }
}

// Checks order, gaps and sums of each series that this life has read.
void Checker::check_steps(const Life& life) {
  bool holds = false;
  bool restarted = false;
  std::uint64_t handed_out = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;
  const StepSeen* last = nullptr;
  const bool takes_all = std::none_of(life.role->script.begin(), life.role->script.end(), [](const Action& each) {
    return each.verb == "open" && each.whole("every", 1) != 1;
  });
  for (const Call& call : life.calls) {
    if (!call.ended()) {
      continue;
    }
    if (call.verb == "open" && call.status == COUPLET_OK) {
      handed_out = gaps = lost = 0;  // it may read the same steps again
      restarted = false;
      last = nullptr;
      const auto& script = life.role->script;
      holds = std::any_of(script.begin(), script.end(), [](const Action& each) {
        return each.verb == "open" && each.text("mode", "hold") == "hold";
      });
    } else if (call.verb == "read" && call.status == COUPLET_RESTARTED) {
      restarted = true;
    } else if (call.verb == "read" && call.status == COUPLET_OK) {
      check_read(life, call);
      handed_out += call.steps.size();
      lost += call.lost;
      for (const StepSeen& seen : call.steps) {
        if (last != nullptr && last->life == seen.life && seen.ordinal <= last->ordinal) {
          report("delivered-twice", life, call,
                 "ordinal " + std::to_string(seen.ordinal) + " after " + std::to_string(last->ordinal));
        }
        gaps += last != nullptr && last->life == seen.life ? seen.ordinal - last->ordinal - 1 : 0;
        last = &seen;
      }
      if (holds && !restarted && call.lost != 0) {
        report("holder-lost", life, call, std::to_string(call.lost) + " steps");
      }
      if (!restarted && takes_all && gaps > lost) {
        report("silent-gap", life, call, std::to_string(gaps) + " passed over, " + std::to_string(lost) + " counted");
      }
    } else if (call.verb == "count" && call.status == COUPLET_OK) {
      check_count(life, call);
      if (!restarted && call.statistics.delivered != handed_out) {
        report("accounting", life, call,
               std::to_string(handed_out) + " handed out, " + std::to_string(call.statistics.delivered) + " counted");
      }
    }
  }
}

void Checker::check_messages(const Life& life) {
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> newest;
  std::map<std::string, bool> failed;
  for (const Call& call : life.calls) {
    if (call.verb != "received" || !call.ended()) {
      continue;
    }
    if (call.status != COUPLET_OK) {
      failed[call.object] = failed[call.object] || call.status != COUPLET_ERROR_TIMEOUT;
      continue;
    }
    if (!call.intact) {
      report("message-damaged", life, call, "its words are not those of a message");
      continue;
    }
    const auto before = newest.emplace(std::pair(call.object, call.life), -1).first;
    if (call.number <= before->second) {
      report("message-twice", life, call, std::to_string(call.number) + " after " + std::to_string(before->second));
    } else if (call.number > before->second + 1 && life.number == 0 && !failed[call.object]) {
      report("message-lost", life, call, std::to_string(call.number) + " after " + std::to_string(before->second));
    }
    before->second = call.number;
  }
}

void Checker::check_collective(const Life& life, const Call& call) {
  const bool may_be =
      call.status == COUPLET_OK || call.status == COUPLET_ERROR_PEER_LOST ||
      (call.timeout_s >= 0 && (call.status == COUPLET_ERROR_TIMEOUT || call.status == COUPLET_ERROR_MISMATCH));
  if (!is_collective(call) || !call.ended()) {
    return;
  }
  if (!may_be) {
    report("strange-error", life, call, std::string(couplet_status_name(call.status)) + ": " + call.text);
  } else if (!call.intact) {
    report("rounds-mixed", life, call, "round " + std::to_string(call.number) + " has a wrong sum");
  }
}

std::vector<Finding> Checker::check() {
  for (const Life& life : history_.lives) {
    for (const Call& call : life.calls) {
      check_calm(life, call);
      check_time(life, call);
      check_culprit(life, call);
      check_collective(life, call);
      check_name(life, call);
    }
    check_steps(life);
    check_progress(life);
    check_messages(life);
  }
  for (auto& finding : check_tasks(plan_, history_)) {
    findings_.push_back(std::move(finding));
  }
  return std::move(findings_);
}

}  // namespace

std::vector<Finding> check(const Plan& plan, const History& history) {
  return Checker(plan, history).check();
}

}  // namespace world
