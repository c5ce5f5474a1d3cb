// usage: world [--seeds N] [--first SEED] [--seed SEED] [--plan FILE]... [--jobs N] [--show] [--history] [--traces]
// [--calls SECONDS] [--shrink SECONDS]
// Plays worlds: whole universes on a simulated kernel (docs/chaos.md). Exit status: 0 nothing found; 1 something was
// found.
#include <couplet/couplet.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "stage.hpp"

namespace world {
namespace {

// Time of the processor for one world. A process that makes no call for so long is taken for one that never will.
constexpr int max_processor_s = 150;
constexpr std::size_t max_text_bytes = 1 << 16;

struct Options {
  std::uint64_t seeds = 1'000;
  std::uint64_t first = 1;
  std::vector<std::string> plans;
  int jobs = 2;
  bool show = false;
  bool history = false;
  bool traces = false;
  double shrink_s = 60;
  double calls_from_s = -1;
};

// The result of a world, in memory that the process which plays it shares with the one that has started it.
struct Verdict {
  bool played;
  bool found;
  std::uint64_t steps;
  std::uint64_t trace;
  char rule[64];
  char text[max_text_bytes];
};

void print_history(const History& history) {
  for (const Life& life : history.lives) {
    std::printf("%s life %llu%s\n", life.role->name().c_str(), static_cast<unsigned long long>(life.number),
                life.killed ? " (killed)" : "");
    for (const Call& call : life.calls) {
      std::printf("  %9.6f %9.6f %s %s %lld %s %s", static_cast<double>(call.begin_ns - start_of_time) / 1e9,
                  call.ended() ? static_cast<double>(call.end_ns - start_of_time) / 1e9 : -1.0, call.verb.c_str(),
                  call.object.c_str(), static_cast<long long>(call.number),
                  call.ended() ? couplet_status_name(call.status) : "-", call.text.c_str());
      for (const StepSeen& seen : call.steps) {
        std::printf(" [%lld:%llu]", static_cast<long long>(seen.step), static_cast<unsigned long long>(seen.ordinal));
      }
      std::printf("\n");
    }
  }
}

void play_here(const Plan& plan, const Options& options, Verdict& verdict) {
  const itimerval limit{{}, {max_processor_s, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  const Outcome outcome = play(plan, options.calls_from_s);
  auto findings = outcome.findings;
  for (auto& finding : check(plan, outcome.history)) {
    findings.push_back(std::move(finding));
  }
  if (options.history) {
    print_history(outcome.history);
    std::fflush(stdout);
  }
  verdict.steps = outcome.steps;
  verdict.trace = outcome.trace;
  std::string text;
  for (const Finding& finding : findings) {
    text += "seed " + std::to_string(plan.seed) + " " + finding.rule + ": " + finding.text + "\n";
  }
  verdict.found = !findings.empty();
  std::snprintf(static_cast<char*>(verdict.rule), sizeof verdict.rule, "%s",
                verdict.found ? findings[0].rule.c_str() : "");
  std::snprintf(static_cast<char*>(verdict.text), sizeof verdict.text, "%s", text.c_str());
  verdict.played = true;
}

// make_plan: called in the new process, whose memory is then the same whatever its parent has played before.
template <typename MakePlan>
pid_t begin_playing(const MakePlan& make_plan, const Options& options, Verdict& verdict) {
  verdict.played = verdict.found = false;
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!options.history) {
      const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      ::dup2(nothing, STDERR_FILENO);
    }
    play_here(make_plan(), options, verdict);
    ::_exit(0);
  }
  return child;
}

void judge_end(std::uint64_t seed, int status, Verdict& verdict) {
  if (!verdict.played) {
    verdict.found = true;
    const bool stuck = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    std::snprintf(static_cast<char*>(verdict.rule), sizeof verdict.rule, "%s", stuck ? "spins" : "crash");
    std::snprintf(static_cast<char*>(verdict.text), sizeof verdict.text,
                  "seed %llu %s: the process that played it ended with %s %d\n", static_cast<unsigned long long>(seed),
                  static_cast<char*>(verdict.rule), WIFSIGNALED(status) ? "signal" : "status",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
}

void play_once(const Plan& plan, const Options& options, Verdict& verdict) {
  int status = 0;
  ::waitpid(begin_playing([&] { return plan; }, options, verdict), &status, 0);
  judge_end(plan.seed, status, verdict);
}

// Leaves out what is not needed for the finding.
Plan shrink(Plan plan, const std::string& rule, const Options& options, Verdict& verdict) {
  const auto begun = std::chrono::steady_clock::now();
  Options quiet = options;
  quiet.history = false;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (Plan& one : plan.smaller()) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() > options.shrink_s) {
        return plan;
      }
      play_once(one, quiet, verdict);
      if (verdict.found && rule == static_cast<char*>(verdict.rule)) {
        plan = std::move(one);
        smaller = true;
        break;
      }
    }
  }
  return plan;
}

void report(const Plan& plan, const Options& options, Verdict& verdict) {
  const std::string rule = static_cast<char*>(verdict.rule);
  std::printf("%s", static_cast<char*>(verdict.text));
  const Plan small = options.shrink_s > 0 ? shrink(plan, rule, options, verdict) : plan;
  std::printf("---- the plan%s ----\n%s----\n", options.shrink_s > 0 ? ", shrunk" : "", small.to_text().c_str());
  std::fflush(stdout);
}

struct Job {
  pid_t process = 0;
  std::uint64_t seed = 0;
  Verdict* verdict = nullptr;
};

Verdict* shared_verdict() {
  return static_cast<Verdict*>(
      ::mmap(nullptr, sizeof(Verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

int play_seeds(const Options& options) {
  std::vector<Job> jobs(static_cast<std::size_t>(options.jobs));
  for (Job& job : jobs) {
    job.verdict = shared_verdict();
  }
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t next = options.first;
  std::uint64_t steps = 0;
  int found = 0;
  int running = 0;
  const auto begin = [&](Job& job) {
    if (next < options.first + options.seeds) {
      job.seed = next++;
      job.process = begin_playing([&] { return Plan::generate(job.seed); }, options, *job.verdict);
      ++running;
    }
  };
  for (Job& job : jobs) {
    begin(job);
  }
  while (running > 0) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    for (Job& job : jobs) {
      if (job.process != ended) {
        continue;
      }
      --running;
      job.process = 0;
      judge_end(job.seed, status, *job.verdict);
      steps += job.verdict->steps;
      if (options.traces) {
        std::printf("seed %llu: %llu calls, trace %016llx\n", static_cast<unsigned long long>(job.seed),
                    static_cast<unsigned long long>(job.verdict->steps),
                    static_cast<unsigned long long>(job.verdict->trace));
      }
      if (job.verdict->found) {
        ++found;
        Options once = options;
        once.shrink_s = 0;
        report(Plan::generate(job.seed), once, *job.verdict);
      }
      begin(job);
    }
  }
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const double processor_s = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                             static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  std::printf(
      "world: %llu seeds from %llu in %.1f s (%.0f a minute; %.0f a minute of one core), %llu calls, %d with "
      "findings\n",
      static_cast<unsigned long long>(options.seeds), static_cast<unsigned long long>(options.first), took_s,
      static_cast<double>(options.seeds) / took_s * 60, static_cast<double>(options.seeds) / processor_s * 60,
      static_cast<unsigned long long>(steps), found);
  return found == 0 ? 0 : 1;
}

int play_plan(const Plan& plan, const Options& options) {
  if (options.show) {
    std::printf("%s", plan.to_text().c_str());
    return 0;
  }
  Verdict* const verdict = shared_verdict();
  play_once(plan, options, *verdict);
  if (!verdict->found) {
    std::printf("seed %llu: nothing found, %llu calls, trace %016llx\n", static_cast<unsigned long long>(plan.seed),
                static_cast<unsigned long long>(verdict->steps), static_cast<unsigned long long>(verdict->trace));
    return 0;
  }
  report(plan, options, *verdict);
  return 1;
}

// A world touches little memory of each large area. Huge pages would be cleared as a whole for it.
void use_small_pages() {
  static_cast<void>(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
}

// Makes all runs use the same addresses, so that what depends on the order of addresses is repeated, too. The symbols
// of libraries are looked up once, and not again in each process that plays a world.
void forget_address_randomisation(char** arguments) {
  const int now = ::personality(0xffffffff);
  if (now >= 0 && (now & ADDR_NO_RANDOMIZE) == 0 &&
      ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0) {
    ::setenv("LD_BIND_NOW", "1", 1);
    ::execv("/proc/self/exe", arguments);
  }
}

int run(int count, char** arguments) {
  Options options;
  bool one = false;
  for (int index = 1; index < count; ++index) {
    std::string word = arguments[index];
    const auto equals = word.find('=');
    const std::string given = equals == std::string::npos ? "" : word.substr(equals + 1);
    word.resize(std::min(equals, word.size()));
    const auto value = [&]() -> std::string {
      return equals != std::string::npos ? given : index + 1 < count ? arguments[++index] : "";
    };
    if (word == "--seeds") {
      options.seeds = std::stoull(value());
    } else if (word == "--first") {
      options.first = std::stoull(value());
    } else if (word == "--seed") {
      one = true;
      options.first = std::stoull(value());
    } else if (word == "--plan") {
      options.plans.push_back(value());
    } else if (word == "--jobs") {
      options.jobs = std::stoi(value());
    } else if (word == "--shrink") {
      options.shrink_s = std::stod(value());
    } else if (word == "--calls") {
      options.calls_from_s = std::stod(value());
    } else if (word == "--show") {
      options.show = true;
    } else if (word == "--history") {
      options.history = true;
    } else if (word == "--traces") {
      options.traces = true;
    } else {
      std::fprintf(stderr, "world: no option '%s'\n", word.c_str());
      return 2;
    }
  }
  if (sodium_init() < 0) {
    return 2;
  }
  int found = 0;
  for (const auto& path : options.plans) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const Plan plan = Plan::from_text(text);
    if (plan.roles.empty()) {
      std::fprintf(stderr, "world: %s is no plan\n", path.c_str());
      return 2;
    }
    std::printf("%s: ", path.c_str());
    found |= play_plan(plan, options);
  }
  if (!options.plans.empty()) {
    return found;
  }
  return one ? play_plan(Plan::generate(options.first), options) : play_seeds(options);
}

}  // namespace
}  // namespace world

int main(int count, char** arguments) {
  world::forget_address_randomisation(arguments);
  world::use_small_pages();
  return world::run(count, arguments);
}
